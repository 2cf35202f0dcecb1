/**
 * Who moves a task next, why it waits and until when, in words for a person. Undefined = no owner, which breaks the
 * invariant "nothing is silently stuck": `unstuck doctor` reports such a task. Why a queued task is not taken is decided by
 * `claimability`; here its reasons only get their words. Pure.
 */
import { folderArea } from '../../domain/area.ts'
import { claimability, type ClaimBlocker, type QueueFacts, type TaskName } from '../../domain/claimability.ts'
import type { Escalation } from '../../domain/escalation.ts'
import type { Goal } from '../../domain/goal.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import { loopText } from '../../domain/loop.ts'
import { phaseWords, type Run } from '../../domain/run.ts'
import type { Judgement } from '../../domain/judgement.ts'
import { retryNumber, taskEnded, type Lane, type Task } from '../../domain/task.ts'
import { continuationOf, correctionText, endText } from './rework-wait.ts'
import { waitEnd, type Recovery } from '../../store/recovery.ts'
import { judgementWait, judgeOffWait } from './judgement-wait.ts'
import { abridged as shown, readableTitle } from '../../domain/task-title.ts'
import { defined } from '../../domain/defined.ts'

export interface TaskFacts {
  task: Task
  goal: Goal
  /** At least the tasks that this one depends on. */
  tasks: readonly Task[]
  runs: readonly Run[]
  merges: readonly MergeEntry[]
  escalations: readonly Escalation[]
  /** Absent = whether an agent could take the task is not judged. */
  queue?: QueueFacts
  /** Recoveries that wait for an outage to end; absent = none. */
  waits?: readonly Recovery[]
  /** Judgements without a verdict; absent = none. */
  judgements?: readonly Judgement[]
  /** By the clock of the store; absent = durations are not told. */
  now?: Date
  /** A person switched the judge off. */
  judgeOff?: boolean
}

export interface WaitingOn {
  owner: string
  text: string
  /** When the wait ends, for a countdown. */
  at?: Date
  /** Why a queued task is not taken; absent for one that is free, or in another state. */
  waitsFor?: ClaimBlocker['cause']
}

const questionFor = (facts: TaskFacts): Escalation | undefined =>
  facts.escalations.find((entry) => entry.state === 'pending' && entry.taskId === facts.task.id)

/** Numbers count within a goal, so a task of another goal is named with it. */
const named = (task: TaskName, goalId: string): string => {
  const title = task.title === null ? '' : ` "${shown(readableTitle(task.title), 40)}"`
  return `task ${task.number ?? task.id}${title}${task.goalId === goalId ? '' : ` of goal ${task.goalId}`}`
}

/** With commas between thousands, whatever the language of this machine. */
const counted = (value: number): string => Math.round(value).toLocaleString('en-US')

const mostNamed = 3

