/**
 * The merge queue: one processor per goal brings approved commits onto the goal branch, in order. A commit that does not
 * fit on top is rebased and verified again. After a crash the commit that we would publish is looked for first, so nothing is
 * merged twice; the branch itself moves by compare-and-swap.
 */
import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import { keepAliveMs } from '../domain/lease.ts'
import { mayStartWork, type Goal } from '../domain/goal.ts'
import type { MergeEntry } from '../domain/merge.ts'
import { proves, type Run } from '../domain/run.ts'
import type { Task } from '../domain/task.ts'
import { diagnose, type Diagnosis } from '../recovery/diagnosis.ts'
import type { Evidence } from '../recovery/evidence.ts'
import { isStoreTrouble, must, StaleError } from '../store/db.ts'
import { openEscalation } from '../store/escalation.ts'
import { appendEvent, storeNow } from '../store/event.ts'
import { getGoal, progressGoal } from '../store/goal.ts'
import { confirmLead } from '../store/leader.ts'
import { listMerges, moveMerge } from '../store/merge.ts'
import { recoveriesOf, waitEnd, type Recovery } from '../store/recovery.ts'
import { getRun } from '../store/run.ts'
import { getTask, moveTask } from '../store/task.ts'
import { goalBranch, goalRef, type Context } from './context.ts'
import { tellFindings } from './findings.ts'
import { dropUnused, isHandedOver } from './hand-overs.ts'
import { runHonestly, type HonestReport } from './honest-checks.ts'
import { carryOutInstalls } from './install.ts'
import { heldUpText } from './question.ts'
import { decide, failOpen, recordIntent, settleOpen } from './recover.ts'
import { dropRunRef, isOutage, isRefusal, linkOf, refusalLimit } from './remote-link.ts'
import { baseOnRemote, findLanded, pushLanding, seeGoalBranch } from './remote-landing.ts'

/** A goal branch that somebody keeps moving under us is a person's business after this many tries. */
const outrunLimit = 5

export interface Landing {
  context: Context
  goal: Goal
  task: Task
  run: Run
  entry: MergeEntry
  /** Claims of the entry so far, without those that ended in a wait for something that its checks need. */
  tries: number
}

const record = async (landing: Landing, landedCommit: string): Promise<void> => {
  const { context, goal, entry, run } = landing
  await context.db.transaction(async (tx) => {
    must(await moveMerge(tx, entry, 'merged', { landedCommit }))
    await progressGoal(tx, goal.id, { headCommit: landedCommit })
    const task = await getTask(tx, entry.taskId)
    if (task !== undefined && task.place === 'blocked(awaiting_judge)') {
      must(
        await moveTask(tx, task, 'merged', {
          runId: run.id,
          payload: { commit: landedCommit, branch: goalBranch(goal.id) },
        }),
      )
    }
  })
  context.at('merge-recorded')
  if (isHandedOver(context, goal)) await dropUnused(context, run.id)
}

const fail = async (landing: Landing, diagnosis: Diagnosis): Promise<void> => {
  const { context, goal, task, run, entry } = landing
  const { machine } = diagnosis.facts
  await context.db.transaction(async (tx) => {
    await failOpen(context, tx, task.id, `the work could not be merged: ${diagnosis.label}`)
    must(await moveMerge(tx, entry, 'failed', { detail: diagnosis.evidence }))
    const current = (await getTask(tx, task.id)) ?? task
    must(
      await moveTask(tx, current, 'escalated', {
        runId: run.id,
        payload: { label: diagnosis.label, evidence: diagnosis.evidence },
      }),
    )
    await openEscalation(tx, {
      id: context.newId('q'),
      goalId: goal.id,
      taskId: task.id,
      runId: run.id,
      kind: diagnosis.label === 'git_conflict' ? 'merge_conflict' : 'exhausted',
      question:
        machine === undefined
          ? `Task ${task.number} "${task.title}" could not be merged: ${diagnosis.evidence}. Retry it on the newer base, or cancel it?`
          : heldUpText(task, machine),
      details: [
        ...(machine === undefined ? [] : [`It could not be merged: ${diagnosis.evidence}`]),
        `The work is kept as commit ${run.commit ?? '?'} and in ${run.id}'s snapshots (unstuck restore ${run.id} --into <folder>).`,
      ].join('\n'),
      choices: ['retry', 'cancel'],
    })
  })
  if (isHandedOver(context, goal)) await dropUnused(context, run.id)
}

