/** Lets a model decide about changed paths, and applies what the fence around its answer permits. */
import { keptVerdict } from '../../domain/run.ts'
import { taskEnded } from '../../domain/task.ts'
import {
  guardDecisions,
  policyAnswerSchema,
  policyQuestion,
  type GuardedDecisions,
  type PolicyAnswer,
  type PolicyQuestionInput,
} from '../../recovery/policy/llm-decision.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { listLiveGoals } from '../../store/goal.ts'
import { requireLease } from '../../store/run.ts'
import { listTasksOf } from '../../store/task.ts'
import { ask, type AskResult } from '../agent/ask.ts'
import { collectedWork, withoutExcluded } from '../agent/collected.ts'
import { keepSnapshot } from '../agent/stop-agent.ts'
import { deniedTexts, effectiveTexts } from '../core/effective-paths.ts'
import type { ActionOf, ChosenRecovery } from '../core/recovery-record.ts'
import { isReleased, saveProgress, type RunContext } from '../core/run-context.ts'
import { fencedRecoveries, recordIntent, resolveOpenOf } from '../core/store-record.ts'
import { checkChangedPaths } from './path-fence.ts'
import type { PhaseResult } from './phase.ts'
import { heldByOthers } from './policy-options.ts'
import { grantPaths } from './policy-grants.ts'
import { recordApplied } from './policy-events.ts'
import { defined } from '../../domain/defined.ts'

type AskPaths = ChosenRecovery<ActionOf<'ask_paths'>>
type Answered = Extract<AskResult<PolicyAnswer>, { ok: true }>

const mostOthers = 10
const mostListed = 20

const otherTasks = async ({ context, task }: RunContext): Promise<PolicyQuestionInput['otherTasks']> => {
  const goals = (await listLiveGoals(context.db)).map(({ id }) => id)
  return (await listTasksOf(context.db, goals))
    .filter(({ id, status }) => id !== task.id && !taskEnded(status) && (status === 'running' || status === 'queued'))
    .slice(0, mostOthers)
    .map(({ title, status, areas }) => ({ title, status, areas }))
}

const inputOf = async (runContext: RunContext, { diagnosis, step }: AskPaths): Promise<PolicyQuestionInput> => {
  const { task } = runContext
  const found = await collectedWork(runContext)
  const { violations } = await checkChangedPaths(runContext, found)
  return {
    ...{ title: task.title, goal: task.instructions, role: task.role, commands: task.commands },
    allowedPaths: await effectiveTexts(runContext),
    deniedPaths: deniedTexts(runContext),
    violations: violations.filter(({ path }) => step.action.paths.includes(path)),
    message: diagnosis.evidence,
    changedFiles: found.changes.map(({ path }) => path),
    otherTasks: await otherTasks(runContext),
  }
}

const recordDecided = async (
  tx: Queryable,
  { run }: RunContext,
  { attempt, answer, guarded }: { attempt: number; answer: Answered; guarded: GuardedDecisions },
): Promise<void> => {
  const { summary, confidence, decisions } = answer.value
  const ids = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  await appendEvent(tx, {
    type: 'task.policy_recovery_decided',
    ...ids,
    payload: {
      ...{ attempt, summary: summary.slice(0, 500), confidence, harness: answer.harness, model: answer.model },
      latencyMs: answer.ms,
      cached: answer.cached,
      decisions: decisions.slice(0, mostListed).map(({ path, action, reason }) => ({
        path: path.slice(0, 300),
        action,
        reason: reason.slice(0, 300),
      })),
      counts: { allow: guarded.allow.length, discard: guarded.discard.length, deny: guarded.deny.length },
      refused: guarded.refused.slice(0, mostListed),
    },
  })
  const denied = [
    ...guarded.deny,
    ...guarded.refused.filter(({ action }) => action === 'allow').map(({ path }) => path),
  ]
  if (denied.length === 0) return
  const reasons = new Map(decisions.map(({ path, reason }) => [path, reason]))
  const told = denied.slice(0, mostListed).map((path) => {
    const why = guarded.refused.find((entry) => entry.path === path)?.why ?? reasons.get(path) ?? ''
    return { path, reason: why.slice(0, 300) }
  })
  await appendEvent(tx, {
    type: 'task.policy_recovery_denied',
    ...ids,
    payload: {
      ...{ attempt, summary: summary.slice(0, 500), denied: told, count: denied.length },
      text: told
        .map(({ path, reason }) => `${path} (${reason})`)
        .join('; ')
        .slice(0, 1_000),
    },
  })
}

