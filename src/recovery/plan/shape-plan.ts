/**
 * Turns a planner's answer into tasks that can be done: paths and commands that the base commit lacks are left out, circles are cut, and
 * tasks that write the same files wait for each other. Each correction is a note for people. A plan is never refused here: a task that
 * lost its paths may change what the goal may. A planner adds checks and never removes one, and never allows more than the person did. Pure.
 */
import { areasOf, overlapOf } from '../../domain/area.ts'
import type { Role } from '../../domain/task.ts'
import { applyHints, type MatchedHint, type PathHint } from '../policy/hints.ts'
import { parsePathRule, pathMatcher } from '../policy/path-rule.ts'
import type { PolicyRecovery } from '../policy/recovery-policy.ts'
import { secretRuleFor } from '../policy/secrets.ts'
import type { PlanAnswer } from './plan-question.ts'

type Answered = PlanAnswer['tasks'][number]

export interface PlannedTask {
  title: string
  instructions: string
  /** What the goal needs the task for. */
  purpose: string
  role: Extract<Role, 'worker' | 'tester' | 'docser'>
  allowedPaths: string[]
  contextFiles: string[]
  /** All checks of the task. Empty = those of the goal. */
  commands: string[]
  /** Positions of earlier tasks in the plan, from 0. */
  after: number[]
  risk: Answered['risk']
  size: Answered['size']
}

/** The paths that a task got from earlier recoveries, in the words of the founding document. */
export interface HintApplication {
  /** Position of the task in the plan, from 0. */
  taskIndex: number
  title: string
  role: Role
  addedAllowedPaths: string[]
  matchedHints: MatchedHint[]
}

export interface Plan {
  tasks: PlannedTask[]
  notes: string[]
  hints: HintApplication[]
}

export interface PlanFacts {
  /** All files of the base commit. */
  files: readonly string[]
  /** What the person who wrote the goal allows. */
  allowedPaths: readonly string[]
  deniedPaths: readonly string[]
  /** The checks of the goal. */
  checks: readonly string[]
  /** Why a command cannot judge work on the base commit; a command that is not in it can. */
  refusedCommands: ReadonlyMap<string, string>
  hints: readonly PathHint[]
  policy: PolicyRecovery
}

/** What a documentation task may change. */
const documentPaths = ['docs/**', 'ops/**', 'README.md']

const folderOf = (path: string): string => path.split('/').slice(0, -1).join('/')

const foldersOf = (files: readonly string[]): Set<string> => {
  const folders = new Set<string>([''])
  for (const file of files)
    for (let folder = folderOf(file); !folders.has(folder); folder = folderOf(folder)) folders.add(folder)
  return folders
}

/** The segments of a rule before its first wildcard. */
const fixedParts = (rule: string): string[] => {
  const parts = rule.split('/').filter((part) => part !== '' && part !== '.')
  const wild = parts.findIndex((part) => /[*?{]/.test(part))
  return wild === -1 ? parts : parts.slice(0, wild)
}

interface Base {
  files: ReadonlySet<string>
  folders: ReadonlySet<string>
}

/** Why a task may not have a path; undefined = it may. What is new belongs into a folder of the base commit, or is one new name at its top. */
const whyNotPath = (text: string, base: Base): string | undefined => {
  const parsed = parsePathRule(text)
  if (!parsed.ok) return parsed.reason
  if (secretRuleFor(text) !== undefined) return 'secrets never land'
  const parts = fixedParts(text)
  const [top = ''] = parts
  const isThere = base.folders.has(top) || (parts.length === 1 && base.files.has(top))
  return isThere || parts.length <= 1 ? undefined : `the base commit has no folder ${top}`
}

const covers = (rules: readonly string[], path: string): boolean =>
  rules.some((text) => {
    const parsed = parsePathRule(text)
    return parsed.ok && pathMatcher(parsed.rule)(path)
  })

const named = (paths: readonly string[]): string => paths.map((path) => JSON.stringify(path)).join(', ')

/** Files of the base commit that the text of a task names. */
const filesNamedIn = ({ title, instructions }: Answered, { files }: Base): string[] => {
  const words = new Set(`${title}\n${instructions}`.match(/[\w@.()[\]-]+(?:\/[\w@.()[\]-]+)*/g) ?? [])
  return [...words].map((word) => word.replace(/[.),:;]+$/, '')).filter((word) => files.has(word))
}

