/**
 * What is kept of questions: a folder each, an event each, and their spend in the run's. The event and the spend are written in one
 * transaction. A folder without its event is of a question that a crash interrupted: its processes are ended, and what it had spent
 * is counted once.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { addSpend, noSpend, type Spend } from '../../domain/budget.ts'
import type { Transcript } from '../../harness/driver.ts'
import { appendEvent, readEvents } from '../../store/event.ts'
import { readIfFile } from '../core/files.ts'
import { harnessNamed } from '../harness/harness-choice.ts'
import { storeSpend, type AskContext } from './ask-context.ts'
import { questionSpend } from './ask-launch.ts'

/** Written before the first launch. */
const startedSchema = z.object({
  key: z.string(),
  purpose: z.string(),
  harness: z.string(),
  model: z.string().nullable(),
})
export type StartedQuestion = z.output<typeof startedSchema>

const asksOf = ({ paths }: AskContext): string => join(paths.root, 'asks')
const folderOf = (runContext: AskContext, number: number): string => join(asksOf(runContext), String(number))

const numbersIn = ({ context }: AskContext, folder: string): number[] => {
  const { files } = context.ports
  const names = files.existsSync(folder) ? files.readdirSync(folder) : []
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .toSorted((a, b) => a - b)
}

export const beginQuestion = (runContext: AskContext, started: StartedQuestion): { number: number; folder: string } => {
  const { files } = runContext.context.ports
  const number = (numbersIn(runContext, asksOf(runContext)).at(-1) ?? 0) + 1
  const folder = folderOf(runContext, number)
  files.mkdirSync(folder, { recursive: true, mode: 0o700 })
  files.writeFileSync(join(folder, 'question.json'), JSON.stringify(started), { mode: 0o600 })
  return { number, folder }
}

export interface QuestionOutcome {
  purpose: string
  harness: string
  model: string | null
  ms: number
  spend: Spend
  cached: boolean
  attempts: number
  /** Of the question's folder; null where nothing was launched. */
  number: number | null
}

const payloadOf = ({ spend, number, ...outcome }: QuestionOutcome): Record<string, unknown> => ({
  ...outcome,
  tokens: spend.tokens,
  costUsd: spend.costUsd,
  ...(number === null ? {} : { ask: number }),
})

/** `interrupted`: launches of a question that a crash interrupted. They are counted for the rest of the run. */
const markDone = (runContext: AskContext, number: number | null, interrupted = 0): void => {
  if (number === null) return
  const { files } = runContext.context.ports
  files.writeFileSync(join(folderOf(runContext, number), 'done'), String(interrupted), { mode: 0o600 })
}

/** Another engine may own the run, or this one may write nothing more. After a person's cancel the lease is still held. */
const mayWrite = ({ context, abort }: AskContext): boolean =>
  !context.stopping.aborted && (!abort.signal.aborted || abort.signal.reason === 'cancelled')

/** The longest text of an answer or a failure in an event. */
const longestText = 600

/** Stores the event and the spend. `said`: the answer, or why there is none. */
export const recordQuestion = async (
  runContext: AskContext,
  outcome: QuestionOutcome,
  said: { answer: string } | { reason: string; detail: string; interrupted?: true },
): Promise<void> => {
  if (!mayWrite(runContext)) return
  const { context, run } = runContext
  const clean = (text: string): string =>
    context.ports.processes.redactText(text, context.environment).slice(0, longestText)
  const ids = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  const payload = payloadOf(outcome)
  await context.db.transaction(async (tx) => {
    await storeSpend(runContext, tx, outcome.spend)
    if ('answer' in said)
      await appendEvent(tx, { type: 'ask.answered', ...ids, payload: { ...payload, answer: clean(said.answer) } })
    else {
      const { reason, detail } = said
      await appendEvent(tx, { type: 'ask.failed', ...ids, payload: { ...payload, reason, detail: clean(detail) } })
    }
  })
  markDone(runContext, outcome.number, 'interrupted' in said ? outcome.attempts : 0)
}

/** What a launch had printed, to its end. */
const transcriptOf = (runContext: AskContext, dir: string, harness: string): Transcript => {
  const { driver } = harnessNamed(runContext.context.config(), harness)
  let reading = driver.emptyTranscript()
  for (let offset = 0; ;) {
    const { lines, nextOffset } = runContext.context.ports.processes.readSegments(dir, 'stdout', offset)
    if (lines.length === 0) return reading
    for (const line of lines) reading = driver.read(reading, 'stdout', line).transcript
    offset = nextOffset
  }
}

/** Ends a launch that a crash left running, and returns what it spent; undefined = its agent never ran. */
const endLaunch = async (runContext: AskContext, dir: string, harness: string): Promise<Spend | undefined> => {
  const { files, processes } = runContext.context.ports
  const state = processes.launchState(dir)
  const view = join(dir, '..', 'view')
  if (state.state === 'at-gate' || state.state === 'running') processes.requestStop(state.shim, 'abandoned')
  const ended = await processes.waitForExit(dir, { deadlineMs: 60_000 })
  if (ended.state === 'lost' && ended.shim !== undefined)
    await processes.sweep(runContext.run.id, { shims: [ended.shim.identity], folder: view })
  if (!files.existsSync(join(dir, 'gate'))) return undefined
  return questionSpend(transcriptOf(runContext, dir, harness), ended.state === 'ended' ? ended.exit.durationMs : 0)
}

const startedIn = (runContext: AskContext, folder: string): StartedQuestion | undefined => {
  try {
    const text = readIfFile(runContext.context.ports.files, join(folder, 'question.json'))
    return startedSchema.parse(JSON.parse(text ?? ''))
  } catch {
    return undefined // the crash came before the file was complete, so nothing was launched
  }
}

const isRecorded = async ({ context, run }: AskContext, number: number): Promise<boolean> => {
  const events = await readEvents(context.db, { after: 0, limit: 10_000, runId: run.id })
  return events.some(({ type, payload }) => type.startsWith('ask.') && payload['ask'] === number)
}

const endQuestion = async (runContext: AskContext, number: number, started: StartedQuestion): Promise<void> => {
  const folder = folderOf(runContext, number)
  const { key: _key, ...question } = started
  const spends: Spend[] = []
  for (const launch of numbersIn(runContext, folder)) {
    const spend = await endLaunch(runContext, join(folder, String(launch)), question.harness)
    if (spend !== undefined) spends.push(spend)
  }
  await runContext.context.ports.git.removeWorkspace(join(folder, 'view'))
  if (await isRecorded(runContext, number)) return markDone(runContext, number)
  const spend = spends.reduce((sum, each) => addSpend(sum, each), noSpend)
  const outcome = { ...question, ms: spend.seconds * 1000, spend, cached: false, attempts: spends.length, number }
  const detail = 'the engine ended while it was asked'
  await recordQuestion(runContext, outcome, { reason: 'stopped', detail, interrupted: true })
}

/**
 * Ends what a crash left of earlier questions of this run; no agent of the run may start before. Returns how many launches of the
 * question with this key were interrupted.
 */
export const endInterruptedQuestions = async (runContext: AskContext, key?: string): Promise<number> => {
  const { files } = runContext.context.ports
  let launches = 0
  for (const number of numbersIn(runContext, asksOf(runContext))) {
    const folder = folderOf(runContext, number)
    const started = startedIn(runContext, folder)
    const done = join(folder, 'done')
    if (started !== undefined && !files.existsSync(done)) await endQuestion(runContext, number, started)
    if (started !== undefined && started.key === key) launches += Number(readIfFile(files, done) ?? 0)
  }
  return launches
}
