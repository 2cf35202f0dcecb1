/**
 * What agent CLIs, editors and merge tools leave beside the work. New files of these names are left out of it, unless the task names
 * them. Pure.
 */
import { pathMatcher } from './path-rule.ts'
import { secretRuleFor } from './secrets.ts'

interface Litter {
  glob: string
  /** Who leaves it. */
  by: string
}

const left = (by: string, ...globs: string[]): Litter[] => globs.map((glob) => ({ glob, by }))

export const litter: readonly Litter[] = [
  ...left('Aider', '**/.aider*', '**/.aider*/**'),
  ...left('the Playwright MCP server', '**/.playwright-mcp/**'),
  ...left('Serena', '**/.serena/**'),
  ...left('Claude Code', '**/.claude/settings.local.json', '**/.claude/worktrees/**'),
  ...left('Codex', '**/.codex/**'),
  ...left('nohup', '**/nohup.out'),
  ...left('a program that crashed', '**/core.{0,1,2,3,4,5,6,7,8,9}*', '**/vgcore.*', '**/hs_err_pid*.log'),
  ...left('an editor', '**/.*.sw{o,p}', '**/*~', '**/.#*', '**/#*#'),
  ...left('a merge or patch', '**/*.{orig,rej}'),
  ...left('the file manager', '**/.DS_Store', '**/Thumbs.db'),
]

const matchers = litter.map((each) => ({ ...each, covers: pathMatcher({ glob: each.glob }) }))

/** The entry that covers the path; undefined = it is no litter. A secret is none: it is never left out in silence. */
export const litterAt = (path: string): Litter | undefined =>
  secretRuleFor(path) === undefined ? matchers.find(({ covers }) => covers(path)) : undefined

/**
 * Whether a rule for paths is about such files: the path itself, or a folder in which everything is one of them. `src/**` says nothing
 * about `src/a.ts.orig`.
 */
export const ruleNames = (rule: string, path: string, isOne: (path: string) => boolean): boolean => {
  if (rule === path) return true
  const fixed = rule.replace(/\/?\*.*$/, '')
  return fixed !== '' && fixed !== rule && path.startsWith(`${fixed}/`) && isOne(`${fixed}/x`)
}

const isLitter = (path: string): boolean => litterAt(path) !== undefined

/** Whether the task is about this litter: its paths name it, or its text does. */
export const namesLitter = (
  path: string,
  { allowedPaths, title, instructions }: { allowedPaths: readonly string[]; title: string; instructions: string },
): boolean => {
  const parts = path.split('/')
  const names = parts.filter((part, at) => isLitter(parts.slice(0, at + 1).join('/')) || isLitter(`${part}/x`))
  const text = `${title}\n${instructions}`
  return allowedPaths.some((rule) => ruleNames(rule, path, isLitter)) || names.some((name) => text.includes(name))
}
