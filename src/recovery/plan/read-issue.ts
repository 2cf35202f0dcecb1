/**
 * What the text and labels of an issue say about its task: role, paths, priority, and the issues that have to be closed first. An issue
 * is written by others, so it can only narrow what the owner allows: it names no commands, and its paths are those of a task that could
 * otherwise change all. The forms are those of the founding system's contract. Pure.
 */
import { parsePathRule } from '../policy/path-rule.ts'

export interface IssueText {
  id: string
  title: string
  body: string
  labels: readonly string[]
  /** Where the tracker says it itself, the text does not. */
  dependsOn?: readonly string[]
}

const roles = ['worker', 'tester', 'docser'] as const
export type IssueRole = (typeof roles)[number]

const roleNamed = (text: string): IssueRole | undefined => roles.find((role) => role === text.trim().toLowerCase())

const roleOfLabel = (label: string): IssueRole | undefined =>
  roleNamed(label.replaceAll(/\s+/g, '').replace(/^(?:role|agent):/i, ''))

/** Lines outside code fences: what is quoted there is an example. */
const linesOf = (body: string): string[] => {
  let fenced = false
  return body.split(/\r?\n/).filter((line) => {
    if (/^\s{0,3}(?:```|~~~)/.test(line)) {
      fenced = !fenced
      return false
    }
    return !fenced
  })
}

const heading = /^\s{0,3}#{1,6}\s+(.+?)[:：]?\s*#*\s*$/

/** The lines below the first heading with this name, up to the next heading. */
const sectionOf = (lines: readonly string[], name: RegExp): string[] => {
  const from = lines.findIndex((line) => name.test(heading.exec(line)?.[1] ?? ''))
  if (from === -1) return []
  const rest = lines.slice(from + 1)
  const end = rest.findIndex((line) => heading.test(line))
  return end === -1 ? rest : rest.slice(0, end)
}

const withoutBullet = (line: string): string => line.replace(/^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?/, '').trim()

const roleLine = /^(?:agent(?: role)?|role)\s*[:：]\s*`?(\w+)/i

const roleIn = (lines: readonly string[]): IssueRole | undefined => {
  for (const line of lines) {
    const named = roleNamed(roleLine.exec(withoutBullet(line))?.[1] ?? '')
    if (named !== undefined) return named
  }
  const [word = ''] = sectionOf(lines, /^(?:agent(?: role)?|role)$/i)
    .map(withoutBullet)
    .filter((line) => line !== '')
  return roleNamed(/^`?(\w+)/.exec(word)?.[1] ?? '')
}

/** One path of a list as rules: a folder stands for all that is in it. */
const rulesOf = (written: string): string[] => {
  const path = written
    .trim()
    .replace(/^[`'"]+|[`'"]+$/g, '')
    .replaceAll('\\*', '*')
    .replace(/^\.\//, '')
  if (path === '' || path === '.' || path === '/') return ['**']
  if (!parsePathRule(path).ok) return []
  if (path.includes('*') || /\.[^/]+$/.test(path)) return [path]
  const folder = path.replace(/\/+$/, '')
  return [folder, `${folder}/**`]
}

const inlinePaths = /^allowed ?paths\s*[:：]\s*(\S.*)$/i

const pathsIn = (lines: readonly string[]): string[] => {
  const listed = sectionOf(lines, /^allowed ?paths$/i)
    .map(withoutBullet)
    .filter((line) => line !== '')
  const inline = lines.map((line) => inlinePaths.exec(withoutBullet(line))?.[1]).find((found) => found !== undefined)
  const paths = listed.length > 0 ? listed : (inline?.split(',') ?? [])
  const rules = [...new Set(paths.flatMap(rulesOf))]
  return rules.length === 0 ? ['**'] : rules
}

const dependencyHeading = /^(?:dependencies|depends on|blocked by)$/i
const dependencyLine = /\b(?:depends on|blocked by|requires|dependenc(?:y|ies))\b/i
const mention = /(?:^|[\s([,:])(?:https?:\/\/\S+\/issues\/|#)(\d{1,9})\b/g

/** More are not an order of work, and each costs a request. */
const mostDependencies = 50

const dependenciesIn = (lines: readonly string[], id: string): string[] => {
  const said = [...sectionOf(lines, dependencyHeading), ...lines.filter((line) => dependencyLine.test(line))]
  const numbers = said.flatMap((line) => [...line.matchAll(mention)].map(([, digits]) => Number(digits)))
  return [...new Set(numbers)]
    .toSorted((one, other) => one - other)
    .map(String)
    .filter((other) => other !== id)
    .slice(0, mostDependencies)
}

const priorityOf = (labels: readonly string[]): number => {
  const has = (...names: string[]): boolean =>
    labels.some((label) => names.includes(label.toLowerCase().replaceAll(' ', '')))
  if (has('priority:high', 'priority:critical', 'p0', 'p1')) return 90
  return has('priority:medium', 'p2') ? 60 : 40
}

export interface ReadIssue {
  /** Undefined = the issue names none. */
  role: IssueRole | undefined
  allowedPaths: string[]
  /** Higher first. */
  priority: number
  /** Issues that have to be closed first. */
  dependsOn: string[]
}

export const readIssue = ({ id, body, labels, dependsOn }: IssueText): ReadIssue => {
  const lines = linesOf(body)
  const labelled = labels.map(roleOfLabel).find((role) => role !== undefined)
  return {
    role: labelled ?? roleIn(lines),
    allowedPaths: pathsIn(lines),
    priority: priorityOf(labels),
    dependsOn: dependsOn === undefined ? dependenciesIn(lines, id) : dependsOn.filter((other) => other !== id),
  }
}
