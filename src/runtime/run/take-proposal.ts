/**
 * Reads the proposal that the agent of this run left, once. The file is of this run, because the launch removed an older one; what was
 * read is stored and then removed, and the same bytes never count again for the task.
 */
import { createHash } from 'node:crypto'
import type { Run } from '../../domain/run.ts'
import { needsNoAgent } from '../../domain/task.ts'
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { flagPattern } from '../../recovery/proposal/error-pattern.ts'
import { largestProposal, readProposal, type Proposal, type ReadProposal } from '../../recovery/proposal/proposal.ts'
import type { Queryable } from '../../store/db.ts'
import {
  appendProposed,
  appendResolved,
  executionsOf,
  insertProposal,
  proposalsOf,
  type NewProposal,
} from '../../store/recovery-proposal.ts'
import { requireLease } from '../../store/run.ts'
import { proposalFile } from '../agent/start-launch.ts'
import { evidenceNotes, problemOfProposal } from '../agent/proposal-problem.ts'
import { checkedTreeOf, type RunContext } from '../core/run-context.ts'

/** The check that failed, with the output that the pattern of the proposal is compared with. */
export interface ProposalSubject {
  command: string
  signature: string
  output: string
}

/** Everything that a failed check printed. */
export const outputOf = ({ stdout, stderr, spawnError = '' }: ObservedCheck): string =>
  `${stdout}\n${stderr}\n${spawnError}`

/** Of a loop its iteration, of any other task the number of the run. */
export const proposalIteration = ({ loop, number }: Pick<Run, 'loop' | 'number'>): number => loop?.iteration ?? number

/** Whether proposals are read at all. */
export const proposalsOn = ({ context, task }: Pick<RunContext, 'context' | 'task'>): boolean =>
  context.config().recovery?.enabled === true && !needsNoAgent(task)

/** A proposal counts after the checks that it is about have failed. In a loop that is after the tester has seen them fail. */
export const readsProposal = ({ loop }: Pick<Run, 'loop'>): boolean => loop === null || loop.stage === 'recovery'

interface FileRead {
  digest: string
  read: ReadProposal
}

const readFile = (runContext: RunContext): FileRead | undefined => {
  const bytes = runContext.context.ports.files.readOwnBytes(proposalFile(runContext), largestProposal)
  if (bytes === 'none') return undefined
  if ('refused' in bytes) {
    const digest = `${runContext.run.id}: ${bytes.refused}`
    return { digest, read: { ok: false, field: '', problem: `recovery.json: ${bytes.refused}` } }
  }
  return { digest: createHash('sha256').update(bytes).digest('hex'), read: readProposal(bytes) }
}

/**
 * Records why a proposal is not read, then removes it, so that neither a later run nor another role is charged with it. A crash in between
 * records it twice.
 */
export const dropUnread = async (
  runContext: RunContext,
  why: { by: string; method: string; note: string },
): Promise<void> => {
  const { context, run } = runContext
  if (readFile(runContext) === undefined) return
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await appendResolved(tx, { goalId: run.goalId, taskId: run.taskId, runId: run.id }, why)
  })
  context.ports.files.rmSync(proposalFile(runContext), { recursive: true, force: true })
}

/** The proposal that this run still has to decide about: read before, or kept over a wait or a lost run. */
const undecided = async (db: Queryable, { run }: RunContext): Promise<RecoveryProposal | undefined> =>
  (await proposalsOf(db, { taskId: run.taskId })).findLast(({ runId, state }) => runId === run.id && state === 'open')

/** Every text in the value without secrets. An agent quotes what it read; its commands are refused for a secret instead. */
const withoutSecrets = <T>({ ports, environment }: RunContext['context'], value: T): T => {
  const clean = (_key: string, each: unknown): unknown =>
    typeof each === 'string' ? ports.processes.redactText(each, environment) : each
  return JSON.parse(JSON.stringify(value, clean)) as T
}

/** Stores a proposal of this run, with its event. Undefined = the task has had the same one before. */
export const storeProposal = (
  { context, run }: RunContext,
  given: Omit<NewProposal, 'id' | 'goalId' | 'taskId' | 'runId' | 'iteration'>,
): Promise<RecoveryProposal | undefined> =>
  context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    const { goalId, taskId, id: runId } = run
    const about = { id: context.newId('p'), goalId, taskId, runId, iteration: proposalIteration(run) }
    const told = withoutSecrets(context, { body: given.body, problem: given.problem, flag: given.flag })
    const stored = await insertProposal(tx, { ...about, ...given, ...told })
    const body = told.body as Proposal | null
    if (stored !== undefined && body !== null)
      await appendProposed(tx, stored, { category: body.category, ...body.recovery })
    return stored
  })

const store = (
  runContext: RunContext,
  { digest, read }: FileRead,
  { command, signature, output }: ProposalSubject,
): Promise<RecoveryProposal | undefined> => {
  const proposal = read.ok ? read.proposal : null
  const flag = proposal === null ? undefined : flagPattern(proposal.diagnosis.error_pattern, output)
  const ignored = read.ok ? read.ignored.map((field) => `the field ${field} is not known and was ignored`) : []
  const places = [checkedTreeOf(runContext), runContext.paths.agentDir]
  const evidence = proposal === null ? [] : evidenceNotes(runContext.context, proposal.diagnosis.evidence, places)
  return storeProposal(runContext, {
    ...{ notes: [...ignored, ...evidence] },
    ...{ digest, source: 'agent', body: proposal, offsetStated: read.ok ? read.offset : null },
    problem: read.ok ? null : { field: read.field, problem: read.problem },
    flag: flag ?? null,
    failing: { command, signature },
  })
}

/** The proposal to decide about after this failed check; undefined = there is none. */
export const takeProposal = async (
  runContext: RunContext,
  subject: ProposalSubject,
): Promise<RecoveryProposal | undefined> => {
  const { context, run } = runContext
  const found = readFile(runContext)
  if (found !== undefined) {
    const problem = found.read.ok
      ? await problemOfProposal(context, found.read.proposal, checkedTreeOf(runContext))
      : undefined
    const stored = await store(runContext, { ...found, read: problem ?? found.read }, subject)
    // Stored before it is removed, so that a crash in between reads it again and finds the same bytes.
    context.ports.files.rmSync(proposalFile(runContext), { recursive: true, force: true })
    if (stored === undefined) context.log.info({ run: run.id }, 'the proposal was read before and is ignored')
  }
  return undecided(context.db, runContext)
}

/** The commands of a proposal that ran, by step. */
export const stepsRun = async (db: Queryable, { id }: RecoveryProposal): Promise<Set<string>> =>
  new Set((await executionsOf(db, { proposalId: id })).map(({ step }) => step))
