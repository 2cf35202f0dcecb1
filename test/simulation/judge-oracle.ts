/**
 * What may land of finished work: only what the judge approved in the mode that applies to it, once for each head commit, and never by
 * somebody who no longer owns the judgement; no conflict markers; and no finished work is given up before something replaces it.
 */
import { strictestMode, type JudgeMode, type Judgement } from '../../src/domain/judgement.ts'
import type { MergeEntry } from '../../src/domain/merge.ts'
import { isAutoFix } from '../../src/domain/rework.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import { parsePathRule, pathMatcher } from '../../src/recovery/policy/path-rule.ts'
import { totalBudget } from '../../src/recovery/ladder.ts'
import type { StoredEvent } from '../../src/store/event.ts'
import { workOf } from './finished-work.ts'
import type { Look, RowChange } from './mirror.ts'
import type { SimLaunch } from './processes.ts'
import type { World } from './world.ts'

export interface JudgeOracle {
  observe(look: Look): void
  reviewStarts(launch: SimLaunch): void
}

/** As git leaves them where both sides changed the same lines. */
export const hasConflictMarker = (text: string): boolean => /^(?:<{7}|>{7})(?: |$)/m.test(text)

/** Whether a task is another one, or continues it by way of any number of tasks. */
export const continuesTask = (world: World, id: string, of: string): boolean => {
  if (id === of) return true
  const parent = world.tables.task.get(id)?.rework?.parent
  return parent !== undefined && continuesTask(world, parent, of)
}

/** One start of a reviewer, and what it can have said. */
interface Review {
  launch: SimLaunch
  /** Of the judgement when it was asked. */
  version: number
}

/** What the judge may still do after a person switched it off: a pass that read the switch before. */
const switchMs = 30_000

const matches = (rule: string, path: string): boolean => {
  const parsed = parsePathRule(rule)
  return parsed.ok && pathMatcher(parsed.rule)(path)
}

const firstTime = ({ before, after }: RowChange, isSo: (row: object) => boolean): boolean =>
  after !== undefined && isSo(after) && (before === undefined || !isSo(before))