/** Paths that a person wrote hold for each task of the goal: whether a planner's rule lies within them is not compared. */
const isNarrowed = ({ allowedPaths }: PlanFacts): boolean => !allowedPaths.includes('**')

interface Shaping {
  base: Base
  facts: PlanFacts
  note: (text: string) => void
}

const pathsFor = (task: Answered, name: string, { base, facts, note }: Shaping): string[] => {
  if (isNarrowed(facts)) return [...facts.allowedPaths]
  const kept: string[] = []
  for (const path of task.allowedPaths) {
    const why = whyNotPath(path, base)
    if (why === undefined) kept.push(path)
    else note(`${name}: the path ${JSON.stringify(path)} was left out: ${why}`)
  }
  if (kept.length === 0) {
    if (task.role === 'docser') return documentPaths
    if (task.allowedPaths.length > 0) note(`${name} may change everything, because none of its paths is left`)
    return ['**']
  }
  const wanted = [...task.contextFiles.filter((file) => base.files.has(file)), ...filesNamedIn(task, base)]
  // A task that makes a new file may name others only as examples.
  const makesNew = kept.some((path) => !base.files.has(path) && !base.folders.has(fixedParts(path).join('/')))
  const isForbidden = wanted.length > 0 && !makesNew && !wanted.some((path) => covers(kept, path))
  const added = isForbidden ? [...new Set(wanted)].filter((path) => secretRuleFor(path) === undefined) : []
  if (added.length > 0)
    note(`${name} may also change ${named(added)}: it is about these files, and its paths did not cover them`)
  return [...kept, ...added]
}

const commandsFor = (task: Answered, name: string, { facts, note }: Shaping): string[] => {
  const refused = task.commands.filter((command) => facts.refusedCommands.has(command))
  for (const command of refused)
    note(`${name}: the check ${JSON.stringify(command)} was left out: ${facts.refusedCommands.get(command) ?? ''}`)
  const added = task.commands.filter((command) => !refused.includes(command) && !facts.checks.includes(command))
  return added.length === 0 ? [] : [...new Set([...facts.checks, ...added])]
}

/** Whether `to` is among what `from` waits for, directly or not. */
const waitsFor = (after: readonly ReadonlySet<number>[], from: number, to: number): boolean => {
  const seen = new Set<number>()
  const open = [from]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === to) return true
    if (seen.has(at)) continue
    seen.add(at)
    open.push(...(after[at] ?? []))
  }
  return false
}

const titleOf = (tasks: readonly { title: string }[], at: number): string =>
  `task ${at + 1} (${tasks[at]?.title ?? ''})`

/** What each task waits for, without circles and without tasks that do not exist. */
const orderOf = (tasks: readonly Answered[], note: (text: string) => void): Set<number>[] => {
  const positions = new Map(tasks.map(({ id }, at) => [id, at]))
  const after = tasks.map(() => new Set<number>())
  for (const [at, task] of tasks.entries())
    for (const id of task.after) {
      const other = positions.get(id)
      if (other === undefined) note(`${titleOf(tasks, at)} does not wait for "${id}": no task has this id`)
      else if (other === at || waitsFor(after, other, at))
        note(`${titleOf(tasks, at)} does not wait for ${titleOf(tasks, other)}: that would be a circle`)
      else after[at]?.add(other)
    }
  return after
}

/** Tasks that write the same files come one after another, in the order of the plan where nothing else is said. */
const orderWriters = (
  tasks: readonly { title: string; allowedPaths: string[] }[],
  after: Set<number>[],
  note: (text: string) => void,
): void => {
  const areas = tasks.map(({ allowedPaths }) => areasOf({ targetArea: null, allowedPaths }))
  for (const at of tasks.keys())
    for (let other = 0; other < at; other += 1) {
      const area = overlapOf(areas[at] ?? [], areas[other] ?? [])
      if (area === undefined || waitsFor(after, at, other) || waitsFor(after, other, at)) continue
      after[at]?.add(other)
      note(`${titleOf(tasks, at)} waits for ${titleOf(tasks, other)}: both change ${area}`)
    }
}

/** Without waits that follow from others. */
const reduced = (after: readonly ReadonlySet<number>[]): number[][] =>
  after.map((own) =>
    [...own]
      .filter((other) => ![...own].some((third) => third !== other && waitsFor(after, third, other)))
      .toSorted((one, next) => one - next),
  )

