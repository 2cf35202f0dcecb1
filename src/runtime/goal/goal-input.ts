/**
 * Turns the input of `unstuck run` (a sentence, a Markdown checklist or a JSON task file) into one goal with tasks.
 * The result always has at least one task, unique ids, `after` entries that name tasks of the goal, no cycle, and
 * paths inside the repository. Any other input fails with `INPUT_INVALID` before anything is stored.
 */
import { strictestMode, type JudgeMode } from '../../domain/judgement.ts'
import type { TaskKind } from '../../domain/task.ts'
import type { ReviewSubject } from '../../domain/task-review.ts'
import { AppError } from '../../errors.ts'
import { planCheck } from '../../recovery/command/plan-check.ts'
import { nearestWord, valueText } from '../../validation.ts'
import { dedented, readChecklist } from './checklist.ts'
import type { ChecklistItem, Checklist } from './checklist.ts'
import { readTaskFile } from './task-file.ts'
import type { TaskRole, TaskFileTask } from './task-file.ts'
import { defined } from '../../domain/defined.ts'

export { taskFileSchema } from './task-file.ts'
export type { TaskRole } from './task-file.ts'

export interface TaskInput {
  /** Unique in the goal and used in `after` of other tasks. The store assigns its own ids. */
  id: string
  title: string
  instructions: string
  /** Path rules as text; `['**']` by default. */
  allowedPaths: string[]
  deniedPaths: string[]
  /** As written; empty = inferred from the repository. */
  commands: string[]
  after: string[]
  priority: number
  role: TaskRole
  harness?: string
  model?: string
  targetArea?: string
  /** Files that the task is about. */
  contextFiles?: string[]
  /** Absent = `code`. */
  kind?: TaskKind
  /** Absent = as the goal and the owner say. */
  judge?: JudgeMode
  /** Of a task of role `judge`. */
  review?: ReviewSubject
  /** What has to be linked before the task may start. */
  link?: string
}

export interface GoalInput {
  title: string
  /** The complete input of the user. */
  requirement: string
  tasks: TaskInput[]
  allowedDirs: string[]
  /** Problems that do not prevent the start. */
  warnings: string[]
}

const maxBytes = 1024 * 1024

const invalid = (source: string, problem: string): AppError => new AppError('INPUT_INVALID', `${source}: ${problem}`)