export const createJudgeOracle = (world: World): JudgeOracle => {
  const { git } = world
  const reviews = new Map<string, Review[]>()
  let offSince: number | undefined

  const judgementOf = ({ id, taskId, commit }: Run): Judgement | undefined => {
    const all = [...world.tables.judgement.values()]
    return (
      all.find(({ runId }) => runId === id) ??
      all.find((judgement) => judgement.taskId === taskId && judgement.commit === commit)
    )
  }

  const changedPaths = ({ baseCommit, commit, verdict }: Run): string[] =>
    commit === null || baseCommit === null
      ? (verdict?.changedPaths ?? [])
      : git.calls.changesBetween(world.shadow, baseCommit, commit).map(({ path }) => path)

  /** How strictly this work has to be judged. */
  const modeOf = (run: Run): JudgeMode => {
    const paths = changedPaths(run)
    const { judge } = world.plan
    const rules = judge.rules.filter((rule) => rule.paths.some((text) => paths.some((path) => matches(text, path))))
    const task = world.tables.task.get(run.taskId)
    return strictestMode([
      judge.mode,
      world.tables.goal.get(run.goalId)?.judge ?? null,
      task?.judge ?? null,
      ...rules.map(({ mode }) => mode),
    ])
  }

  const isApprovedByPerson = (run: Run): boolean => world.approved.has(workOf(run))

  const plannedMode = (run: Run): JudgeMode | null => {
    const title = world.tables.goal.get(run.goalId)?.title
    return world.plan.goals.find(({ id }) => id === title)?.judge ?? null
  }

  /** Whether a reviewer of this run said so, and was asked under no later claim than this one. */
  const isSaid = ({ runId, verdict, version, taskId, commit }: Judgement): boolean =>
    [...reviews].some(([id, asked]) => {
      const run = world.tables.run.get(id)
      if (id !== runId && (run?.taskId !== taskId || run.commit !== commit)) return false
      return asked.some(
        ({ launch, version: askedAt }) =>
          verdict !== null && askedAt <= version && launch.program?.script.verdicts?.includes(verdict) === true,
      )
    })

  /** The agent of a reviewer that was asked under this claim and has not ended. */
  const isStillAsked = ({ runId, version }: Judgement): boolean =>
    (reviews.get(runId) ?? []).some(
      ({ launch, version: askedAt }) => askedAt === version && launch.program?.alive === true && launch.shim,
    )

  /** Whether a person answered so to a question about the head commit of this judgement. */
  const isAnswered = (judged: Run, { verdict }: Judgement): boolean =>
    [...world.tables.escalation.values()].some(({ taskId, answer, runId }) => {
      const asked = world.tables.run.get(runId ?? '')
      return (
        taskId === judged.taskId &&
        answer === (verdict === 'approve' ? 'approve' : 'reject') &&
        asked !== undefined &&
        workOf(asked) === workOf(judged)
      )
    })

  const checkVerdict = (after: Judgement, before: Judgement | undefined): void => {
    const { number, taskId, verdict, mode, decidedBy } = after
    const about = `judgement ${number} of ${taskId} (${mode})`
    if (before !== undefined && before.version > after.version)
      world.violated('one verdict', `${about} goes back to version ${after.version}`)
    const run = world.tables.run.get(after.runId)
    if (run === undefined) return
    if (decidedBy !== null) {
      if (!isAnswered(run, after)) world.violated('one verdict', `${about} is decided by a person, who was not asked`)
      if (verdict === 'approve' && !isApprovedByPerson(run))
        world.violated('nothing lands unseen', `${about} is approved in the name of a person who did not`)
      return
    }
    if (before === undefined) {
      if (verdict === 'approve' && modeOf(run) !== 'auto')
        world.violated(
          'nothing lands unseen',
          `${about} is approved by the gates alone, and the mode is ${modeOf(run)}`,
        )
      return
    }
    if (before.state !== 'claimed') world.violated('one verdict', `${about} is decided, and nobody had claimed it`)
    if (!isSaid(after))
      world.violated('nothing lands unseen', `${about} is decided (${verdict}), and no reviewer said so`)
    if (isStillAsked(after))
      world.violated('one verdict', `${about} is decided (${verdict}) while its reviewer is still at work`)
  }

  const checkJudgement = ({ before, after }: RowChange): void => {
    const [old, now] = [before as Judgement | undefined, after as Judgement]
    // A person may be asked about the same commit again, and then the new answer counts.
    const isChanged = now.verdict !== old?.verdict || now.version !== old.version
    const isOverruled = now.state === 'decided' && now.decidedBy !== null && now.changedAt > (old?.changedAt ?? 0)
    if (old?.state === 'decided' && (now.state !== 'decided' || (isChanged && !isOverruled)))
      return world.violated(
        'one verdict',
        `judgement ${now.number} of ${now.taskId} was decided, and is changed to ${now.state}`,
      )
    const twin = [...world.tables.judgement.values()].find(
      ({ id, taskId, commit }) => id !== now.id && taskId === now.taskId && commit !== null && commit === now.commit,
    )
    if (twin !== undefined)
      world.violated(
        'one verdict',
        `commit ${now.commit} of ${now.taskId} has two judgements, ${twin.number} and ${now.number}`,
      )
    if (now.state === 'decided' && (old?.state !== 'decided' || isChanged)) checkVerdict(now, old)
  }

  /** In the queue only what passed the gates, and was approved in the mode that applies. */
  const checkEntry = ({ taskId, runId, commit }: MergeEntry): void => {
    const run = world.tables.run.get(runId)
    if (run === undefined) return
    const judgement = judgementOf(run)
    const mode = strictestMode([modeOf(run), plannedMode(run)])
    const about = `commit ${commit} of ${taskId} (${mode})`
    if (run.commit !== commit) world.violated('nothing lands unseen', `${about} is not what its run made`)
    if (run.verdict === null || (run.verdict.outcome === 'not verified' && !isApprovedByPerson(run)))
      world.violated('nothing lands unseen', `${about} is to land and was not verified`)
    const isApproved = judgement?.verdict === 'approve' && judgement.commit === commit
    if (!isApproved && !isApprovedByPerson(run))
      world.violated(
        'nothing lands unseen',
        `${about} is to land, and its judgement is ${judgement?.state} ${judgement?.verdict}`,
      )
    if (mode === 'human' && !isApprovedByPerson(run))
      world.violated('nothing lands unseen', `${about} is to land, and no person approved it`)
    if (mode === 'llm' && judgement?.mode === 'auto' && !isApprovedByPerson(run))
      world.violated('nothing lands unseen', `${about} is to land, and no reviewer looked at it`)
  }

  const checkLanded = ({ landedCommit, taskId }: MergeEntry): void => {
    for (const [path, text] of git.treeOf(landedCommit ?? ''))
      if (hasConflictMarker(text))
        world.violated('no conflict markers', `${path} in ${landedCommit} of ${taskId} has conflict markers`)
  }

  /** In place there is no commit for a reviewer: a person decides in both stricter modes. */
  const checkInPlace = (task: Task): void => {
    if (world.tables.goal.get(task.goalId)?.repoMode !== 'direct') return
    const run = [...world.tables.run.values()].findLast(
      ({ taskId, state }) => taskId === task.id && state === 'success',
    )
    if (run === undefined || run.verdict?.noChange === true || isApprovedByPerson(run)) return
    const mode = strictestMode([modeOf(run), plannedMode(run)])
    if (mode !== 'auto')
      world.violated('nothing lands unseen', `${task.id} is done in place (${mode}), and no person approved it`)
  }

  /** Finished work that an AutoFix task was to correct ends only with work that landed in its place. */
  const checkReplaced = ({ id, supersededBy }: Task): void => {
    const child = world.tables.task.get(supersededBy ?? '')
    if (child === undefined || !continuesTask(world, child.id, id) || child.rework?.kind === undefined) return
    if (isAutoFix(child) && child.status !== 'done')
      world.violated('nothing lost', `${id} ended for ${child.id}, which is ${child.status}`)
  }

  /** However reviewer, writer and queue disagree, they make a bounded number of tasks; a person may begin a new count. */
  const checkCount = ({ goalId }: Task): void => {
    const own = [...world.tables.task.values()].filter((task) => task.goalId === goalId)
    const planned = own.filter(({ rework }) => rework === null).length
    const answers = [...world.tables.escalation.values()].filter(
      (entry) => entry.goalId === goalId && entry.state !== 'pending',
    )
    const most = (planned + answers.length) * (totalBudget + world.config.requeue.reworkDepth)
    if (own.filter(isAutoFix).length > most)
      world.violated('everything ends', `goal ${goalId} has more than ${most} tasks that correct work`)
  }

  const checkTask = (change: RowChange): void => {
    const task = change.after as Task
    if (change.before === undefined && isAutoFix(task)) checkCount(task)
    if (firstTime(change, (row) => (row as Task).status === 'done')) checkInPlace(task)
    if (firstTime(change, (row) => (row as Task).supersededBy !== null)) checkReplaced(task)
  }

  const checkSwitch = ({ type, payload }: StoredEvent): void => {
    const now = world.scheduler.now()
    if (type === 'system.runtime_hatch_disarmed') offSince = now
    if (type === 'system.runtime_hatch_armed') {
      if (offSince !== undefined && payload['by'] === 'backlog')
        world.violated('a person is heard', 'the judge was switched off, and starts by itself')
      offSince = undefined
    }
    // A verdict is stored in a transaction that a switch waits for, so it cannot come late.
    if (offSince !== undefined && type === 'judge.review' && payload['trigger'] === 'reviewed')
      world.violated('a person is heard', 'the judge is off, and the verdict of a reviewer counts')
    if (offSince === undefined || now - Math.max(offSince, world.steadySince()) < switchMs) return
    const begins = type === 'judge.claimed' || type === 'judge.task_recovered'
    const decides = type === 'judge.review' && ['gates_decided', 'gates_asked'].includes(String(payload['trigger']))
    if (begins || decides)
      world.violated('a person is heard', `the judge is off, and ${type} (${String(payload['trigger'])}) follows`)
  }

  return {
    reviewStarts: (launch) => {
      const runId = launch.spec.marker
      const judgement = [...world.tables.judgement.values()].find((row) => row.runId === runId)
      // A person's cancel may come between the claim and the start; the claim is renewed at once, and so the agent is stopped.
      if (judgement?.state !== 'claimed' && judgement?.state !== 'withdrawn')
        world.violated('one verdict', `a reviewer of ${runId} starts, and the judgement is ${judgement?.state}`)
      reviews.set(runId, [...(reviews.get(runId) ?? []), { launch, version: judgement?.version ?? 0 }])
    },
    observe: ({ changes, events }) => {
      for (const event of events) checkSwitch(event)
      for (const change of changes) {
        if (change.after === undefined) continue
        if (change.table === 'judgement') checkJudgement(change)
        if (change.table === 'task') checkTask(change)
        if (change.table !== 'merge_entry') continue
        if (change.before === undefined) checkEntry(change.after as MergeEntry)
        if (firstTime(change, (row) => (row as MergeEntry).state === 'merged')) checkLanded(change.after as MergeEntry)
      }
    },
  }
}
