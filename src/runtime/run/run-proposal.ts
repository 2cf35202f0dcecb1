/**
 * Runs approved commands of proposals in the clean clone in which the checks are about to run, so that the failed check sees the
 * effect and neither the user's checkout nor the agent's files do. Each command has its intent stored before and its outcome after it.
 */
import { join } from 'node:path'
import type { RecoveryExecution, RecoveryProposal } from '../../domain/recovery-proposal.ts'
import type { RunProposed } from '../../recovery/diagnosis/direct-evidence.ts'
import { lockGoal } from '../../store/goal.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import {
  appendApproved,
  executionsOf,
  finishExecution,
  getProposal,
  insertExecution,
} from '../../store/recovery-proposal.ts'
import { requireLease } from '../../store/run.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { outcomeOfCommand, runApproved, unknownOutcome, isLockfile, runUndone } from '../checks/proposed-command.ts'
import { isAutomatic, isSameCommand, repeatableOf } from '../checks/repeated-proposals.ts'
import type { ActionOf, ChosenRecovery } from '../core/recovery-record.ts'
import { isReleased, saveProgress, type RunContext, checkedTreeOf } from '../core/run-context.ts'
import { recordIntent } from '../core/store-record.ts'
import { automaticLimits, decisionNow } from './automatic-proposals.ts'
import type { PhaseResult } from './phase.ts'
import { commandContext } from './repair.ts'
import { pathMatcher } from '../../recovery/policy/path-rule.ts'
import { collectNow } from '../agent/collected.ts'
import { deniedTexts, effectiveMatcher, pathRulesOf } from '../core/effective-paths.ts'

/**
 * What a proposed command changed in files that git does not ignore. Only a lockfile may become part of the work, if the
 * task may change it or a person approved the command; everything else is undone, so that what is checked is what lands.
 */
const mayEnter = async (runContext: RunContext, byPerson: boolean): Promise<(path: string) => boolean> => {
  const allowed = await effectiveMatcher(runContext)
  const denied = pathRulesOf(deniedTexts(runContext)).map(pathMatcher)
  return (path) => isLockfile(path) && (byPerson || allowed(path)) && !denied.some((matches) => matches(path))
}

/** The lockfiles become part of the work, as if the agent had written them. */
const addToWork = async (runContext: RunContext, { from, to }: { from: string; to: string }): Promise<void> => {
  const { context, paths } = runContext
  await context.ports.git.revertFiles(context.shadow, { before: to, after: from, workTree: paths.workspace })
  const { tree } = await collectNow(runContext)
  await saveProgress(runContext, { tree })
}

type Ran = Awaited<ReturnType<typeof runUndone>>

/** Runs the command and keeps what the work may have of its changes. In direct mode it works on the user's files, as its goal does. */
const keepPermitted = async (
  runContext: RunContext,
  found: ChangeList,
  { byPerson, run }: { byPerson: boolean; run: () => Promise<Ran['result']> },
): Promise<Pick<Ran, 'result' | 'changed'>> => {
  const { context, goal, paths } = runContext
  if (goal.repoMode === 'direct') return { result: await run(), changed: [] }
  const place = { base: found.tree, workTree: checkedTreeOf(runContext), indexFile: join(paths.root, 'checked-index') }
  const keeps = await mayEnter(runContext, byPerson)
  const { result, changed, after } = await runUndone(context, place, run, keeps)
  const entering = changed.filter(keeps)
  if (entering.length === 0 || isReleased(runContext)) return { result, changed }
  const to = await context.ports.git.buildTree(context.shadow, { base: found.tree, tree: after, paths: entering })
  await addToWork(runContext, { from: found.tree, to })
  return { result, changed }
}

/** The command ran when the engine ended: whether it had its effect is unknown. */
export interface UnknownOutcome {
  kind: 'unknown'
  execution: RecoveryExecution
}

/**
 * Stores the intent; the command runs in the next clean clone, before its checks. Of tasks that take the last command of the goal at the
 * same time the lock lets one have it. The checks of the others run again, and then the limit or the cooldown decides.
 */
export const intendProposed = async (
  runContext: RunContext,
  chosen: ChosenRecovery<ActionOf<'run_proposed'>>,
): Promise<PhaseResult> => {
  const { context, run } = runContext
  const { approvedBy, command } = chosen.step.action
  await context.db.transaction(async (tx) => {
    await lockGoal(tx, run.goalId)
    if (isAutomatic(approvedBy)) {
      const { reached, delayMs } = await automaticLimits(tx, runContext)
      if (reached || delayMs > 0) return
      await appendApproved(tx, { ...run, runId: run.id }, { source: approvedBy, command })
    }
    await recordIntent(context, tx, run, chosen)
    await saveProgress(runContext, { phase: 'verify' }, tx)
  })
  context.at('recovery-intended')
  return 'on'
}

