/** A person's message to an agent at work: it is interrupted, and continues its turn with the message. */
import { lastLaunch, type Run, type RunPhase } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { setHint } from '../../store/hint.ts'
import { listRuns, lockRun, setMessage } from '../../store/run.ts'
import type { Context } from '../core/context.ts'
import { actorName, hintText } from '../core/person-text.ts'
import { taskNamed } from './commands.ts'
import { commandTransaction } from './lost-race.ts'

/** In every other phase its agent has ended. */
const withAgent: readonly RunPhase[] = ['prepare', 'launch', 'supervise']

const refusal = ({ id, status, plan }: Task, run: Run | undefined): string => {
  if (status === 'done') return `task ${id} is done; what has to change now is a goal of its own: unstuck run "…"`
  const why = run === undefined ? `it is ${status}` : 'its agent has ended, and its work is looked at'
  return plan === null
    ? `no agent of task ${id} is at work (${why}); for its next attempt: unstuck retry ${id} --hint "…"`
    : `task ${id} is planned by an agent that is asked once; "unstuck edit" changes the tasks that come of it`
}

/** The run, locked: its turn does not end before the message is stored. */
const runAtWork = async (tx: Queryable, task: Task): Promise<Run> => {
  const [found] = task.status === 'running' ? await listRuns(tx, { taskId: task.id, state: 'running' }) : []
  const run = found === undefined ? undefined : await lockRun(tx, found.id)
  if (run?.state === 'running' && withAgent.includes(run.phase) && task.plan === null) return run
  throw new AppError('ILLEGAL', refusal(task, run))
}

const joined = (before: string | null | undefined, text: string): string =>
  [before ?? '', text].filter((part) => part !== '').join('\n')

/** The message is also a hint for later attempts, so that it outlives this one. */
export const tellAgent = async (
  context: Context,
  id: string,
  given: { message: string; by?: string },
): Promise<Task> => {
  const text = hintText(context, given.message, 'message')
  if (text === null) throw new AppError('INPUT_INVALID', 'the message is empty; say what the agent should know')
  const by = actorName(given.by)
  await commandTransaction(context, async (tx) => {
    const run = await runAtWork(tx, await taskNamed(tx, id))
    const { hint } = await taskNamed(tx, id)
    await setHint(tx, id, hintText(context, joined(hint, text), `hint of task ${id} together with this message`))
    // Before its first launch the hint is enough: the agent reads it when it starts.
    const launch = lastLaunch(run)?.number
    if (launch !== undefined) await setMessage(tx, run, { text: joined(run.message?.text, text), launch })
    await appendEvent(tx, {
      type: 'run.message_sent',
      ...{ goalId: run.goalId, taskId: id, runId: run.id },
      payload: { text, by },
    })
  })
  context.wake()
  return taskNamed(context.db, id)
}
