/**
 * Asks a harness one question about the work of a run: read-only, in a fresh session, under a shim, with the account's limit, the
 * budget and a time limit like any launch. The answer is a JSON object that matches the caller's schema; an answer that does not is
 * sent back once, with what is wrong. An answer is void if anything changed meanwhile. No agent of the run may be running.
 */
import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { addSpend, noSpend, overrunOf, overrunText, type Spend } from '../../domain/budget.ts'
import { mayStartWork } from '../../domain/goal.ts'
import type { ReportedError } from '../../harness/driver.ts'
import { AppError, messageOf } from '../../errors.ts'
import { limitOf, type ProviderLimit } from '../../recovery/limit.ts'
import { waitEndsAt } from '../../recovery/reset-time.ts'
import { limitAccount } from '../../store/account.ts'
import { storeNow } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { isReleased } from '../core/run-context.ts'
import { accountFor, accountLimitOf, harnessesOnAccount } from '../harness/accounts.ts'
import { publishLimits } from '../harness/limits-elsewhere.ts'
import { detectCapabilities } from '../harness/detected-capabilities.ts'
import { findHarness, missingProgram, type HarnessChoice } from '../harness/harness-choice.ts'
import { requireRight, type AskContext } from './ask-context.ts'
import { questionForm, questionPrompt, readAnswer, schemaText, type Refusal } from './ask-answer.ts'
import { questionKey, readCachedAnswer, writeCachedAnswer } from './ask-cache.ts'
import { budgetText, launchQuestion, secondsLeftMs, type OpenQuestion, type QuestionEnd } from './ask-launch.ts'
import { beginQuestion, endInterruptedQuestions, recordQuestion } from './ask-record.ts'
import { dropAskView, layAskView, undoAskChanges, type AskView } from './ask-view.ts'
import { failureEvidence } from './launch-evidence.ts'

export interface AskRequest<T> {
  /** A short name of the question, for people and for the events. */
  purpose: string
  prompt: string
  /** Raised when the prompt changes its meaning. Absent = the text of the prompt decides. */
  promptVersion?: string
  schema: z.ZodType<T>
  /** Everything that decides the answer: an equal input may be answered from an earlier question. */
  input: unknown
  /** Absent = the harness of the run. */
  harness?: string
  model?: string
  /** For the whole question with all its launches. */
  timeoutMs: number
  /** Most launches. An answer that does not match is asked again only once. */
  attempts: number
}

export type AskFailure =
  | 'account_limit'
  | 'budget'
  | 'timeout'
  | 'invalid_answer'
  | 'harness_failed'
  | 'changed_files'
  | 'stopped'
  | 'no_harness'

interface Told {
  ms: number
  spend: Spend
  /** Launches that were made. */
  attempts: number
}

export type AskResult<T> =
  | ({ ok: true; value: T; harness: string; model: string | null; cached: boolean } & Told)
  | ({ ok: false; reason: AskFailure; detail: string } & Told)

/** How one launch, or all of them, ended. */
type Outcome<T> = { ok: true; value: T; raw: unknown } | { ok: false; reason: AskFailure; detail: string }
type Failed = Extract<Outcome<never>, { ok: false }>

const failed = (reason: AskFailure, detail: string): Failed => ({ ok: false, reason, detail })

interface Chosen extends HarnessChoice {
  name: string
  model: string | undefined
}

const choose = ({ context, run, task }: AskContext, request: AskRequest<unknown>): Chosen | Failed => {
  const config = context.config()
  const name = request.harness ?? run.harness
  const found = findHarness(config, name)
  if (found === undefined) return failed('no_harness', `there is no harness "${name}" in the configuration`)
  const missing = missingProgram(context.ports.files, found, name, context.environment['PATH'])
  if (missing !== undefined) return failed('no_harness', missing)
  const own = name === run.harness ? (task.model ?? undefined) : undefined
  return { ...found, name, model: request.model ?? own ?? found.harness.model }
}

/** Why nothing may be launched now; undefined = it may. */
const refusal = async (runContext: AskContext, name: string): Promise<Failed | undefined> => {
  const { context, run } = runContext
  const goal = await getGoal(context.db, runContext.goal.id)
  if (goal !== undefined) runContext.goal = goal
  if (!mayStartWork(runContext.goal)) return failed('stopped', `the goal is ${runContext.goal.state}`)
  const limit = await accountLimitOf(context, context.db, name)
  if (limit !== undefined)
    return failed('account_limit', `the account is at its limit until ${limit.until.toISOString()}: ${limit.evidence}`)
  const overrun = overrunOf(runContext.goal.limits, run.spend, runContext.goal.spend)
  return overrun === undefined ? undefined : failed('budget', overrunText(overrun))
}