/**
 * As the ladder says of the same failure in a run. An outage that a probe saw as well ends by itself: the entry stays in the
 * queue, and only its checks run again; the agent's work is done and is not made twice.
 */
const failChecks = async (landing: Landing, evidence: Evidence): Promise<void> => {
  const { context, task, run, entry } = landing
  const { diagnosis, step } = await decide(context, run, evidence)
  if (step.kind !== 'recover' || step.action.type !== 'wait') return fail(landing, diagnosis)
  await context.db.transaction(async (tx) => {
    await failOpen(context, tx, task.id, `its checks failed again: ${diagnosis.evidence}`)
    await recordIntent(context, tx, run, { diagnosis, step })
    must(await moveMerge(tx, entry, 'interrupted', { detail: diagnosis.evidence }))
  })
  context.at('recovery-intended')
}

/** What an entry waited for so far: the run itself is a success, so its waits are those of the merge. */
const waitsOf = async (context: Context, { taskId, runId }: MergeEntry): Promise<Recovery[]> =>
  (await recoveriesOf(context.db, taskId)).filter((past) => past.runId === runId && past.action.type === 'wait')

const isOver = async (context: Context, wait: Recovery): Promise<boolean> =>
  (await storeNow(context.db)).getTime() >= waitEnd(wait).getTime()

const headOf = (goal: Goal): string => {
  const head = goal.headCommit ?? goal.baseCommit
  if (head === null) throw new Error(`goal ${goal.id} has no head`)
  return head
}

/** The goal branch is ours: where it is not what the store says, somebody moved it, and it is put back and said so. */
export const guardBranch = async (context: Context, goal: Goal): Promise<void> => {
  const { git } = context.ports
  const head = headOf(goal)
  const found = await git.readRef(context.repository, goalRef(goal.id))
  if (found === head) return
  // What this engine knows may be old: to another leader's commit the branch must not be taken back.
  await confirmLead(context.db)
  if (found === null) await git.ensureGoalBranch(context.repository, { name: goalBranch(goal.id), start: head })
  else await git.restoreRef(context.repository, { ref: goalRef(goal.id), from: found, to: head })
  await appendEvent(context.db, {
    type: 'ref.restored',
    goalId: goal.id,
    payload: { ref: goalRef(goal.id), found, restored: head },
  })
}

const tellVerified = async (
  { context, goal, task, run, entry }: Landing,
  commit: string,
  { results, findings, failed }: HonestReport,
): Promise<void> => {
  const passed = results.filter(proves).length
  await context.db.transaction(async (tx) => {
    await tellFindings(tx, run, findings)
    await appendEvent(tx, {
      type: 'merge.reverified',
      goalId: goal.id,
      taskId: task.id,
      runId: run.id,
      payload: { entry: entry.id, commit, checks: results, passed: failed === undefined },
    })
    if (failed !== undefined) return
    await settleOpen(context, tx, task.id, (condition) =>
      condition.type === 'remaining_checks_pass'
        ? { holds: passed > 0, detail: `${passed} remaining check(s) ran and passed` }
        : undefined,
    )
  })
}

