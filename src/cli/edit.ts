/** `unstuck edit`: shows a task as its next attempt will see it, or changes it and says what comes next. */
import type { EditRequest, Task, TaskView } from '../api/contract.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command.ts'
import { connectKnown } from './engine/connect.ts'
import { line, printJson, type Io } from './io.ts'
import { safe } from './render.ts'
import { userName } from './user-name.ts'

export interface EditOptions extends JsonOption {
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

/** As its next attempt will see it. */
const next = (task: TaskView): TaskView => ({ ...task, ...task.pendingEdit })

const pathsOf = (
  task: TaskView,
  { path, addPath, deny }: EditOptions,
): Pick<EditRequest, 'allowedPaths' | 'deniedPaths'> => ({
  ...(path.length + addPath.length === 0
    ? {}
    : { allowedPaths: [...new Set([...(path.length > 0 ? path : next(task).allowedPaths), ...addPath])] }),
  ...(deny === undefined ? {} : { deniedPaths: deny === false ? [] : deny }),
})

const fieldsOf = (task: TaskView, options: EditOptions): EditRequest => {
  const { title, text, check, harness, model } = options
  return {
    ...(title === undefined ? {} : { title }),
    ...(text === undefined ? {} : { instructions: text }),
    ...pathsOf(task, options),
    ...(check.length === 0 ? {} : { commands: check }),
    ...(harness === undefined ? {} : { harness }),
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

const show = (io: Io, task: TaskView, usage: string): void => {
  line(io, `${task.id} is ${task.place}`)
  if (task.pendingEdit !== null) line(io, 'an edit waits for the present attempt to end; shown is what comes after it')
  for (const [name, value] of valuesOf(next(task))) line(io, `  ${name.padEnd(9)}${safe(value)}`)
  line(io, `\n${usage.trimEnd()}`)
}

const retriable = new Set(['failed', 'blocked(awaiting_human)', 'blocked(quota_wait)'])

/** What the person has to do, or what happens by itself. */
const nextText = ({ id, place, pendingEdit }: Task): string => {
  if (place === 'queued') return 'it is in the queue; its next attempt begins with the new values'
  if (place === 'running') return 'its present attempt goes on as it began; the new values count from its next attempt'
  if (pendingEdit !== null)
    return 'its work is finished and waits to land; the new values count only if there is a next attempt'
  return `it is ${place}; to try it again now: unstuck retry ${id}`
}

const names: Record<string, string> = {
  instructions: 'text',
  allowedPaths: 'paths',
  deniedPaths: 'denied paths',
  commands: 'checks',
}

const kindOf = (id: string): void => {
  if (/^t-[a-z0-9]+$/.test(id)) return
  throw new AppError('USAGE', `"${id}" is no task (t-…); "unstuck tasks" lists them`)
}

export const edit = async (io: Io, id: string, options: EditOptions, usage: () => string): Promise<number> => {
  kindOf(id)
  const client = await connectKnown(io)
  const task = await client.get<TaskView>(`/tasks/${id}`)
  const fields = fieldsOf(task, options)
  const changed = Object.keys(fields)
  if (changed.length === 0) {
    if (options.why !== undefined || options.retry === true)
      throw new AppError('USAGE', '--why and --retry go with a change; "unstuck edit --help" lists what can be changed')
    if (options.json === true) printJson(io, task)
    else show(io, task, usage())
    return exitCodes.ok
  }
  const { why } = options
  const request = { ...fields, ...(why === undefined ? {} : { why }), by: userName() } satisfies EditRequest
  const edited = await client.patch<Task>(`/tasks/${id}`, request)
  const again = options.retry === true && retriable.has(edited.place)
  const now = again ? await client.post<Task>(`/tasks/${id}/retry`) : edited
  if (options.json === true) printJson(io, now)
  else {
    line(io, `${id} "${safe(edited.title)}": changed ${changed.map((name) => names[name] ?? name).join(', ')}`)
    line(io, nextText(now))
  }
  return exitCodes.ok
}
