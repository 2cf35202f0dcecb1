/** Which open issues become goals now, and which of the others are backlog. Each issue has one fate, with its reason in words. Pure. */
import type { GoalState } from '../../domain/goal.ts'
import { issueName } from '../../domain/issue-name.ts'
import { readIssue, type IssueRole, type IssueText, type ReadIssue } from './read-issue.ts'

export interface OpenIssue extends IssueText {
  author: string
  isByMember: boolean
}

/** What is on its way already. */
export interface IssueLinks {
  /** The goal of an issue, by the issue. */
  goals: ReadonlyMap<string, GoalState>
  /** Texts of open pull requests, which name the issues that they close. */
  pullRequests: readonly { title: string; body: string }[]
  /** Which of the issues that others depend on are open, also without the label. */
  open: ReadonlySet<string>
}

/** The keys of the configuration section `forge` that decide. */
export interface IssueRules {
  label: string
  authors: readonly string[]
}

/** `start`: becomes a goal now. `backlog`: is or becomes work, so nothing new is planned. `left`: is not Unstuck's. */
export type IssueFate =
  | { id: string; fate: 'start'; read: ReadIssue & { role: IssueRole } }
  | { id: string; fate: 'backlog' | 'left'; why: string; isWarning?: true }

const closes = /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b[:\s]+(?:https?:\/\/\S+\/issues\/|#)(\d{1,9})\b/gi

const closedBy = (pullRequests: IssueLinks['pullRequests']): Set<string> =>
  new Set(
    pullRequests.flatMap(({ title, body }) =>
      [...`${title}\n${body}`.matchAll(closes)].map(([, digits]) => digits ?? ''),
    ),
  )

const isTaken = ({ author, isByMember }: OpenIssue, { authors }: IssueRules): boolean =>
  isByMember || authors.some((known) => known.toLowerCase() === author.toLowerCase())

const fateOfKnown = (id: string, state: GoalState): IssueFate => {
  if (state === 'done') return { id, fate: 'left', why: 'its goal is done' }
  if (state === 'cancelled') return { id, fate: 'left', why: 'its goal was cancelled' }
  return { id, fate: 'backlog', why: `its goal is ${state}` }
}

export const sortIssues = (issues: readonly OpenIssue[], links: IssueLinks, rules: IssueRules): IssueFate[] => {
  const inReview = closedBy(links.pullRequests)
  return issues.map((issue): IssueFate => {
    const { id } = issue
    const state = links.goals.get(id)
    if (state !== undefined) return fateOfKnown(id, state)
    if (inReview.has(id)) return { id, fate: 'left', why: 'an open pull request closes it' }
    if (!isTaken(issue, rules)) {
      const why = `${issue.author} is no member of the repository; to take issues of this author, add the login to forge.authors`
      return { id, fate: 'left', why, isWarning: true }
    }
    const read = readIssue(issue)
    // The label is the owner's word that Unstuck may work on it; without one the issue has to say who works.
    const role = read.role ?? (rules.label === '' ? undefined : 'worker')
    if (role === undefined)
      return {
        id,
        fate: 'backlog',
        why: 'it names no role (a label "role:worker", or a line "Role: worker")',
        isWarning: true,
      }
    const first = read.dependsOn.filter((other) => links.open.has(other))
    if (first.length > 0) return { id, fate: 'backlog', why: `it waits for ${first.map(issueName).join(', ')}` }
    return { id, fate: 'start', read: { ...read, role } }
  })
}