/** Positions so that each task comes after those it waits for, else in the given order. */
const sortedPositions = (after: readonly (readonly number[])[]): number[] => {
  const sorted: number[] = []
  while (sorted.length < after.length) {
    const next = after.findIndex((own, at) => !sorted.includes(at) && own.every((other) => sorted.includes(other)))
    if (next === -1) throw new Error('a plan without circles has a first task')
    sorted.push(next)
  }
  return sorted
}

const inOrder = (tasks: readonly PlannedTask[]): PlannedTask[] => {
  const order = sortedPositions(tasks.map(({ after }) => after))
  return order.map((at) => {
    const task = tasks[at] as PlannedTask
    return { ...task, after: task.after.map((other) => order.indexOf(other)).toSorted((one, next) => one - next) }
  })
}

/** A title stands for its task in a checklist and in the commits, so no two tasks have the same. */
const withOwnTitles = (tasks: readonly PlannedTask[]): PlannedTask[] => {
  const used = new Set<string>()
  return tasks.map((task) => {
    let { title } = task
    for (let count = 2; used.has(title.toLowerCase()); count += 1) title = `${task.title.slice(0, 190)} (${count})`
    used.add(title.toLowerCase())
    return { ...task, title }
  })
}

const hasDocuments = (files: readonly string[]): boolean => files.some((file) => /^(?:docs\/)?readme\b/i.test(file))

/** Gaps in the documentation become one task after all others. A missing README alone adds no task to a plan of one task. */
const documentTask = (
  gaps: readonly string[],
  tasks: readonly PlannedTask[],
  facts: PlanFacts,
): PlannedTask | undefined => {
  const missing = tasks.length > 1 && !hasDocuments(facts.files) ? ['The repository has no README.'] : []
  const all = [...gaps, ...missing]
  if (all.length === 0 || isNarrowed(facts) || tasks.some(({ role }) => role === 'docser')) return undefined
  return {
    title: 'Complete the documentation',
    instructions: `Read what the goal has changed, and write down what is missing:\n${all.map((gap) => `- ${gap}`).join('\n')}`,
    purpose: 'the documentation covers what this goal adds',
    ...{ role: 'docser', allowedPaths: documentPaths, contextFiles: [], commands: [], risk: 'low', size: 'small' },
    after: tasks.flatMap((_, at) => (tasks.some(({ after }) => after.includes(at)) ? [] : [at])),
  }
}

export const shapePlan = (answer: PlanAnswer, facts: PlanFacts): Plan => {
  const notes: string[] = []
  const note = (text: string): void => void notes.push(text)
  const base = { files: new Set(facts.files), folders: foldersOf(facts.files) }
  const shaping = { base, facts, note }
  const order = orderOf(answer.tasks, note)
  const fields = answer.tasks.map((task, at) => ({
    ...{ title: task.title, instructions: task.instructions, purpose: task.purpose, role: task.role },
    allowedPaths: pathsFor(task, titleOf(answer.tasks, at), shaping),
    contextFiles: task.contextFiles.filter((file) => base.files.has(file)),
    commands: commandsFor(task, titleOf(answer.tasks, at), shaping),
    ...{ risk: task.risk, size: task.size },
  }))
  orderWriters(fields, order, note)
  const waits = reduced(order)
  const sorted = inOrder(fields.map((task, at) => ({ ...task, after: waits[at] ?? [] })))
  const documents = documentTask(answer.documentationGaps, sorted, facts)
  const all = withOwnTitles([...sorted, ...(documents === undefined ? [] : [documents])])
  const hints = isNarrowed(facts) ? [] : facts.hints
  const hinted = all.map((task, taskIndex) => {
    const applied = applyHints({ ...task, deniedPaths: facts.deniedPaths }, hints, facts.policy)
    return { task, application: { taskIndex, title: task.title, role: task.role, ...applied } }
  })
  return {
    notes,
    tasks: hinted.map(({ task, application }) => ({
      ...task,
      allowedPaths: [...task.allowedPaths, ...application.addedAllowedPaths],
    })),
    hints: hinted.flatMap(({ application }) => (application.addedAllowedPaths.length === 0 ? [] : [application])),
  }
}