type Planned = Pick<
  RecoveryExecution,
  'proposalId' | 'step' | 'command' | 'workingDir' | 'timeoutSeconds' | 'approvedBy' | 'counted' | 'repetition'
>

/** Intent, command, outcome. What it changed is listed, and undone unless the work may have it. */
const execute = async (runContext: RunContext, found: ChangeList, planned: Planned): Promise<void> => {
  const { context, run } = runContext
  const execution = await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    const about = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
    return insertExecution(tx, { ...planned, ...about, id: context.newId('x') })
  })
  const dir = join(runContext.paths.root, 'proposed', execution.id)
  const { result, changed } = await keepPermitted(runContext, found, {
    byPerson: !isAutomatic(planned.approvedBy),
    run: () => runApproved(commandContext(runContext), execution, dir),
  })
  // Whether it had its effect is unknown when the run was stopped meanwhile.
  if (isReleased(runContext)) return
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await finishExecution(tx, execution.id, outcomeOfCommand(result, changed))
  })
}

/** Whether it may still run, or be asked about. */
const isUndecided = ({ state }: Pick<RecoveryProposal, 'state'>): boolean => state === 'open' || state === 'approved'

/** The approved commands of the task whose effect is not decided yet, also those that a lost run was to run. */
const intended = async (runContext: RunContext): Promise<RunProposed[]> => {
  const { context, run } = runContext
  const acting = (await recoveriesOf(context.db, run.taskId)).flatMap(({ status, action }) =>
    status === 'acting' && action.type === 'run_proposed' ? [action as unknown as RunProposed] : [],
  )
  const allowed: RunProposed[] = []
  for (const each of acting) {
    const proposal = await getProposal(context.db, each.proposal)
    // A person may have decided about the task in another way meanwhile, without a word about this command.
    if (proposal === undefined || !isUndecided(proposal)) continue
    // The owner may have narrowed the lists since the decision.
    const isListed = !isAutomatic(each.approvedBy) || decisionNow(runContext, proposal, each.command).kind === 'run'
    if (isListed) allowed.push(each)
  }
  return allowed
}

/** What runs in this clone, each command once: what helped this task before, then what was approved now. */
const planOf = async (runContext: RunContext, ran: readonly RecoveryExecution[]): Promise<Planned[]> => {
  const { context, goal } = runContext
  const now = (await intended(runContext)).map(
    ({ proposal: proposalId, check: _check, signature: _signature, ...each }) => {
      // After a restart the clone is new, and a command whose outcome is known is repeated there.
      const repetition = ran.some(
        (past) =>
          past.proposalId === proposalId &&
          past.step === each.step &&
          past.effect === null &&
          (past.state === 'succeeded' || past.state === 'failed'),
      )
      return { ...each, proposalId, repetition, counted: isAutomatic(each.approvedBy) && !repetition }
    },
  )
  // In direct mode there is no new clone: what helped is still there.
  const helped = goal.repoMode === 'direct' ? [] : repeatableOf(context, ran)
  const again = helped.filter((each) => !now.some((other) => isSameCommand(each, other)))
  return [...again.map((each) => ({ ...each, counted: false, repetition: true })), ...now]
}

/** A command without an outcome was interrupted, also in an earlier run, because only one run of a task lives. */
const settleUnknown = async (
  { context, run }: RunContext,
  ran: readonly RecoveryExecution[],
): Promise<RecoveryExecution | undefined> => {
  const open = ran.filter(({ state }) => state === 'started')
  for (const { id } of open)
    await context.db.transaction(async (tx) => {
      await requireLease(tx, run)
      await finishExecution(tx, id, unknownOutcome)
    })
  return open.find(({ repetition }) => !repetition)
}

/** Returns an outcome that only a person can tell; else whether a command ran. */
export const runProposed = async (runContext: RunContext, found: ChangeList): Promise<UnknownOutcome | boolean> => {
  const { context, run } = runContext
  const unknown = await settleUnknown(runContext, await executionsOf(context.db, { taskId: run.taskId }))
  const proposal = unknown && (await getProposal(context.db, unknown.proposalId))
  // A person may have decided about the task meanwhile, which makes the question useless.
  if (unknown !== undefined && proposal !== undefined && isUndecided(proposal))
    return { kind: 'unknown', execution: unknown }
  if (context.config().recovery?.enabled !== true) return false
  const plan = await planOf(runContext, await executionsOf(context.db, { taskId: run.taskId }))
  for (const planned of plan) {
    await execute(runContext, found, planned)
    if (isReleased(runContext)) break
  }
  return plan.length > 0
}
