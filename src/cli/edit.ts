/** The work of `unstuck edit`: shows a task as its next run will see it, or changes the task and says when that applies. */
import type { EditRequest, GrantList, Task, TaskView } from '../api/contract.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command-options.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { printLine, printJson, type Io } from './io.ts'
import { safe } from './render.ts'
import { whenText } from './times.ts'
import { userName } from './user-name.ts'
import { defined } from '../domain/defined.ts'

export interface EditCommandOptions extends JsonOption {
  title?: string
  text?: string
  path: string[]
  addPath: string[]
  /** False = `--no-deny`. */
  deny?: string[] | false
  check: string[]
  harness?: string
  model?: string
  why?: string
  retry?: boolean
}

/** The task as its next run will see it. */
const next = (task: TaskView): TaskView => ({ ...task, ...task.pendingEdit })

const pathsOf = (
  task: TaskView,
  { path, addPath, deny }: EditCommandOptions,
): Pick<EditRequest, 'allowedPaths' | 'deniedPaths'> => ({
  ...(path.length + addPath.length === 0
    ? {}
    : { allowedPaths: [...new Set([...(path.length > 0 ? path : next(task).allowedPaths), ...addPath])] }),
  ...(deny === undefined ? {} : { deniedPaths: deny === false ? [] : deny }),
})

const fieldsOf = (task: TaskView, options: EditCommandOptions): EditRequest => {
  const { title, text, check, harness, model } = options
  return {
    ...defined({ title, instructions: text }),
    ...pathsOf(task, options),
    ...(check.length === 0 ? {} : { commands: check }),
    ...defined({ harness }),
    ...(model === undefined ? {} : { model: model === '' ? null : model }),
  }
}

const valuesOf = (task: TaskView): [name: string, value: string][] => [
  ['title', task.title],
  ['text', task.instructions],
  ['paths', task.allowedPaths.join('  ')],
  ['denied', task.deniedPaths.join('  ')],
  ...task.commands.map((command): [string, string] => ['check', command]),
  ['harness', task.harness],
  ['model', task.model ?? ''],
  ['hint', task.hint ?? ''],
]

/** What the task may change in addition to its own paths. */
const grantedLines = (task: TaskView, { grants }: GrantList): [name: string, value: string][] =>
  grants
    .filter(({ scope, taskId }) => scope === 'task' && (taskId === task.id || taskId === task.rework?.parent))
    .map(({ path, grantedBy, why }) => ['granted', `${path} (by ${grantedBy}: ${why})`])

const show = (io: Io, task: TaskView, { grants, usage }: { grants: GrantList; usage: string }): void => {
  printLine(io, `${task.id} is ${task.status}`)
  if (task.pendingEdit !== null)
    printLine(io, 'an edit applies when the current run has ended; these are the values after the edit')
  const values = [...valuesOf(next(task)), ...grantedLines(task, grants)]
  for (const [name, value] of values) printLine(io, `  ${name.padEnd(9)}${safe(value)}`)
  printLine(io, `\n${usage.trimEnd()}`)
}

const retriable = new Set([
  'failed',
  'cancelled',
  'blocked(awaiting_human)',
  'blocked(quota_wait)',
  'blocked(needs_rework)',
])

/** Says when the edit applies, and what the person has to do for it. */
const nextText = ({ id, status, pendingEdit, retry }: Task): string => {
  if (status === 'queued') return 'the task is queued; its next run uses the new values'
  if (status === 'running') return 'the current run keeps the old values; the next run uses the new ones'
  if (pendingEdit !== null)
    return 'the work is finished and waits to be merged; the new values apply only if the task runs again'
  if (status === 'cancelled') return `the task was given up; to start it with the new values: unstuck retry ${id}`
  if (retry !== null)
    return `it starts with the new values ${retry.inSeconds === 0 ? 'now' : whenText(retry.at, new Date())}; to start it at once: unstuck retry ${id}`
  return `the task is ${status}; to try it again now: unstuck retry ${id}`
}

const names: Record<string, string> = {
  instructions: 'text',
  allowedPaths: 'paths',
  deniedPaths: 'denied paths',
  commands: 'checks',
}

const requireTaskId = (id: string): void => {
  if (/^t-[a-z0-9]+$/.test(id)) return
  throw new AppError('USAGE', `"${id}" is not the id of a task (t-…); "unstuck tasks" lists the tasks`)
}

export const editCommand = async (
  io: Io,
  id: string,
  options: EditCommandOptions,
  usage: () => string,
): Promise<number> => {
  requireTaskId(id)
  const client = await connectToExisting(io)
  const task = await client.get<TaskView>(`/tasks/${id}`)
  const fields = fieldsOf(task, options)
  const changed = Object.keys(fields)
  if (changed.length === 0) {
    if (options.why !== undefined || options.retry === true)
      throw new AppError('USAGE', '--why and --retry need a change; "unstuck edit --help" lists what can be changed')
    if (options.json === true) printJson(io, task)
    else show(io, task, { grants: await client.get<GrantList>('/grants'), usage: usage() })
    return exitCodes.ok
  }
  const { why } = options
  const request = { ...fields, ...defined({ why }), by: userName() } satisfies EditRequest
  const edited = await client.patch<Task>(`/tasks/${id}`, request)
  const again = options.retry === true && retriable.has(edited.status)
  const now = again ? await client.post<Task>(`/tasks/${id}/retry`) : edited
  if (options.json === true) printJson(io, now)
  else {
    printLine(io, `${id} "${safe(edited.title)}": changed ${changed.map((name) => names[name] ?? name).join(', ')}`)
    printLine(io, nextText(now))
  }
  return exitCodes.ok
}