const shortTitle = (text: string): string => {
  const [first = ''] = text.trim().split('\n')
  const plain = first.replaceAll(/\p{Cc}/gu, ' ').trim()
  if (plain.length <= 72) return plain
  const cut = plain.slice(0, 72)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), 40)).trimEnd()}…`
}

const newTask = (id: string, title: string, instructions: string): TaskInput => ({
  id,
  title,
  instructions,
  allowedPaths: ['**'],
  deniedPaths: [],
  commands: [],
  after: [],
  priority: 0,
  role: 'worker',
})

const warningsOf = (tasks: readonly TaskInput[]): string[] =>
  tasks.flatMap((task) =>
    task.commands.flatMap((command) => {
      const plan = planCheck(command)
      if (plan.ok) return []
      return [
        `task ${task.id}: the check ${valueText(command)} cannot be run without a shell (${valueText(plan.piece)}: ${plan.reason}); it will fail with ${plan.code}. Put it into a script and name the script instead`,
      ]
    }),
  )

/** The ids of the first cycle found; the first id is repeated at the end. */
const cycleIn = (tasks: readonly TaskInput[]): string[] | undefined => {
  const after = new Map(tasks.map((task) => [task.id, task.after]))
  const finished = new Set<string>()
  for (const { id } of tasks) {
    const path: { id: string; next: number }[] = [{ id, next: 0 }]
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = finished.has(top.id) ? undefined : after.get(top.id)?.[top.next]
      top.next += 1
      if (next === undefined) {
        finished.add(top.id)
        path.pop()
        continue
      }
      const start = path.findIndex((step) => step.id === next)
      if (start !== -1) return [...path.slice(start).map((step) => step.id), next]
      path.push({ id: next, next: 0 })
    }
  }
  return undefined
}

const finish = (source: string, goal: Omit<GoalInput, 'warnings'>): GoalInput => {
  const cycle = cycleIn(goal.tasks)
  if (cycle !== undefined) {
    throw invalid(
      source,
      `the tasks depend on each other in a circle: ${cycle.join(' after ')}. Remove one of these "after"`,
    )
  }
  return { ...goal, warnings: warningsOf(goal.tasks) }
}

const checkText = (source: string, text: string): void => {
  if (text.includes('\0')) throw invalid(source, 'the text contains a NUL byte; remove it, or use a text file')
  if (Buffer.byteLength(text) > maxBytes)
    throw invalid(source, 'the text is larger than 1 MiB; split it into several goals')
  if (text.trim() === '') throw invalid(source, 'the text is empty; describe what has to be done')
}

/** A sentence makes one task. */
export const goalFromSentence = (text: string): GoalInput => {
  checkText('the goal', text)
  const requirement = text.trim()
  const title = shortTitle(requirement)
  return { title, requirement, tasks: [newTask('1', title, requirement)], allowedDirs: [], warnings: [] }
}

/**
 * Resolves "after:", which lists numbers or titles. The whole text is tried as a title first, because a title may
 * contain commas. Ticked boxes are done and need no wait.
 */
const resolveAfter = (name: string, list: Checklist, wanted: ChecklistItem['after'][number]): string[] => {
  const find = (text: string): ChecklistItem | undefined =>
    /^#?\d+$/.test(text)
      ? list.boxes[Number(text.replace('#', '')) - 1]
      : list.boxes.find((box) => box.title.toLowerCase() === text.toLowerCase())
  const whole = find(wanted.text)
  const found =
    whole === undefined
      ? wanted.text.split(',').map((part) => ({ part: part.trim(), box: find(part.trim()) }))
      : [{ part: '', box: whole }]
  return found.flatMap(({ part, box }) => {
    if (box !== undefined) return box.ticked ? [] : [String(box.number)]
    const guess = nearestWord(
      part,
      list.boxes.map(({ title }) => title),
    )
    const advice =
      guess === undefined
        ? `allowed: a number from 1 to ${list.boxes.length} or the title of a box`
        : `Did you mean "${guess}"?`
    throw invalid(`${name}:${wanted.line}`, `after ${valueText(part)}: no task has this number or title. ${advice}`)
  })
}

const taskOfBox = (name: string, list: Checklist, box: ChecklistItem): TaskInput => {
  const text = dedented(box.text)
  return {
    ...newTask(String(box.number), box.title, text === '' ? box.title : `${box.title}\n\n${text}`),
    ...(box.paths.length > 0 ? { allowedPaths: box.paths } : {}),
    ...defined({ harness: box.harness, role: box.role }),
    deniedPaths: box.denied,
    commands: box.run,
    after: [...new Set(box.after.flatMap((wanted) => resolveAfter(name, list, wanted)))],
  }
}

const checkTitles = (name: string, boxes: readonly ChecklistItem[]): void => {
  const seen = new Map<string, ChecklistItem>()
  for (const box of boxes) {
    const first = seen.get(box.title.toLowerCase())
    if (first !== undefined)
      throw invalid(
        `${name}:${box.line}`,
        `the title ${valueText(box.title)} is used on line ${first.line} already; give each task its own title`,
      )
    seen.set(box.title.toLowerCase(), box)
  }
}

/** One task per unticked box. `name` is the file as the user wrote it, for error messages. */
export const goalFromChecklist = (name: string, text: string): GoalInput => {
  checkText(name, text)
  const list = readChecklist(name, text)
  if (list.boxes.length === 0) throw invalid(name, 'the checklist has no tasks; write each one as "- [ ] Title"')
  const open = list.boxes.filter((box) => !box.ticked)
  if (open.length === 0)
    throw invalid(name, `all ${list.boxes.length} boxes are ticked, so nothing is left to do; untick a box or add one`)
  checkTitles(name, list.boxes)
  const tasks = open.map((box) => taskOfBox(name, list, box))
  const file = name.split('/').pop() ?? name
  return finish(name, {
    title: shortTitle(list.heading ?? file.replace(/\.[^.]+$/, '')),
    requirement: text.trim(),
    tasks,
    allowedDirs: [],
  })
}

const taskOfFile = (written: TaskFileTask, index: number): TaskInput => {
  const { id = String(index + 1), ...rest } = written
  const role = written.review === undefined ? {} : { role: 'judge' as const }
  return {
    ...newTask(id, written.title, written.instructions),
    ...role,
    ...rest,
    after: [...new Set(written.after ?? [])],
  }
}

const checkIds = (name: string, tasks: readonly TaskInput[]): void => {
  const positions = new Map<string, number>()
  for (const [index, { id }] of tasks.entries()) {
    const first = positions.get(id)
    if (first !== undefined)
      throw invalid(
        name,
        `tasks[${index}].id is ${valueText(id)}, the same as tasks[${first}].id (the default id is the position of the task); give each task its own id`,
      )
    positions.set(id, index)
  }
  for (const [index, task] of tasks.entries()) {
    const at = task.after.findIndex((id) => !positions.has(id))
    const unknown = task.after[at]
    if (unknown === undefined) continue
    const guess = nearestWord(unknown, [...positions.keys()])
    const advice =
      guess === undefined ? `Known ids: ${[...positions.keys()].slice(0, 20).join(', ')}` : `Did you mean "${guess}"?`
    throw invalid(name, `tasks[${index}].after[${at}] is ${valueText(unknown)}: no task has this id. ${advice}`)
  }
}

/** One task per entry of the JSON file. `name` is the file as the user wrote it, for error messages. */
export const goalFromTaskFile = (name: string, text: string): GoalInput => {
  checkText(name, text)
  const written = readTaskFile(name, text)
  const kind: TaskKind | undefined = written.strategy === 'loop' ? 'loop' : undefined
  const ofGoal = (task: TaskFileTask): TaskFileTask => ({
    ...defined({ kind }),
    ...task,
    ...(written.judge === undefined ? {} : { judge: strictestMode([written.judge, task.judge ?? null]) }),
  })
  const tasks = written.tasks.map((task, index) => taskOfFile(ofGoal(task), index))
  checkIds(name, tasks)
  return finish(name, {
    title: shortTitle(written.goal),
    requirement: written.goal.trim(),
    tasks,
    allowedDirs: written.allowedDirs ?? [],
  })
}

/** Reads a regular file; undefined = there is no such file. */
export type ReadInput = (path: string) => Uint8Array | undefined

const decode = (name: string, bytes: Uint8Array): string => {
  if (bytes.byteLength > maxBytes) throw invalid(name, 'the file is larger than 1 MiB; split it into several goals')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid(name, 'the file is not UTF-8 text; save it as UTF-8') // the decoder's message has no more details
  }
}

/** Reads the argument of `unstuck run`: the name of a .md or .json file, else a sentence. */
export const readGoal = (argument: string, read: ReadInput): GoalInput => {
  if (argument.trim() === '' || argument.includes('\0')) return goalFromSentence(argument)
  const kind = /\.(md|markdown|json)$/i.exec(argument)?.[1]?.toLowerCase()
  const isName = !/\s/.test(argument)
  const bytes = kind !== undefined || isName ? read(argument) : undefined
  if (bytes === undefined) {
    if (kind !== undefined && isName)
      throw invalid(argument, 'the file does not exist; check its name, or write the goal as a sentence')
    return goalFromSentence(argument)
  }
  if (kind === undefined)
    throw invalid(
      argument,
      'this file is neither a checklist (.md) nor a task file (.json); rename it, or write the goal as a sentence',
    )
  return kind === 'json'
    ? goalFromTaskFile(argument, decode(argument, bytes))
    : goalFromChecklist(argument, decode(argument, bytes))
}