/** Runs the checks that the run's verdict stands on once more, on the rebased commit in a clone of its own. */
const verifyRebased = async (landing: Landing, commit: string): Promise<Evidence | undefined> => {
  const { context, entry, run, goal, task } = landing
  const root = join(context.stateDir, 'merges', entry.id)
  const workspace = join(root, 'workspace')
  const config = context.config()
  const { files, git, processes } = context.ports
  await processes.sweep(`${entry.id}-check`)
  files.rmSync(root, { recursive: true, force: true })
  // The clone borrows the user's object store, so the rebased commit must be there; no ref points at it before it is verified.
  await git.bringObjects(context.repository, context.shadow, { from: goal.headCommit, to: commit })
  await git.createWorkspace({
    repository: context.repository,
    base: commit,
    dir: workspace,
    branch: `unstuck/merge/${entry.id}`,
  })
  await git.prepareDependencies({
    repository: context.repository,
    workspace,
    cacheDir: join(context.stateDir, 'dependencies'),
  })
  const checks = run.verdict?.checks ?? []
  const installs = run.verdict?.installed ?? []
  const request = {
    ...context,
    workspace,
    marker: `${entry.id}-check`,
    environment: context.environment,
    extraNames: config.env,
    timeoutMs: config.verify.timeoutSeconds * 1000,
    totalMs: config.verify.totalSeconds * 1000,
    keepAliveMs: keepAliveMs(config.lease.ttlSeconds),
    signal: context.stopping,
  }
  // Where it fails, the checks say what is missing.
  await carryOutInstalls({ ...request, folder: (number) => join(root, 'installs', String(number)) }, installs)
  const report = await runHonestly({
    ...request,
    base: { ...context, commit: headOf(goal), dir: join(root, 'base'), installs },
    commands: checks.map((check) => check.command),
    source: (command) => checks.find((check) => check.command === command)?.source ?? task.commandSource,
    folder: (number) => join(root, 'checks', String(number)),
    passed: () => context.at('check-passed'),
  })
  // What a stop cut short failed by nothing else: the next engine verifies again.
  if (context.stopping.aborted) return undefined
  files.rmSync(root, { recursive: true, force: true })
  await tellVerified(landing, commit, report)
  return report.failed === undefined ? undefined : { kind: 'check', check: report.failed }
}

/** The run's own ref has done its work once its commit is on the goal branch. */
const recordRemote = async (landing: Landing, landedCommit: string): Promise<void> => {
  await record(landing, landedCommit)
  await dropRunRef(landing.context, landing.run.id, landing.entry.commit)
}

/** As `land`, on the goal branch of the remote. */
const landRemote = async (landing: Landing): Promise<void> => {
  const { context, goal, entry } = landing
  const head = headOf(goal)
  const tip = await seeGoalBranch(landing)
  const landed = tip === null || tip === head ? undefined : await findLanded(landing, { head, tip })
  if (landed !== undefined) return recordRemote(landing, landed)
  const onto = await baseOnRemote(context, goal, { head, tip })
  const integrated = await context.ports.git.integrate(context.shadow, { commit: entry.commit, onto })
  if (!integrated.ok) return fail(landing, diagnose({ kind: 'merge', conflicts: integrated.conflicts }))
  context.at('merge-integrated')
  const evidence = integrated.rebased ? await verifyRebased(landing, integrated.commit) : undefined
  if (context.stopping.aborted) return
  if (evidence !== undefined) return failChecks(landing, evidence)
  const pushed = await pushLanding(landing, { from: onto, to: integrated.commit })
  if (pushed.kind === 'done') return recordRemote(landing, integrated.commit)
  if (landing.tries >= (pushed.kind === 'refused' ? refusalLimit : outrunLimit))
    return fail(landing, diagnose({ kind: 'refused', text: pushed.detail }))
  must(await context.db.transaction((tx) => moveMerge(tx, entry, 'outrun', { detail: pushed.detail })))
}

const land = async (landing: Landing): Promise<void> => {
  const { context, goal, entry } = landing
  const { git } = context.ports
  const ref = goalRef(goal.id)
  const head = headOf(goal)
  const integrated = await git.integrate(context.shadow, { commit: entry.commit, onto: head })
  // Equal input gives an equal commit, so what was published before a crash is known by its name. A trailer proves
  // nothing: whoever can write to the repository can write one onto the branch.
  if (integrated.ok && (await git.readRef(context.repository, ref)) === integrated.commit)
    return record(landing, integrated.commit)
  await guardBranch(context, goal)
  if (!integrated.ok) return fail(landing, diagnose({ kind: 'merge', conflicts: integrated.conflicts }))
  context.at('merge-integrated')
  if (integrated.rebased) {
    const evidence = await verifyRebased(landing, integrated.commit)
    if (context.stopping.aborted) return
    if (evidence !== undefined) return failChecks(landing, evidence)
  }
  await confirmLead(context.db)
  const published = await git.publish(context.repository, context.shadow, { ref, from: head, to: integrated.commit })
  context.at('merge-published')
  if (published === 'done') return record(landing, integrated.commit)
  if (landing.tries >= outrunLimit)
    return fail(
      landing,
      diagnose({ kind: 'workspace', text: `${ref} was moved by somebody else ${landing.tries} times` }),
    )
  must(
    await context.db.transaction((tx) => moveMerge(tx, entry, 'outrun', { detail: 'the goal branch moved meanwhile' })),
  )
}