/** Closes the account to launches, as a limit that an agent meets does. */
const storeLimit = async (runContext: AskContext, name: string, { evidence, reset }: ProviderLimit): Promise<void> => {
  const { context, run, task } = runContext
  const account = accountFor(context, name)
  const delayMs = reset === undefined ? context.config().retry.quotaBaseSeconds * 1000 : 0
  await context.db.transaction(async (tx) => {
    await requireRight(runContext, tx)
    const wait = { delayMs, ...(reset === undefined ? {} : { until: reset.resetAt.toISOString() }) }
    const until = waitEndsAt(wait, await storeNow(tx))
    const shown = context.ports.processes.redactText(evidence, context.environment)
    const harnesses = harnessesOnAccount(context, account)
    await limitAccount(tx, { account, harnesses, evidence: shown, until, taskId: task.id, runId: run.id }, run.goalId)
  })
  await publishLimits(context)
}

/** The provider's limit behind a failed launch, with the reset time that the text states. */
const providerLimit = (open: OpenQuestion, error: ReportedError, endedAt: Date): ProviderLimit | undefined => {
  const evidence = failureEvidence({
    ...{ harness: open.driver.name, error, reading: {}, denials: [], observeRefusal: () => [], endedAt },
    environment: open.runContext.context.environment,
  })
  return evidence.kind === 'launch' ? limitOf(evidence.failure) : undefined
}

interface Asking<T> {
  request: AskRequest<T>
  open: OpenQuestion
  name: string
  view: AskView
  deadline: number
  attempts: number
  /** Id of the model, as the CLI reports it. */
  model: string | null
}

/** A failure of the launch, and whether the same question may succeed in another one. */
const launchFailure = async <T>(
  { open, name }: Asking<T>,
  error: ReportedError,
  endedAt: Date,
): Promise<{ outcome: Failed; again: boolean }> => {
  const limit = providerLimit(open, error, endedAt)
  if (limit?.rule.meaning.label === 'llm_quota') {
    await storeLimit(open.runContext, name, limit)
    return { outcome: failed('account_limit', limit.evidence), again: false }
  }
  return { outcome: failed('harness_failed', error.text), again: limit?.rule.meaning.retryable ?? true }
}

/** A limit of the run or the goal that this question has reached. */
const usedUp = ({ runContext, spent }: OpenQuestion): Failed | undefined => {
  const { goal, run } = runContext
  const overrun = overrunOf(goal.limits, addSpend(run.spend, spent), goal.spend)
  return overrun === undefined ? undefined : failed('budget', overrunText(overrun))
}

type Step<T> = { outcome: Outcome<T>; again: boolean; refused?: Refusal }

const stepOf = async <T>(asking: Asking<T>, end: QuestionEnd): Promise<Step<T>> => {
  const { request, open } = asking
  const { context } = open.runContext
  const final = (outcome: Outcome<T>): Step<T> => ({ outcome, again: false })
  if (end.kind === 'stopped') return final(failed('stopped', 'the run was stopped while it was asked'))
  const changed = await undoAskChanges(open.runContext, open.folder, asking.view)
  if (changed.length > 0) {
    const named = `${changed.slice(0, 5).join(', ')}${changed.length > 5 ? ` and ${changed.length - 5} more` : ''}`
    return final(failed('changed_files', `it changed ${named}, although it was only asked; the change was undone`))
  }
  if (end.kind === 'timeout')
    return final(usedUp(open) ?? failed('timeout', `no answer within ${request.timeoutMs / 1000} s`))
  if (end.kind === 'budget') return final(failed('budget', budgetText(end)))
  if (end.kind === 'lost') return { outcome: failed('harness_failed', 'its shim was lost'), again: true }
  const { conclusion, endedAt } = end
  if (!conclusion.ok) return launchFailure(asking, conclusion.error, endedAt)
  const text = context.ports.processes.redactText(conclusion.text, context.environment)
  const answer = readAnswer(text, request.schema)
  if (answer.ok) return final(answer)
  const outcome = failed('invalid_answer', answer.problem)
  return { outcome, again: true, refused: { problem: answer.problem, answer: text } }
}

/** Launches until there is an answer, a failure that another launch would not change, or no attempt left. */
const launchAll = async <T>(asking: Asking<T>, used: number): Promise<Outcome<T>> => {
  const { request, open } = asking
  const { context } = open.runContext
  let refused: Refusal | undefined
  for (;;) {
    const limitMs = Math.min(asking.deadline - context.clock.elapsed(), secondsLeftMs(open.runContext, open.spent))
    if (limitMs <= 0) return failed('timeout', `no answer within ${request.timeoutMs / 1000} s`)
    asking.attempts += 1
    const prompt = context.ports.processes.redactText(questionPrompt(request, refused), context.environment)
    const end = await launchQuestion(open, { number: asking.attempts, prompt, limitMs })
    if (end instanceof AppError) return failed('harness_failed', end.message)
    open.spent = addSpend(open.spent, end.spend)
    asking.model = end.reading.model ?? asking.model
    const { outcome, again, refused: next } = await stepOf(asking, end)
    const repeated = refused !== undefined && next !== undefined
    if (outcome.ok || !again || repeated || used + asking.attempts >= request.attempts) return outcome
    if (isReleased(open.runContext)) return failed('stopped', 'the run was stopped while it was asked')
    const over = usedUp(open)
    if (over !== undefined) return over
    refused = next
  }
}