/** The paths that are granted to the run: those that the model allowed, unless another task works there. */
const grantAllowed = async (
  tx: Queryable,
  runContext: RunContext,
  paths: readonly string[],
  answer: PolicyAnswer,
): Promise<string[]> => {
  const reasons = new Map(answer.decisions.map(({ path, reason }) => [path, reason.slice(0, 300)]))
  return grantPaths(tx, runContext, {
    ...{ scope: 'run', by: 'model' },
    paths: paths.map((path) => ({ path, rule: 'model', because: reasons.get(path) ?? '' })),
  })
}

const apply = async (runContext: RunContext, chosen: AskPaths, answer: Answered): Promise<void> => {
  const { context, run, goal, task } = runContext
  const found = await collectedWork(runContext)
  const { violations } = await checkChangedPaths(runContext, found)
  const asked = violations.filter(({ path }) => chosen.step.action.paths.includes(path))
  const guarded = guardDecisions(answer.value, {
    violations: asked,
    deniedPaths: deniedTexts(runContext),
    role: task.role,
    held: await heldByOthers(runContext),
  })
  // In the user's own folder nothing is removed: a path to discard there goes back to the agent.
  const discard = goal.repoMode === 'direct' ? [] : guarded.discard
  const excluded = discard.map((path) => ({ path, because: 'a model found that the task does not need it' }))
  const isKept = discard.length > 0 && (await keepSnapshot(runContext, 'before changed paths are left out'))
  const work = await withoutExcluded(runContext, found, excluded)
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await recordDecided(tx, runContext, { attempt: chosen.step.attempt, answer, guarded })
    const allowed = await grantAllowed(tx, runContext, guarded.allow, answer.value)
    const kept = keptVerdict(run.verdict)
    const more = {
      excluded: [...(kept.excluded ?? []), ...excluded],
      refused: [...new Set([...(kept.refused ?? []), ...guarded.deny])],
    }
    if (allowed.length + discard.length > 0)
      await recordApplied(tx, runContext, {
        ...{
          attempt: chosen.step.attempt,
          by: 'model',
          allowed,
          discarded: discard,
          reasons: [answer.value.summary.slice(0, 200)],
        },
      })
    else
      await resolveOpenOf(tx, task.id, (_condition, recovery) =>
        recovery.actionKey === chosen.step.actionKey
          ? { satisfied: false, detail: `the model allowed nothing: ${answer.value.summary.slice(0, 300)}` }
          : undefined,
      )
    await (discard.length > 0
      ? saveProgress(runContext, { phase: 'verify', tree: work.tree, verdict: { ...kept, ...more } }, tx)
      : saveProgress(runContext, { phase: 'policy', verdict: { ...(run.verdict ?? kept), ...more } }, tx))
  })
  if (discard.length === 0) return
  runContext.collected = work
  // Without a snapshot the files stay in the workspace, where they are no part of the work.
  if (!isKept) return
  // The agent may get another turn: what it sees must be what its work consists of.
  await context.ports.git.revertFiles(context.shadow, {
    ...{ before: work.tree, after: found.tree },
    workTree: runContext.paths.workspace,
  })
}

export const askAboutPaths = async (runContext: RunContext, chosen: AskPaths): Promise<PhaseResult> => {
  const { context, run } = runContext
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await recordIntent(context, tx, run, chosen)
  })
  context.at('recovery-intended')
  const input = await inputOf(runContext, chosen)
  const { timeoutSeconds, model } = context.config().policyRecovery
  const answer = await ask(runContext, {
    ...{ purpose: 'changed paths', prompt: policyQuestion(input), schema: policyAnswerSchema, input },
    ...defined({ model }),
    ...{ timeoutMs: timeoutSeconds * 1000, attempts: 2 },
  })
  if (isReleased(runContext)) return 'on'
  if (answer.ok) {
    await apply(runContext, chosen, answer)
    return 'on'
  }
  const record = fencedRecoveries(context, run)
  const open = (await record.history()).findLast(
    ({ actionKey, status }) => actionKey === chosen.step.actionKey && status === 'acting',
  )
  if (open !== undefined) await record.resolve(open.id, 'failed', `no decision: ${answer.detail}`)
  return 'on'
}