/** An entry must not stay in processing after an error: it starts over, and after the last try a person is asked. */
const startOver = async (landing: Landing, error: unknown): Promise<void> => {
  const { context, entry } = landing
  const detail = messageOf(error)
  context.log.error({ entry: entry.id, error: detail }, 'a merge failed unexpectedly')
  // A check that could not be followed to its end may still run.
  await context.ports.processes.sweep(`${entry.id}-check`)
  if (landing.tries >= outrunLimit) return fail(landing, diagnose({ kind: 'workspace', text: detail }))
  must(await context.db.transaction((tx) => moveMerge(tx, entry, 'outrun', { detail })))
}

const letWait = async ({ context, entry }: Landing, error: Error): Promise<void> => {
  must(await context.db.transaction((tx) => moveMerge(tx, entry, 'interrupted', { detail: error.message })))
}

/** Whether a merge can begin: while the remote is away its entries stay where they are, and no try is counted. */
const isReachable = async (context: Context, goal: Goal): Promise<boolean> => {
  if (goal.repoMode !== 'remote') return true
  const link = linkOf(context)
  if (!link.failing()) return true
  if (link.restMs() > 0) return false
  try {
    await link.see([goalRef(goal.id)])
  } catch (error) {
    // A refusal is no outage: it is met again in the merge, where its tries are counted.
    if (isOutage(error)) return false
    if (!isRefusal(error)) throw error
  }
  return true
}

const process = async (context: Context, pending: MergeEntry): Promise<void> => {
  const goal = await getGoal(context.db, pending.goalId)
  const run = await getRun(context.db, pending.runId)
  const task = await getTask(context.db, pending.taskId)
  if (goal === undefined || run === undefined || task === undefined || !mayStartWork(goal)) return
  if (!(await isReachable(context, goal))) return
  const waits = await waitsOf(context, pending)
  const last = waits.at(-1)
  if (last !== undefined && !(await isOver(context, last))) return
  const entry = must(await context.db.transaction((tx) => moveMerge(tx, pending, 'claimed')))
  context.at('merge-claimed')
  const landing = { context, goal, run, task, entry, tries: entry.attempts - waits.length }
  try {
    await (goal.repoMode === 'remote' ? landRemote(landing) : land(landing))
  } catch (error) {
    if (context.stopping.aborted) return
    // What was written last is unknown, and the merge is not to blame: the next flight looks for its effect.
    if (isStoreTrouble(error) || error instanceof StaleError) throw error
    // What it was going to publish is looked for on the remote before it is pushed again.
    if (isOutage(error)) await letWait(landing, error)
    else await startOver(landing, error)
  }
  context.wake()
}

/** Entries that a crash left in processing go back to the queue; their effect is looked for on the branch. */
export const recoverMerges = async (context: Context): Promise<void> => {
  for (const entry of await listMerges(context.db, { state: 'processing' })) {
    must(
      await context.db.transaction((tx) =>
        moveMerge(tx, entry, 'interrupted', { detail: 'the engine ended meanwhile' }),
      ),
    )
  }
}

/** Works off the pending entries, oldest first. Called by one loop only, so that there is one processor. */
export const mergeAll = async (context: Context): Promise<void> => {
  for (const entry of await listMerges(context.db, { state: 'pending' })) {
    if (context.stopping.aborted) return
    await process(context, entry)
  }
}