interface Answered<T> {
  outcome: Outcome<T>
  spent: Spend
  attempts: number
  model: string | null
  cached: boolean
  number: number | null
}

const notLaunched = (outcome: Failed, model: string | null): Answered<never> => ({
  ...{ outcome, spent: noSpend, attempts: 0, model, cached: false, number: null },
})

/** Lays the view, launches, and removes the view. */
const askAgent = async <T>(
  runContext: AskContext,
  request: AskRequest<T>,
  { chosen, key, used }: { chosen: Chosen; key: string; used: number },
): Promise<Answered<T>> => {
  const { context } = runContext
  const deadline = context.clock.elapsed() + request.timeoutMs
  const model = chosen.model ?? null
  const started = { key, purpose: request.purpose, harness: chosen.name, model }
  const { number, folder } = beginQuestion(runContext, started)
  const view = await layAskView(runContext, folder)
  const abilities = await detectCapabilities({ ...chosen, context })
  const open = { ...chosen, runContext, folder, view: view.dir, abilities, spent: noSpend }
  const asking = { request, open, name: chosen.name, view, deadline, attempts: 0, model }
  try {
    const outcome = await launchAll(asking, used)
    return { outcome, spent: open.spent, attempts: asking.attempts, model: asking.model, cached: false, number }
  } finally {
    await dropAskView(runContext, view).catch((error: unknown) =>
      context.log.warn({ run: runContext.run.id, error: messageOf(error) }, 'the view of a question was not removed'),
    )
  }
}

const keyOf = <T>(request: AskRequest<T>, { name, model }: Chosen): string => {
  const version = request.promptVersion ?? createHash('sha256').update(request.prompt).digest('hex')
  return questionKey({
    ...{ purpose: request.purpose, version: `${questionForm} ${version}`, input: request.input },
    ...{ schema: schemaText(request.schema), harness: name, model: model ?? null },
  })
}

const answerOf = async <T>(runContext: AskContext, request: AskRequest<T>): Promise<[Answered<T>, string]> => {
  const { context, run } = runContext
  const chosen = choose(runContext, request)
  if ('ok' in chosen) return [notLaunched(chosen, request.model ?? null), request.harness ?? run.harness]
  const { name } = chosen
  const model = chosen.model ?? null
  const key = keyOf(request, chosen)
  const used = await endInterruptedQuestions(runContext, key)
  const raw = readCachedAnswer(context, key)
  const kept = raw === undefined ? undefined : request.schema.safeParse(raw)
  if (kept?.success === true) {
    const outcome = { ok: true, value: kept.data, raw } as const
    return [{ outcome, spent: noSpend, attempts: 0, model, cached: true, number: null }, name]
  }
  const refused = await refusal(runContext, name)
  if (refused !== undefined) return [notLaunched(refused, model), name]
  // The caller goes on: `stopped` would make a judge ask the same question again at once, without end.
  if (used >= request.attempts)
    return [notLaunched(failed('harness_failed', 'the engine ended each time it was asked'), model), name]
  const answered = await askAgent(runContext, request, { chosen, key, used })
  if (answered.outcome.ok) writeCachedAnswer(context, key, answered.outcome.raw, run.id)
  return [answered, name]
}

/** A person's cancel, a lost lease or the end of the engine gives `stopped`; the caller's run ends then, and stores nothing. */
export const ask = async <T>(runContext: AskContext, request: AskRequest<T>): Promise<AskResult<T>> => {
  const { clock } = runContext.context
  const began = clock.elapsed()
  if (isReleased(runContext)) return { ...failed('stopped', 'the run was stopped'), ms: 0, spend: noSpend, attempts: 0 }
  const [{ outcome, spent, attempts, model, cached, number }, harness] = await answerOf(runContext, request)
  const told = { ms: Math.round(clock.elapsed() - began), spend: spent, attempts }
  await recordQuestion(
    runContext,
    { ...told, purpose: request.purpose, harness, model, cached, number },
    outcome.ok ? { answer: JSON.stringify(outcome.raw) } : outcome,
  )
  if (!outcome.ok) return { ...outcome, ...told }
  return { ok: true, value: outcome.value, harness, model, cached, ...told }
}