const namedAll = (tasks: readonly TaskName[], goalId: string): string => {
  const names = tasks.slice(0, mostNamed).map((task) => named(task, goalId))
  const rest = tasks.length - names.length
  if (rest > 0) return `${names.join(', ')} and ${rest} more`
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

const laneWords: Record<Lane, string> = { feature: 'feature', conflict_recovery: 'conflict recovery', docser: 'docs' }

const laneSettings: Record<Lane, string> = {
  feature: 'lanes.featureMinSlots',
  conflict_recovery: 'lanes.conflictRecoveryMaxSlots',
  docser: 'lanes.docserMaxSlots',
}

const pausedText = ({ id, landing: { broken } }: Goal): string =>
  broken === null
    ? `the goal is paused: unstuck resume ${id}`
    : `the goal is paused until its branch is restored: unstuck retry ${id} | unstuck cancel ${id}`

const goalWait = ({ state }: Goal): WaitingOn => {
  if (state === 'awaiting_human') return { owner: 'person', text: 'the goal waits for your answer: unstuck status' }
  return state === 'planning'
    ? { owner: 'planner', text: 'the goal is being planned' }
    : { owner: 'cycle manager', text: `the goal is ${state}` }
}

const laneWait = ({ goalId, lane }: Task, { limit, taken }: ClaimBlocker & { cause: 'lane_limit' }): WaitingOn =>
  limit === 0
    ? { owner: 'person', text: `the ${laneWords[lane]} lane is closed; raise ${laneSettings[lane]} above 0` }
    : {
        owner: 'dispatcher',
        text: `waiting for a free slot of the ${laneWords[lane]} lane: ${taken.length} of ${limit} in use by ${namedAll(taken, goalId)}`,
      }

const areaText = ({ goalId }: Task, { area, holder }: ClaimBlocker & { cause: 'area' }): string => {
  const [at, end] = area === folderArea ? ['the same folder', 'approved'] : [area, 'merged']
  if (holder.status === 'running') return `waiting for ${named(holder, goalId)}, which is changing ${at}`
  return `waiting until the work of ${named(holder, goalId)} in ${at} is ${end}`
}

const installedText = (harnesses: readonly string[]): string =>
  harnesses.length === 0 ? 'none' : [...new Set(harnesses)].sort().join(', ')

/** No running engine can take the task: an engine has to be started or changed first. */
const engineText = (
  { harness, role }: Task,
  blocker: Extract<ClaimBlocker, { cause: 'no_engine' | 'engine_away' | 'no_harness' | 'draining' | 'no_role' }>,
): string => {
  switch (blocker.cause) {
    case 'no_engine':
      return 'no engine that runs tasks is running: unstuck up, or unstuck worker on any host'
    case 'engine_away':
      return `its work is in the folder of engine ${blocker.engineId}, which is not running; start that engine: unstuck up`
    case 'no_harness':
      return `no running engine has harness "${harness}" (there: ${installedText(blocker.installed)}); install it where an engine runs, or start a worker where it is: unstuck worker`
    case 'draining':
      return 'every engine that could run it is draining and takes no new work; start an engine: unstuck up'
    case 'no_role':
      return `no running engine has an agent for ${role} tasks`
  }
}

const blockedWait = ({ task, goal }: TaskFacts, blocker: ClaimBlocker): WaitingOn | undefined => {
  switch (blocker.cause) {
    case 'not_queued':
    case 'cooldown':
      return undefined
    case 'paused':
      return { owner: 'person', text: pausedText(goal) }
    case 'goal':
      return goalWait(goal)
    case 'dependency':
      return { owner: 'dispatcher', text: `waiting for ${namedAll(blocker.tasks, task.goalId)}` }
    case 'branch_broken':
      return { owner: 'merge queue', text: 'waiting until the goal branch is restored' }
    case 'branch_outdated':
      return {
        owner: 'merge queue',
        text: `waiting until the goal branch is rebased onto ${goal.targetBranch ?? 'its target'}`,
      }
    case 'admission': {
      const [first] = blocker.shortages
      return { owner: 'dispatcher', text: `${first?.waiting} on ${first?.host}` }
    }
    case 'hour_tokens':
      return {
        owner: 'dispatcher',
        text: `${counted(blocker.used)} tokens were used in the last hour, of ${counted(blocker.limit)} allowed (limits.hourTokens); work starts again`,
        at: blocker.until,
      }
    case 'account_limit':
      return { owner: 'dispatcher', text: `the limit of ${task.harness} resets`, at: blocker.until }
    case 'area':
      return { owner: 'dispatcher', text: areaText(task, blocker) }
    case 'lane_limit':
      return laneWait(task, blocker)
    case 'busy':
      return {
        owner: 'dispatcher',
        text: `waiting for a free agent: ${blocker.agents} of ${blocker.agents} at work`,
      }
    case 'reserved':
      return {
        owner: 'dispatcher',
        text: `free agents are reserved for feature tasks (${blocker.idle} of ${blocker.idle})`,
      }
    case 'no_engine':
    case 'engine_away':
    case 'no_harness':
    case 'draining':
    case 'no_role':
      return { owner: 'person', text: engineText(task, blocker) }
  }
}

const queuedWait = (facts: TaskFacts): WaitingOn | undefined => {
  const { task, goal, tasks, queue } = facts
  const dependencies = task.dependsOn.flatMap((id) => tasks.find((other) => other.id === id) ?? [])
  const found = claimability(task, { goal, dependencies, ...defined({ queue }) })
  if (found.free) return { owner: 'dispatcher', text: 'ready to start; a free agent takes it next' }
  const wait = blockedWait(facts, found)
  return wait === undefined ? undefined : { ...wait, waitsFor: found.cause }
}

/** Checks that failed because something was out of reach run again when the recovery's wait ends. */
const pendingWait = ({ runId }: MergeEntry, waits: TaskFacts['waits']): WaitingOn => {
  const wait = waits?.findLast((entry) => entry.runId === runId)
  if (wait === undefined) return { owner: 'merge queue', text: 'waiting to be merged' }
  const text = `waiting to be merged: its checks run again after "${shown(wait.issueDetected, 200)}"`
  return { owner: 'merge queue', text, at: waitEnd(wait) }
}

const reviewWait = ({ task, runs, merges, goal, waits, judgements, now, judgeOff }: TaskFacts): WaitingOn => {
  const run = runs.filter((candidate) => candidate.taskId === task.id && candidate.state === 'success').at(-1)
  const entry = merges.find((candidate) => candidate.runId === run?.id)
  if (goal.state === 'paused') return { owner: 'person', text: pausedText(goal) }
  if (entry?.state === 'processing') return { owner: 'merge queue', text: 'its work is being merged' }
  if (entry?.state === 'pending' && goal.landing.outdated) {
    const onto = goal.targetBranch ?? 'its target'
    return { owner: 'merge queue', text: `waiting to be merged until the goal branch is rebased onto ${onto}` }
  }
  if (entry?.state === 'pending') return pendingWait(entry, waits)
  const judgement = judgements?.find(({ runId }) => runId === run?.id)
  if (judgeOff === true && judgement?.state !== 'asked') return judgeOffWait(judgement)
  const judged = judgement === undefined ? undefined : judgementWait(judgement, now)
  if (judged !== undefined) return judged
  if (run !== undefined && run.judgedAt === null) return { owner: 'judge', text: 'its work is waiting for its review' }
  // The cycle manager gives the run back to the judge, or starts the task again.
  return { owner: 'cycle manager', text: 'its review ended without a verdict; it is looked at again' }
}

const linkWait = ({ task }: TaskFacts): WaitingOn | undefined =>
  task.retry === null
    ? undefined
    : {
        owner: 'planner',
        text: `waiting for ${task.link?.waitsFor ?? 'its link'}: unstuck link ${task.id} <issue>; without it you are asked`,
        at: task.retry.at,
      }

const quotaWait = ({ task, runs }: TaskFacts): WaitingOn | undefined => {
  if (task.retry === null) return undefined
  const last = runs.filter(({ taskId }) => taskId === task.id).at(-1)
  const evidence = last?.errorMeta?.evidence ?? ''
  return {
    owner: 'cycle manager',
    text: `the limit of ${last?.harness ?? task.harness} resets${evidence === '' ? '' : ` ("${shown(evidence, 200)}")`}`,
    at: task.retry.at,
  }
}

const waitsForPaths = 'policy_violation_rework_suppressed_no_safe_path'

/** A path that a shell reads as one plain word. */
const isPlainWord = (path: string): boolean => /^[\w@%+,./-]+$/.test(path)

/** How a person allows the paths at once; a denied path and a secret are not among them. */
const allowText = ({ id }: Task, run: Run | undefined): string => {
  const outside = (run?.errorMeta?.policyViolations ?? []).filter(({ kind }) => kind === 'outside')
  if (outside.length === 0) return ''
  const named = outside.length <= 3 && outside.every(({ path }) => isPlainWord(path))
  const options = named ? outside.map(({ path }) => `--add-path ${path}`).join(' ') : '--add-path <path>'
  return `to allow them: unstuck edit ${id} ${options} --why "…" --retry; `
}

/** The living task that corrects this one, or that continues a task which did. */
export const correctorOf = ({ id }: Task, tasks: readonly Task[]): Task | undefined =>
  tasks
    .filter(({ rework }) => rework?.parent === id)
    .map((child) => (taskEnded(child.status) ? correctorOf(child, tasks) : child))
    .find((task) => task !== undefined)

const autoFixWait = (task: Task, tasks: readonly Task[]): WaitingOn | undefined => {
  const corrector = correctorOf(task, tasks)
  if (corrector === undefined) return undefined
  return {
    owner: 'cycle manager',
    text: correctionText(
      corrector.rework?.kind ?? 'rework',
      shown(corrector.rework?.because ?? '', 120),
      named(corrector, task.goalId),
    ),
  }
}

/** The work did not pass; when the wait ends the queue decides how the task continues. */
const reworkWait = ({ task, tasks, runs }: TaskFacts): WaitingOn | undefined => {
  if (task.retry === null) return autoFixWait(task, tasks)
  const { count, limit, reason } = task.retry
  const last = runs.filter(({ taskId }) => taskId === task.id).at(-1)
  const evidence = last?.errorMeta?.evidence ?? ''
  const why = evidence === '' ? '' : ` ("${shown(evidence, 200)}")`
  const number = (what: string): string => (limit > 1 ? ` (${what} ${count} of ${limit})` : '')
  const next =
    reason === waitsForPaths
      ? `${allowText(task, last)}the rules for them are read again${number('wait')}`
      : `${continuationOf(reason)}${number('start')}`
  return { owner: 'cycle manager', text: `its work did not pass${why}; ${next}`, at: task.retry.at }
}

const runningWait = (facts: TaskFacts): WaitingOn | undefined => {
  const { task, runs } = facts
  if (questionFor(facts)?.kind === 'agent_question')
    return { owner: 'person', text: `its agent asks you: unstuck answer ${task.id}` }
  const run = runs.find((candidate) => candidate.taskId === task.id && candidate.state === 'running')
  if (run === undefined) return undefined
  const turn = run.loop == null ? '' : `${loopText(run.loop)}: `
  return { owner: 'executor', text: `${turn}${phaseWords[run.phase]} (attempt ${run.number})` }
}

const personWait = (facts: TaskFacts): WaitingOn | undefined => {
  const { task } = facts
  if (task.takenOver !== null)
    return { owner: 'person', text: `taken over by you in ${task.takenOver.folder}: unstuck give-back ${task.id}` }
  return questionFor(facts) === undefined
    ? undefined
    : { owner: 'person', text: `your answer is needed: unstuck answer ${task.id}` }
}

/** The question of the goal about this task, which was given up. */
const goalQuestionAbout = ({ task, escalations }: TaskFacts): Escalation | undefined =>
  escalations.find(
    ({ state, taskId, choices }) =>
      state === 'pending' && taskId === null && choices.some((choice) => 'task' in choice && choice.task === task.id),
  )

const cancelledWait = (facts: TaskFacts): WaitingOn => {
  const { task, tasks } = facts
  if (goalQuestionAbout(facts) !== undefined)
    return { owner: 'person', text: `your answer is needed: unstuck answer ${task.goalId}` }
  return { owner: 'nobody', text: endText(task, tasks) }
}

/** What a task waits for, or undefined for one that is stuck. A task that has ended waits for nothing. */
export const waitingOn = (facts: TaskFacts): WaitingOn | undefined => {
  const { task } = facts
  switch (task.status) {
    case 'done':
      return { owner: 'nobody', text: 'ended' }
    case 'cancelled':
      return cancelledWait(facts)
    case 'queued':
      return queuedWait(facts)
    case 'running':
      return runningWait(facts)
    case 'failed':
      return task.retry === null
        ? undefined
        : {
            owner: 'cycle manager',
            text: `next attempt (${retryNumber(task.retry)}, last failure: ${task.retry.reason.replaceAll('_', ' ')})`,
            at: task.retry.at,
          }
    case 'blocked(quota_wait)':
      return quotaWait(facts)
    case 'blocked(awaiting_judge)':
      return reviewWait(facts)
    case 'blocked(awaiting_human)':
      return personWait(facts)
    case 'blocked(needs_rework)':
      return reworkWait(facts)
    case 'blocked(issue_linking)':
      return linkWait(facts)
  }
}
