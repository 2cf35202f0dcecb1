/** `unstuck tasks`: lists all tasks, or those of a goal. */
import type { StatusView, TaskView } from '../../api/contract.ts'
import { taskStates, type TaskState } from '../../domain/task.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'
import { printLine, printJson, type Io } from '../io.ts'
import { createPaint, noEngineLines, taskLine } from '../render.ts'
import { durationText, whenText } from '../times.ts'

interface TasksOptions extends JsonOption {
  goal?: string
  state?: string
}

/** When the newest run of a task started, and how long it took. */
const attemptText = ({ run }: TaskView, now: string): string => {
  if (run === null) return ''
  const seconds = (Date.parse(run.endedAt ?? now) - Date.parse(run.startedAt)) / 1000
  return ` ${whenText(run.startedAt, now)}, ${run.endedAt === null ? 'for' : 'took'} ${durationText(seconds)}`
}

const statesOf = (text: string): TaskState[] => {
  const states = text.split(',').map((name) => taskStates.find((state) => state === name))
  if (states.every((state) => state !== undefined)) return states
  throw new AppError('USAGE', `--state "${text}": give states separated by commas: ${taskStates.join(', ')}`)
}

const tasks = async (io: Io, options: TasksOptions): Promise<number> => {
  const { readOnly } = await import('../engine/read-only.ts')
  const { endedShown } = await import('../../domain/goal.ts')
  const { view, isEngineGone } = await readOnly(io, async ({ client, isEngineGone }) => ({
    ...{ view: await client.get<StatusView>(`/status?ended=${endedShown.most}`), isEngineGone },
  }))
  const goals = view.goals.filter((goal) => options.goal === undefined || goal.id === options.goal)
  if (options.goal !== undefined && goals.length === 0)
    throw new AppError('NOT_FOUND', `there is no goal ${options.goal}; "unstuck status" lists them`)
  const wanted = options.state === undefined ? undefined : statesOf(options.state)
  const found = goals.flatMap((goal) => goal.tasks).filter(({ state }) => wanted?.includes(state) ?? true)
  if (options.json === true) {
    printJson(io, found)
    return exitCodes.ok
  }
  const paint = createPaint(io.colours)
  const lines = found.map((task) =>
    taskLine(paint, task, view.at, { attempt: attemptText(task, view.at), isEngineGone }),
  )
  for (const text of [...lines, ...(isEngineGone ? noEngineLines(paint, { goals }) : [])]) printLine(io, text)
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('tasks')
    .description('list tasks, those of the newest goal first')
    .option('--goal <id>', 'show only tasks of this goal')
    .option('--state <states>', `show only tasks in these states, separated by commas: ${taskStates.join(', ')}`)
    .option(...jsonOption)
    .action((options: TasksOptions) => act((io) => tasks(io, options)))
}
