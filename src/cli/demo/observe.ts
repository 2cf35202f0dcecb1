/**
 * What the events of the public CLI say about the six tasks: done or not, recovered by what and after how long. Pure; it
 * believes nothing that no event shows.
 */
import type { Chapter } from './story.ts'

/** A line of `unstuck run --json`. */
export interface Seen {
  type: string
  at: string
  taskId: string | null
  runId: string | null
  payload: Record<string, unknown>
}

export interface Recovered {
  by: string
  /** What failed, as the events say it. */
  failed: string
  how: string
  ms: number
}

export interface Outcome {
  number: number
  place: Chapter['place']
  title: string
  fault: string
  done: boolean
  commit: string | null
  recovered: Recovered | null
  /** Why it is not recovered, when it is not. */
  problem: string | null
}

export interface Kill {
  pid: number
  at: number
  /** The agent that was at work, and whether it was still alive after the engine's return. */
  agentPid: number
  agentSurvived: boolean
}

const text = (event: Seen | undefined, key: string): string => {
  const value = event?.payload[key]
  return typeof value === 'string' ? value : ''
}

const timeOf = (event: Seen): number => Date.parse(event.at)

const byPlaybook = (playbook: string, own: Seen[]): Recovered | undefined => {
  const settled = own.findLast(
    (event) => event.type === 'recovery' && text(event, 'playbook') === playbook && text(event, 'status') === 'success',
  )
  if (settled === undefined) return undefined
  return {
    by: `${playbook} (${text(settled, 'action_taken')})`,
    failed: text(settled, 'issue_detected'),
    how: text(settled, 'detail'),
    ms: Number(settled.payload.ms),
  }
}

/** The same run that was at work when the engine was killed must be taken up, and no second attempt begun. */
const byReattachment = (own: Seen[], kill: Kill | undefined): Recovered | undefined => {
  const attempts = own.filter((event) => event.type === 'task.claimed')
  const attached =
    kill === undefined ? undefined : own.find((event) => event.type === 'run.reattached' && timeOf(event) >= kill.at)
  if (kill === undefined || attached === undefined || attempts.length !== 1 || !kill.agentSurvived) return undefined
  return {
    by: 'restarted engine, re-attached to the running agent',
    failed: `the engine (pid ${kill.pid}) was ended by SIGKILL`,
    how: `the agent (pid ${kill.agentPid}) worked on; no second attempt was needed`,
    ms: timeOf(attached) - kill.at,
  }
}

const byRebase = (own: Seen[]): Recovered | undefined => {
  const verified = own.findLast((event) => event.type === 'merge.reverified' && event.payload.passed === true)
  const claimed = own.findLast(
    (event) => event.type === 'merge.processing' && verified !== undefined && timeOf(event) <= timeOf(verified),
  )
  if (verified === undefined || claimed === undefined) return undefined
  return {
    by: 'merge queue, rebased and verified again',
    failed: 'the goal branch had moved on since the agent began',
    how: `its checks passed on ${text(verified, 'commit').slice(0, 7)}`,
    ms: timeOf(verified) - timeOf(claimed),
  }
}

const recoveredOf = (chapter: Chapter, own: Seen[], kill: Kill | undefined): Recovered | undefined => {
  switch (chapter.cure.kind) {
    case 'playbook':
      return byPlaybook(chapter.cure.playbook, own)
    case 'reattached':
      return byReattachment(own, kill)
    case 'rebased':
      return byRebase(own)
  }
}

const cureNames = { reattached: 're-attachment', rebased: 'a rebase' }

export const cureName = (chapter: Chapter): string =>
  chapter.cure.kind === 'playbook' ? chapter.cure.playbook : cureNames[chapter.cure.kind]

const problemOf = (chapter: Chapter, own: Seen[], recovered: boolean): string => {
  const escalated = own.findLast((event) => event.type === 'task.escalated')
  if (escalated !== undefined) return text(escalated, 'reason') || text(escalated, 'label')
  if (recovered) return 'it did not end'
  if (own.some((event) => event.type === 'task.claimed')) return `${cureName(chapter)} was not seen`
  return 'it was not started'
}

/** The store's id of a chapter's task; titles are unique in the demo. */
export const taskIdOf = (events: Seen[], chapter: Chapter): string | undefined =>
  events.find((event) => event.type === 'task.created' && event.payload.title === chapter.title)?.taskId ?? undefined

export const outcomeOf = (chapter: Chapter, events: Seen[], kill: Kill | undefined): Outcome => {
  const id = taskIdOf(events, chapter)
  const own = id === undefined ? [] : events.filter((event) => event.taskId === id)
  const done = own.findLast((event) => event.type === 'task.done')
  const recovered = recoveredOf(chapter, own, kill)
  const { number, place, title, fault } = chapter
  const commit = text(done, 'commit')
  return {
    number,
    place,
    title,
    fault,
    done: done !== undefined,
    commit: place === 'folder' || commit === '' ? null : commit,
    recovered: recovered ?? null,
    problem: recovered === undefined || done === undefined ? problemOf(chapter, own, recovered !== undefined) : null,
  }
}
