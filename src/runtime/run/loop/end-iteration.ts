/** The end of an iteration: the work lands, the next iteration begins, or a person is asked. */
import type { LoopState } from '../../../domain/loop.ts'
import {
  afterIteration,
  failing,
  gatesOf,
  iterationSignature,
  openText,
  repeats,
  type Gate,
  type IterationEnd,
} from '../../../recovery/loop/iteration.ts'
import type { Evidence } from '../../../recovery/evidence.ts'
import type { Queryable } from '../../../store/db.ts'
import { appendEvent } from '../../../store/event.ts'
import type { ChangeList } from '../../../workspace/repository-types.ts'
import { isReleased, saveProgress, stopSignal, type RunContext } from '../../core/run-context.ts'
import { recover } from '../carry-out.ts'
import type { PhaseResult } from '../phase.ts'
import { beginVerificationTime } from '../repair.ts'
import { gateFacts } from './gate-facts.ts'
import { startTurn } from './start-turn.ts'

/** Signatures that are kept; more than any threshold needs to be compared would only grow the row. */
const keptSignatures = 1000

const questionPollMs = 2_000

interface Ended {
  loop: LoopState
  gates: Gate[]
  end: IterationEnd
}

const judge = async (runContext: RunContext, before: LoopState, { tree }: ChangeList): Promise<Ended> => {
  const gates = gatesOf(await gateFacts(runContext, before, tree))
  const signatures = [...before.signatures, iterationSignature(before.tests, tree, gates)].slice(-keptSignatures)
  const loop = { ...before, signatures, open: openText(gates) }
  return { loop, gates, end: afterIteration(loop, gates, runContext.context.config().loop.stuck_threshold) }
}

/**
 * An open question is answered before the work lands or a person is asked something else. The next iteration waits for it only if nothing
 * else is open: there would be nothing to do in it.
 */
const waitsForAnswer = ({ gates, end }: Ended): boolean => {
  const open = failing(gates)
  return open.some(({ name }) => name === 'questions') && (end.kind !== 'next' || open.length === 1)
}

/** What the agents of the next iteration read: a repetition needs another way, not another try. */
const openFor = ({ open }: LoopState, repeated: number): string =>
  repeated < 2
    ? open
    : `${open}\nThe last ${repeated} iterations ended in exactly this way. Do not try the same again: choose another way.`

const evidenceOf = (loop: LoopState, threshold: number): Evidence => {
  const open = loop.open.replaceAll(/\n- /g, '; ').replace(/^- /, '')
  const repeated = repeats(loop.signatures)
  return threshold !== -1 && repeated >= threshold
    ? { kind: 'loopStuck', repeated, open }
    : { kind: 'loopLimit', iterations: loop.iteration, open }
}

/** The iteration is over and a person decides. Repeated after a crash between the two writes. */
export const askAboutLoop = (runContext: RunContext, loop: LoopState): Promise<PhaseResult> =>
  recover(runContext, evidenceOf(loop, runContext.context.config().loop.stuck_threshold))

const recorder =
  ({ run }: RunContext, { loop, gates, end }: Ended) =>
  (tx: Queryable): Promise<void> =>
    appendEvent(tx, {
      type: 'loop.iteration_ended',
      ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
      payload: {
        iteration: loop.iteration,
        limit: loop.limit,
        end: end.kind,
        gates,
        signature: loop.signatures.at(-1),
      },
    })

const store = async (runContext: RunContext, ended: Ended, progress: Parameters<typeof saveProgress>[1]) =>
  runContext.context.db.transaction(async (tx) => {
    await recorder(runContext, ended)(tx)
    await saveProgress(runContext, progress, tx)
  })

/** Promise and gates hold: the work takes the way of any task from here. */
const land = async (runContext: RunContext, ended: Ended, { tree }: ChangeList): Promise<PhaseResult> => {
  beginVerificationTime(runContext)
  await store(runContext, ended, { phase: 'verify', tree, loop: { ...ended.loop, stage: 'landing' } })
  return 'on'
}

const next = (runContext: RunContext, ended: Ended, { tree }: ChangeList, repeated: number): Promise<PhaseResult> => {
  const { loop } = ended
  const begun: LoopState = {
    ...{ ...loop, iteration: loop.iteration + 1, role: 'planner', before: tree, tests: null },
    open: openFor(loop, repeated),
  }
  return startTurn(runContext, begun, recorder(runContext, ended))
}

/** After the reviewer's turn. */
export const endIteration = async (
  runContext: RunContext,
  before: LoopState,
  found: ChangeList,
): Promise<PhaseResult> => {
  const { clock } = runContext.context
  let ended = await judge(runContext, before, found)
  while (waitsForAnswer(ended)) {
    await clock.wait(questionPollMs, stopSignal(runContext))
    if (isReleased(runContext)) return 'ended'
    ended = await judge(runContext, before, found)
  }
  const { end, loop } = ended
  if (end.kind === 'land') return land(runContext, ended, found)
  if (end.kind === 'next') return next(runContext, ended, found, end.repeated)
  await store(runContext, ended, { loop: { ...loop, stage: 'asked' } })
  return askAboutLoop(runContext, { ...loop, stage: 'asked' })
}
