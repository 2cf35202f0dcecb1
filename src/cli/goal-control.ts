/** The work of `approve`, `reject`, `retry`, `cancel`, `pause` and `resume`. */
import { isWork } from '../domain/task.ts'
import type { Escalation, Goal, GoalView, JudgeSwitch, Run, Task } from '../api/contract.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command-options.ts'
import type { Client } from './engine/client.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { printLine, printJson, type Io } from './io.ts'
import { safe } from './render.ts'
import { userName } from './user-name.ts'
import { readableTitle } from '../domain/task-title.ts'

/** The route for an id: goals are g-…, tasks t-…; throws USAGE for anything else. */
const kindOf = (id: string): 'goals' | 'tasks' => {
  if (/^g-[a-z0-9]+$/.test(id)) return 'goals'
  if (/^t-[a-z0-9]+$/.test(id)) return 'tasks'
  throw new AppError('USAGE', `"${id}" is not the id of a goal (g-…) or task (t-…); "unstuck status" shows the ids`)
}

const showChanged = (io: Io, changed: Goal | Task, options: JsonOption): void => {
  if (options.json === true) printJson(io, changed)
  else
    printLine(
      io,
      `${changed.id} "${safe(changed.title)}" is now ${'status' in changed ? changed.status : changed.state}`,
    )
}

interface Change extends JsonOption {
  verb: string
  body?: object
}

const change = async (io: Io, id: string, { verb, body, ...options }: Change): Promise<number> => {
  const kind = kindOf(id)
  const client = await connectToExisting(io)
  showChanged(io, await client.post<Goal | Task>(`/${kind}/${id}/${verb}`, body), options)
  return exitCodes.ok
}

export interface RetryCommandOptions extends JsonOption {
  hint?: string
}

/** The hint of a task that is not retried, because its attempt is queued or in work. */
const hintKept: Partial<Record<Task['status'], string>> = {
  queued: 'its next attempt reads your hint',
  running: 'the attempt in work goes on without your hint; a later one reads it (at once: unstuck tell)',
}

export const retryCommand = async (io: Io, id: string, options: RetryCommandOptions): Promise<number> => {
  const { hint } = options
  if (hint === undefined) return change(io, id, { verb: 'retry', ...options })
  if (kindOf(id) !== 'tasks')
    throw new AppError(
      'USAGE',
      `--hint applies to a task (t-…), and "${id}" is a goal; "unstuck tasks --goal ${id}" lists its tasks`,
    )
  const client = await connectToExisting(io)
  const { status } = await client.get<Task>(`/tasks/${id}`)
  const task = await client.post<Task>(`/tasks/${id}/retry`, { hint, by: userName() })
  const kept = hintKept[status]
  if (kept === undefined || options.json === true) showChanged(io, task, options)
  else printLine(io, `${task.id} "${safe(readableTitle(task.title))}" is ${task.status}: ${kept}`)
  return exitCodes.ok
}

const requireTask = (id: string, done: string): void => {
  if (kindOf(id) !== 'tasks')
    throw new AppError(
      'USAGE',
      `only a task (t-…) can be ${done}, and "${id}" is a goal; "unstuck tasks --goal ${id}" lists its tasks`,
    )
}

export const tellCommand = async (
  io: Io,
  id: string,
  { message, ...options }: JsonOption & { message: string },
): Promise<number> => {
  requireTask(id, 'told something')
  const client = await connectToExisting(io)
  const task = await client.post<Task>(`/tasks/${id}/tell`, { message, by: userName() })
  if (options.json === true) showChanged(io, task, options)
  else
    printLine(io, `The agent of ${task.id} "${safe(readableTitle(task.title))}" is told: it goes on with your words.`)
  return exitCodes.ok
}

export interface ApproveOptions extends JsonOption {
  commit?: string
}

/** The finished work that the task waits with. Undefined = it waits with none. */
const waitingWork = async (client: Client, id: string): Promise<Run | undefined> => {
  const questions = await client.all<Escalation>('/escalations?state=pending')
  const runId = questions.find(({ taskId }) => taskId === id)?.runId ?? null
  return runId === null ? undefined : client.get<Run>(`/runs/${runId}`)
}

const afterDecision: Partial<Record<Task['status'], string>> = {
  'blocked(awaiting_judge)': 'it is merged next',
  done: 'the task is done',
  'blocked(needs_rework)': 'a new task corrects it by your note',
  'blocked(awaiting_human)': 'no further correction is tried; "unstuck status" shows what you can do',
  queued: 'the task is retried with your note',
}

