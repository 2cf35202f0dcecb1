/** A person's message to an agent at work: it is interrupted, and continues its turn with the message. */
import { lastLaunch, type Run, type RunPhase } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { listRuns, lockRun, setMessage } from '../../store/run.ts'
import { keepHint } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { actorName, hintText } from '../core/person-text.ts'
import { taskNamed } from './commands.ts'
import { commandTransaction, movedOrThrow } from './lost-race.ts'

/** In every other phase its agent has ended. */
const withAgent: readonly RunPhase[] = ['prepare', 'launch', 'supervise']

const runAtWork = async (tx: Queryable, { id, status }: Task): Promise<Run> => {
  const [found] = status === 'running' ? await listRuns(tx, { taskId: id, state: 'running' }) : []
  const run = found === undefined ? undefined : await lockRun(tx, found.id)
  if (run?.state === 'running' && withAgent.includes(run.phase)) return run
  const why = run?.state === 'running' ? 'its agent has ended and its work is looked at' : `it is ${status}`
  throw new AppError(
    'ILLEGAL',
    `no agent of task ${id} is at work (${why}); for its next attempt: unstuck retry ${id} --hint "…"`,
  )
}

const joined = (before: string | null | undefined, text: string): string =>
  before === null || before === undefined || before === '' ? text : `${before}\n${text}`

/** The message is also a hint for later attempts, so that it outlives this one. */
export const tellAgent = async (
  context: Context,
  id: string,
  given: { message: string; by?: string },
): Promise<Task> => {
  const text = hintText(context, given.message)
  if (text === null) throw new AppError('INPUT_INVALID', 'the message is empty; say what the agent should know')
  const by = actorName(given.by)
  await commandTransaction(context, async (tx) => {
    const run = await runAtWork(tx, await taskNamed(tx, id))
    const task = await taskNamed(tx, id)
    movedOrThrow(await keepHint(tx, task, { hint: hintText(context, joined(task.hint, text)), by }))
    const launch = lastLaunch(run)?.number ?? 1
    await setMessage(tx, run, { text: joined(run.message?.text, text), launch })
    await appendEvent(tx, {
      type: 'run.message_sent',
      ...{ goalId: run.goalId, taskId: id, runId: run.id },
      payload: { text, by },
    })
  })
  context.wake()
  return taskNamed(context.db, id)
}
