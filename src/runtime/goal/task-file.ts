/**
 * The JSON task file of `unstuck run`: its schema (published as schema/tasks.schema.json) and its reading into tasks.
 * All objects are closed; an error names the file, the place in it and what is allowed there.
 */
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { explainIssue, parseJson } from '../../validation.ts'
import { line, list, noNul, taskFields, text } from '../core/task-fields.ts'

export const taskRoles = ['worker', 'tester', 'docser'] as const
export type TaskRole = (typeof taskRoles)[number]

const directory = z
  .string({ error: 'allowed: an absolute folder' })
  .startsWith('/', { error: 'allowed: an absolute folder' })
  .refine(noNul, { error: 'allowed: an absolute folder' })

const idText = 'a short text without white space or commas'
const id = line(idText, 64).regex(/^[^\s,]+$/, { error: `allowed: ${idText}` })

export const taskSchema = z.strictObject({
  id: id
    .exactOptional()
    .meta({ description: 'Name by which other tasks wait for this one. Absent: its position, from 1.' }),
  title: taskFields.title.meta({ description: 'One line; becomes the subject of the commit.' }),
  instructions: taskFields.instructions.meta({ description: 'What the agent is asked to do.' }),
  allowedPaths: taskFields.allowedPaths
    .exactOptional()
    .meta({ description: 'Paths, folders or globs that may change. Absent: all.' }),
  deniedPaths: taskFields.deniedPaths
    .exactOptional()
    .meta({ description: 'Paths that must not change; wins over allowedPaths.' }),
  commands: taskFields.commands
    .exactOptional()
    .meta({ description: 'Checks that must pass. Absent: inferred from the repository.' }),
  after: list(id, 'a list of task ids').exactOptional().meta({ description: 'Tasks that must be done first.' }),
  harness: taskFields.harness.exactOptional(),
  model: taskFields.model.exactOptional(),
  priority: z
    .int({ error: 'allowed: a whole number from -100 to 100' })
    .min(-100, { error: 'allowed: a whole number from -100 to 100' })
    .max(100, { error: 'allowed: a whole number from -100 to 100' })
    .exactOptional()
    .meta({ description: 'Higher goes first.' }),
  targetArea: line('one line').exactOptional().meta({
    description:
      'Part of the repository that it works on, or several with commas between; of overlapping ones one task runs at a time. Absent: what allowedPaths cover.',
  }),
  role: z.enum(taskRoles, { error: `allowed: ${taskRoles.map((role) => `"${role}"`).join(', ')}` }).exactOptional(),
})

const maxTasks = 500

export const fileSchema = z.strictObject({
  $schema: z.string().exactOptional(),
  version: z.literal(1, { error: 'allowed: 1' }),
  goal: text('what the tasks are for').meta({
    description: 'What the tasks are for, in words; its first line is the title.',
  }),
  tasks: z
    .array(taskSchema, { error: 'allowed: a list of tasks' })
    .min(1, { error: 'allowed: at least one task' })
    .max(maxTasks, { error: `allowed: at most ${maxTasks} tasks` }),
  allowedDirs: list(directory, 'a list of absolute folders')
    .exactOptional()
    .meta({ description: 'Folders outside the workspace that agents may be given.' }),
})

export type WrittenTask = z.output<typeof taskSchema>
export type WrittenFile = z.output<typeof fileSchema>

/** The JSON Schema that is published; `scripts/generate.ts` writes it to schema/tasks.schema.json. */
export const taskFileSchema = (): Record<string, unknown> => ({
  ...(z.toJSONSchema(fileSchema, { target: 'draft-2020-12' }) as Record<string, unknown>),
  title: 'Task file of unstuck run',
})

const knownKeys = (at: readonly PropertyKey[]): string[] =>
  Object.keys(at[0] === 'tasks' ? taskSchema.shape : fileSchema.shape).filter((key) => key !== '$schema')

/** Throws `INPUT_INVALID` naming file, JSON path, value found and what is allowed. */
export const readTaskFile = (name: string, content: string): WrittenFile => {
  const json = parseJson(content)
  if (!json.ok)
    throw new AppError('INPUT_INVALID', `${name}: it is not JSON (${json.problem}). Correct it and run again.`)
  const result = fileSchema.safeParse(json.value)
  if (!result.success)
    throw new AppError('INPUT_INVALID', `${name}: ${explainIssue(result.error, json.value, knownKeys)}`)
  return result.data
}