interface Decision extends ApproveOptions {
  verb: 'approve' | 'reject'
  note?: string
}

/** Without `--commit`, exactly the work is decided about that waits now; the line names it. */
const decide = async (io: Io, id: string, { verb, commit, json, ...body }: Decision): Promise<number> => {
  const client = await connectToExisting(io)
  const work = await waitingWork(client, id)
  const about = commit ?? work?.commit ?? null
  const task = await client.post<Task>(`/tasks/${id}/${verb}`, {
    ...{ by: userName(), ...body },
    ...(about === null ? {} : { commit: about }),
  })
  if (json === true) printJson(io, task)
  else {
    const what = work?.commit == null ? 'the work' : `commit ${work.commit.slice(0, 12)}`
    const done = verb === 'approve' ? 'Approved' : 'Rejected'
    const next = afterDecision[task.status] ?? `the task is ${task.status}`
    printLine(io, `${done} ${what} of ${task.id} "${safe(readableTitle(task.title))}"; ${next}.`)
  }
  return exitCodes.ok
}

export const approveCommand = (io: Io, id: string, options: ApproveOptions): Promise<number> => {
  requireTask(id, 'approved')
  return decide(io, id, { verb: 'approve', ...options })
}

export interface RejectOptions extends ApproveOptions {
  note: string
}

export const rejectCommand = (io: Io, id: string, options: RejectOptions): Promise<number> => {
  requireTask(id, 'rejected')
  return decide(io, id, { verb: 'reject', ...options })
}

/** A cancelled goal says where its finished work is, because nothing else will. */
export const cancelCommand = async (io: Io, id: string, options: JsonOption): Promise<number> => {
  const status = await change(io, id, { verb: 'cancel', ...options })
  if (kindOf(id) !== 'goals' || options.json === true) return status
  const { partCommand, tasks } = await (await connectToExisting(io)).get<GoalView>(`/goals/${id}`)
  const done = tasks.filter((task) => isWork(task) && task.status === 'done').length
  if (typeof partCommand === 'string')
    printLine(
      io,
      `${done === 1 ? '1 task of it is done; to land it' : `${done} tasks of it are done; to land them`}: ${partCommand}`,
    )
  return status
}

export interface JudgeOption extends JsonOption {
  judge?: true
}

const switchJudgeCommand = async (io: Io, id: string | undefined, { off, json }: JsonOption & { off: boolean }) => {
  if (id !== undefined)
    throw new AppError('USAGE', `--judge is about all goals; leave out "${id}", or leave out --judge to mean that goal`)
  const client = await connectToExisting(io)
  const judge = await client.post<JudgeSwitch>('/judge', { off, by: userName() })
  const { pendingJudgeTaskCount: count } = judge
  if (json === true) printJson(io, judge)
  else if (off)
    printLine(
      io,
      'the judge is off: no review begins and no verdict counts; what was approved is still merged. To switch it on: unstuck resume --judge',
    )
  else
    printLine(
      io,
      `the judge is on; ${count === 0 ? 'nothing waits for it' : count === 1 ? '1 task waits for it' : `${count} tasks wait for it`}`,
    )
  return exitCodes.ok
}

export const pauseCommand = async (io: Io, id: string | undefined, options: JudgeOption): Promise<number> => {
  if (options.judge === true) return switchJudgeCommand(io, id, { ...options, off: true })
  if (id === undefined)
    throw new AppError('USAGE', 'name the goal to pause (g-…; "unstuck status" shows the ids), or give --judge')
  if (kindOf(id) !== 'goals')
    throw new AppError(
      'USAGE',
      `only a goal (g-…) can be paused, and "${id}" is a task; to end the task: unstuck cancel ${id}`,
    )
  return change(io, id, { verb: 'pause', ...options })
}

export const resumeCommand = async (io: Io, id: string | undefined, options: JudgeOption): Promise<number> => {
  if (options.judge === true) return switchJudgeCommand(io, id, { ...options, off: false })
  if (id !== undefined && kindOf(id) !== 'goals')
    throw new AppError(
      'USAGE',
      `only a goal (g-…) can be resumed, and "${id}" is a task; to try the task again: unstuck retry ${id}`,
    )
  const client = await connectToExisting(io)
  // A mistake in the id starts no engine.
  if (id !== undefined) await client.get(`/goals/${id}`)
  for (const goal of await client.post<Goal[]>('/resume', { goal: id ?? null })) showChanged(io, goal, options)
  return exitCodes.ok
}
