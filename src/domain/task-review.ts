/**
 * Two kinds of tasks that wait for something outside: a task of role `judge` reviews work that exists already, and a task that waits for a
 * link starts when its owner has resolved it. Their rows of the flow table of tasks are here as well.
 */
import { fromEach } from './flow.ts'

/** What is reviewed: the head of a branch, or the commit of a merge entry. */
export type ReviewSubject = { branch: string } | { mergeEntry: number }

/** A name that git accepts for a branch. */
export const branchNamePattern =
  /^(?![-./])(?!.*(?:\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|[./]$))[^\0-\x20\x7f~^:?*[\\]{1,200}$/

/** `head`: the newest commit of the branch that was seen; null = no run has read it yet. */
export type TaskReview = ReviewSubject & { head: string | null }

export interface AwaitedLink {
  /** What has to be linked, in the owner's words. */
  waitsFor: string
  /** The link; null = not resolved. */
  issue: string | null
  /** The question about the link, once its time is over. */
  question?: string
}

/**
 * Whether the task waits for a link that its owner has not resolved, also after a person was asked about it. `question`: the pending
 * one of the task. A later question is about something else, and a link must not answer it.
 */
export const waitsForLink = (
  { link, status }: { link: AwaitedLink | null; status: string },
  question: string | undefined,
): boolean => {
  if (link === null || link.issue !== null) return false
  if (status === 'blocked(issue_linking)') return true
  return status === 'blocked(awaiting_human)' && question !== undefined && link.question === question
}

/** What remains of the wait in a new status: a task that is queued without its link no longer waits for it. */
export const linkAt = (status: string, link: AwaitedLink | null): AwaitedLink | null =>
  status === 'queued' && link?.issue === null ? null : link

/** For people: what a task reviews. */
export const subjectText = (review: ReviewSubject): string =>
  'branch' in review ? `branch ${review.branch}` : `merge entry ${review.mergeEntry}`

/** For people: what leads to another review, as lines of a question. A merge entry is always the same commit. */
export const nextReviewLines = (review: ReviewSubject): string[] =>
  'branch' in review ? [`A new commit on ${review.branch} is reviewed by itself.`] : []

/** The reason of `retry` while a task waits for its link. */
export const linkReason = 'issue_linking'
/** The wait of a task for its link, but for its end. */
export const linkRetry = { reason: linkReason, count: 1, limit: 1 }

export const linkRows = [
  {
    from: '',
    to: 'blocked(issue_linking)',
    trigger: 'created_for_link',
    owner: 'planner',
    event: 'task.created',
  },
  {
    from: 'queued',
    to: 'blocked(issue_linking)',
    trigger: 'link_awaited',
    owner: 'planner',
    event: 'task.link_awaited',
  },
  // After the time limit a person is asked; the owner may still resolve the link then.
  ...fromEach(['blocked(issue_linking)', 'blocked(awaiting_human)'], {
    to: 'queued',
    trigger: 'linked',
    owner: 'planner',
    event: 'task.linked',
  }),
  {
    from: 'blocked(issue_linking)',
    to: 'blocked(awaiting_human)',
    trigger: 'escalated',
    owner: 'cycle manager',
    event: 'task.escalated',
  },
] as const

export const reviewRows = [
  // A run without a verdict waits for the judge (again).
  ...fromEach(['failed', 'blocked(needs_rework)', 'blocked(awaiting_judge)'], {
    to: 'blocked(awaiting_judge)',
    trigger: 'review_restored',
    owner: 'cycle manager',
    event: 'task.requeued',
  }),
  {
    from: 'blocked(awaiting_judge)',
    to: 'queued',
    trigger: 'retry_due',
    owner: 'cycle manager',
    event: 'task.requeued',
  },
  // A new commit of a reviewed branch is a new fact, whatever became of the one before it.
  ...fromEach(['failed', 'blocked(needs_rework)', 'blocked(awaiting_judge)', 'blocked(awaiting_human)'], {
    to: 'queued',
    trigger: 'head_moved',
    owner: 'cycle manager',
    event: 'task.requeued',
  }),
] as const
