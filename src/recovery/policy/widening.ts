/** Whether new path rules allow more than the old ones. In doubt they do, which only makes Unstuck ask for a reason. */
import { parsePathRule } from './path-rule.ts'

export interface TaskPaths {
  allowedPaths: readonly string[]
  deniedPaths: readonly string[]
}

/** The folder or path below which a rule covers everything; '' = the whole repository, undefined = no such folder. */
const rootOf = (text: string): string | undefined => {
  const parsed = parsePathRule(text)
  if (!parsed.ok) return undefined
  const { rule } = parsed
  if ('literal' in rule) return rule.literal
  if (rule.glob === '**') return ''
  const folder = rule.glob.replace(/\/\*\*$/, '')
  return folder === rule.glob || /[*?{]/.test(folder) ? undefined : folder
}

const covers = (rule: string, other: string): boolean => {
  const root = rootOf(rule)
  const path = other.replace(/^(\.\/)+/, '')
  return rule === other || root === '' || path === root || (root !== undefined && path.startsWith(`${root}/`))
}

/** What the new rules allow in addition, as texts. */
export const widenedBy = (before: TaskPaths, after: TaskPaths): string[] => [
  ...after.allowedPaths.filter((path) => !before.allowedPaths.some((rule) => covers(rule, path))),
  ...before.deniedPaths
    .filter((path) => !after.deniedPaths.some((rule) => covers(rule, path)))
    .map((path) => `${path} (no longer denied)`),
]
