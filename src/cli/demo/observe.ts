/**
 * Derives the outcome of the six tasks from the events that the public CLI prints: done or not, what recovered them and how
 * fast. Pure. Only what an event shows counts.
 */
import type { Chapter } from './story.ts'

/** A line of `unstuck run --json`. */
export interface Observation {
  type: string
  at: string
  taskId: string | null
  runId: string | null
  payload: Record<string, unknown>
}

export interface Recovered {
  by: string
  /** What failed, in the words of the events. */
  failed: string
  how: string
  ms: number
}

export interface DemoOutcome {
  number: number
  place: Chapter['place']
  title: string
  fault: string
  done: boolean
  commit: string | null
  recovered: Recovered | null
  /** Why the task is not done or not recovered; null if it is. */
  problem: string | null
}

export interface EngineKill {
  pid: number
  at: number
  /** The agent that was running at the time, and whether it was still alive after the engine restarted. */
  agentPid: number
  agentSurvived: boolean
}

const text = (event: Observation | undefined, key: string): string => {
  const value = event?.payload[key]
  return typeof value === 'string' ? value : ''
}

const timeOf = (event: Observation): number => Date.parse(event.at)

const byPlaybook = (playbook: string, own: Observation[]): Recovered | undefined => {
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

/** Counts only if the engine re-attached to the run that it lost, the agent survived, and no second attempt started. */
const byReattachment = (own: Observation[], kill: EngineKill | undefined): Recovered | undefined => {
  const attempts = own.filter((event) => event.type === 'task.claimed')
  const attached =
    kill === undefined ? undefined : own.find((event) => event.type === 'run.reattached' && timeOf(event) >= kill.at)
  if (kill === undefined || attached === undefined || attempts.length !== 1 || !kill.agentSurvived) return undefined
  return {
    by: 'the restarted engine, which re-attached to the running agent',
    failed: `the engine (pid ${kill.pid}) was killed with SIGKILL`,
    how: `the agent (pid ${kill.agentPid}) kept working; no second attempt was needed`,
    ms: timeOf(attached) - kill.at,
  }
}

const byRebase = (own: Observation[]): Recovered | undefined => {
  const verified = own.findLast((event) => event.type === 'merge.reverified' && event.payload.passed === true)
  const claimed = own.findLast(
    (event) => event.type === 'merge.processing' && verified !== undefined && timeOf(event) <= timeOf(verified),
  )
  if (verified === undefined || claimed === undefined) return undefined
  return {
    by: 'the merge queue, which rebased the work and verified it again',
    failed: 'the goal branch had moved since the agent started',
    how: `its checks passed on ${text(verified, 'commit').slice(0, 7)}`,
    ms: timeOf(verified) - timeOf(claimed),
  }
}

const recoveredOf = (chapter: Chapter, own: Observation[], kill: EngineKill | undefined): Recovered | undefined => {
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

const problemOf = (chapter: Chapter, own: Observation[], recovered: boolean): string => {
  const escalated = own.findLast((event) => event.type === 'task.escalated')
  if (escalated !== undefined) return text(escalated, 'reason') || text(escalated, 'label')
  if (recovered) return 'the task did not end'
  if (own.some((event) => event.type === 'task.claimed')) return `${cureName(chapter)} was not observed`
  return 'the task was not started'
}

/** The store's id of a chapter's task; titles are unique in the demo. */
export const taskIdOf = (events: Observation[], chapter: Chapter): string | undefined =>
  events.find((event) => event.type === 'task.created' && event.payload.title === chapter.title)?.taskId ?? undefined

export const demoOutcome = (chapter: Chapter, events: Observation[], kill: EngineKill | undefined): DemoOutcome => {
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
