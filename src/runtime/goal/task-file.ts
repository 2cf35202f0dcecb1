/**
 * The JSON task file of `unstuck run`: its schema (published as schema/tasks.schema.json) and how it is read. All
 * objects are closed, so that a misspelt key is an error; each error names the file, the JSON path and what is allowed
 * there.
 */
import { z } from 'zod'
import { judgeModes } from '../../domain/judgement.ts'
import { taskKinds } from '../../domain/task.ts'
import { branchNamePattern } from '../../domain/task-review.ts'
import { AppError } from '../../errors.ts'
import { explainIssue, parseJson } from '../../validation.ts'
import { lineField, listField, noNul, taskFields, textField } from '../core/task-fields.ts'

export const taskRoles = ['worker', 'tester', 'docser', 'judge'] as const
export type TaskRole = (typeof taskRoles)[number]

export const goalStrategies = ['tasks', 'loop'] as const

const directory = z
  .string({ error: 'allowed: an absolute folder' })
  .startsWith('/', { error: 'allowed: an absolute folder' })
  .refine(noNul, { error: 'allowed: an absolute folder' })

const idText = 'the id of a task, a short text without white space or commas, such as "a"'
const id = lineField(idText, 64).regex(/^[^\s,]+$/, { error: `allowed: ${idText}` })

const judge = z
  .enum(judgeModes, { error: `allowed: ${judgeModes.map((mode) => `"${mode}"`).join(', ')}` })
  .exactOptional()
const reviewAllowed = 'allowed: {"branch": "<name>"} or {"mergeEntry": <number>}'
const branchName = z.string({ error: 'allowed: the name of a branch' }).regex(branchNamePattern, {
  error: 'allowed: the name of a branch, without "refs/heads/"',
})
const entryNumber = z.int({ error: 'allowed: the number of a merge entry' }).min(1, {
  error: 'allowed: the number of a merge entry',
})
const reviewField = z.union([z.strictObject({ branch: branchName }), z.strictObject({ mergeEntry: entryNumber })], {
  error: reviewAllowed,
})

export const writtenTaskSchema = z.strictObject({
  id: id
    .exactOptional()
    .meta({ description: 'Name that other tasks use in "after". Default: the position of the task, from 1.' }),
  title: taskFields.title.meta({ description: 'One line; becomes the subject of the commit.' }),
  instructions: taskFields.instructions.meta({ description: 'What the agent is asked to do.' }),
  allowedPaths: taskFields.allowedPaths
    .exactOptional()
    .meta({ description: 'Paths, folders or globs that the task may change. Default: all.' }),
  deniedPaths: taskFields.deniedPaths
    .exactOptional()
    .meta({ description: 'Paths that the task must not change; overrides allowedPaths.' }),
  commands: taskFields.commands
    .exactOptional()
    .meta({ description: 'Checks that must pass. Default: inferred from the repository.' }),
  contextFiles: listField(taskFields.allowedPaths.element, 'a list of paths')
    .exactOptional()
    .meta({ description: 'Files that the task is about; changing them is allowed even in the strictest policy mode.' }),
  after: listField(id, 'a list of task ids').exactOptional().meta({ description: 'Tasks that must be done first.' }),
  harness: taskFields.harness.exactOptional(),
  model: taskFields.model.exactOptional(),
  priority: z
    .int({ error: 'allowed: a whole number from -100 to 100' })
    .min(-100, { error: 'allowed: a whole number from -100 to 100' })
    .max(100, { error: 'allowed: a whole number from -100 to 100' })
    .exactOptional()
    .meta({ description: 'Tasks with a higher priority start first. Default: 0.' }),
  targetArea: lineField('one line').exactOptional().meta({
    description:
      'Part of the repository that the task works on; several are separated by commas. Tasks with overlapping areas run one at a time. Default: what allowedPaths cover.',
  }),
  role: z.enum(taskRoles, { error: `allowed: ${taskRoles.map((role) => `"${role}"`).join(', ')}` }).exactOptional(),
  review: reviewField.exactOptional().meta({
    description:
      'What a task of role "judge" reviews: the head of a branch, or the commit of a merge entry. Its runs launch no agent: the work is checked, judged and merged into the branch of the goal.',
  }),
  link: lineField('one line').exactOptional().meta({
    description:
      'What has to be linked before the task may start, for example an issue. The task waits until "unstuck link" names it.',
  }),
  kind: z.enum(taskKinds, { error: 'allowed: "code", "loop"' }).exactOptional().meta({
    description:
      '"loop": planner, worker, tester and reviewer work on the task in turns until the reviewer promises that it is complete and all gates hold. Default: "code", or "loop" with "strategy": "loop".',
  }),
  judge: judge.meta({
    description:
      'Who decides whether its work may land: "auto" = the gates, "llm" = a reviewer as well, "human" = you as well. The strictest of this, the goal and the configuration counts.',
  }),
})

const maxTasks = 500

export const taskFileObject = z.strictObject({
  $schema: z.string().exactOptional(),
  version: z.literal(1, { error: 'allowed: 1' }),
  goal: textField('what the tasks are for').meta({
    description: 'What the tasks are for, in words; its first line is the title.',
  }),
  strategy: z
    .enum(goalStrategies, { error: 'allowed: "tasks", "loop"' })
    .exactOptional()
    .meta({ description: '"loop": every task that names no kind is of kind "loop". Default: "tasks".' }),
  judge: judge.meta({ description: 'The same for every task of the goal.' }),
  tasks: z
    .array(writtenTaskSchema, { error: 'allowed: a list of tasks' })
    .min(1, { error: 'allowed: at least one task' })
    .max(maxTasks, { error: `allowed: at most ${maxTasks} tasks` }),
  allowedDirs: listField(directory, 'a list of absolute folders')
    .exactOptional()
    .meta({ description: 'Folders outside the workspace that agents may use.' }),
})

export type TaskFileTask = z.output<typeof writtenTaskSchema>
export type TaskFile = z.output<typeof taskFileObject>

/** The published JSON Schema; `scripts/generate.ts` writes it to schema/tasks.schema.json. */
export const taskFileSchema = (): Record<string, unknown> => ({
  ...(z.toJSONSchema(taskFileObject, { target: 'draft-2020-12' }) as Record<string, unknown>),
  title: 'Task file of unstuck run',
})

const knownKeys = (at: readonly PropertyKey[]): string[] =>
  Object.keys(at[0] === 'tasks' ? writtenTaskSchema.shape : taskFileObject.shape).filter((key) => key !== '$schema')

/** Throws `INPUT_INVALID` with the file, the JSON path, the value found and what is allowed. */
export const readTaskFile = (name: string, content: string): TaskFile => {
  const json = parseJson(content)
  if (!json.ok)
    throw new AppError(
      'INPUT_INVALID',
      `${name}: the file is not valid JSON (${json.problem}). Correct it and run again.`,
    )
  const result = taskFileObject.safeParse(json.value)
  if (!result.success)
    throw new AppError('INPUT_INVALID', `${name}: ${explainIssue(result.error, json.value, knownKeys)}`)
  return result.data
}
