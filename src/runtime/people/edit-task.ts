/**
 * A person edits a task: paths, checks, text, harness. During an attempt the edit waits for its end, so that an agent is judged by the
 * instructions that it got. Wider paths need a reason, which the event keeps.
 */
import { z } from 'zod'
import { taskEnded, withEdit, type Task, type TaskFields } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { planCheck } from '../../recovery/command/plan-check.ts'
import { widenedBy } from '../../recovery/policy/widening.ts'
import type { MoveResult, Queryable } from '../../store/db.ts'
import { isGivenUp } from '../../store/requeue.ts'
import { editTask as storeEdit } from '../../store/task.ts'
import { explainIssue, valueText } from '../../validation.ts'
import type { Context } from '../core/context.ts'
import { actorName, reasonText } from '../core/person-text.ts'
import { taskFields } from '../core/task-fields.ts'
import { chooseHarness } from '../harness/harness-choice.ts'
import { taskNamed } from './commands.ts'
import { commandTransaction, movedOrThrow } from './lost-race.ts'
import { continuedText } from './ended-task.ts'
import { refuseWhileCorrected } from './refuse-command.ts'

export interface EditOptions {
  /** Required if the task may change more paths than before. */
  why?: string | undefined
  /** Name of the person. */
  by?: string | undefined
}

const editSchema = z.strictObject({
  title: taskFields.title.exactOptional(),
  instructions: taskFields.instructions.exactOptional(),
  allowedPaths: taskFields.allowedPaths.exactOptional(),
  deniedPaths: taskFields.deniedPaths.exactOptional(),
  commands: taskFields.commands.min(1, { error: 'allowed: at least one check' }).exactOptional(),
  harness: taskFields.harness.exactOptional(),
  model: taskFields.model.nullable().exactOptional(),
} satisfies Record<keyof TaskFields, z.ZodType>)

const fieldNames = Object.keys(editSchema.shape) as (keyof TaskFields)[]

const invalid = (problem: string): AppError => new AppError('INPUT_INVALID', problem)

const checkCommands = (commands: readonly string[]): void => {
  for (const command of commands) {
    const plan = planCheck(command)
    if (!plan.ok)
      throw invalid(
        `the check ${valueText(command)} cannot be run without a shell (${valueText(plan.piece)}: ${plan.reason})`,
      )
  }
}

/** Events, prompts and commits repeat these texts, so a secret in them is refused. */
const checkSecrets = ({ ports, environment }: Context, fields: Partial<TaskFields>): void => {
  for (const [name, value] of Object.entries(fields)) {
    const texts = [value].flat().filter((text) => text !== null)
    if (texts.some((text) => ports.processes.redactText(text, environment) !== text))
      throw invalid(`${name} holds a secret (a token, a key or a password); name an environment variable instead`)
  }
}

const checkFields = (context: Context, wanted: unknown): Partial<TaskFields> => {
  const result = editSchema.safeParse(wanted)
  if (!result.success) throw invalid(explainIssue(result.error, wanted, () => fieldNames))
  const fields = result.data
  checkCommands(fields.commands ?? [])
  checkSecrets(context, fields)
  if (fields.harness !== undefined)
    chooseHarness(context.ports.files, context.config(), fields.harness, context.environment.PATH)
  return fields
}

interface Change {
  field: keyof TaskFields
  before: Task[keyof TaskFields]
  after: Task[keyof TaskFields]
}

/** The fields whose values differ. A model belongs to its harness, so a new harness removes the old model. */
const changesOf = (task: Task, fields: Partial<TaskFields>): Change[] => {
  const moved = fields.harness !== undefined && fields.harness !== task.harness
  const wanted: Partial<TaskFields> = moved && fields.model === undefined ? { ...fields, model: null } : fields
  return fieldNames.flatMap((field) => {
    const [before, after] = [task[field], wanted[field]]
    return after === undefined || JSON.stringify(before) === JSON.stringify(after) ? [] : [{ field, before, after }]
  })
}

/** Characters of a value that an event keeps; the whole text is in the task. */
const longestText = 2_000

const forEvent = ({ ports, environment }: Context, value: Change['before']): Change['before'] => {
  const clean = (text: string): string => ports.processes.redactText(text, environment).slice(0, longestText)
  if (value === null) return null
  return typeof value === 'string' ? clean(value) : value.map(clean)
}

/** A task that was given up waits for a person, who may change it before the retry. */
const refuseEnded = async (tx: Queryable, task: Task): Promise<void> => {
  await refuseWhileCorrected(tx, task, 'edit')
  if (!taskEnded(task.status) || (await isGivenUp(tx, task))) return
  if (task.supersededBy !== null) throw new AppError('ILLEGAL', await continuedText(tx, task, 'edit'))
  const advice =
    task.status === 'done' ? 'start new work with "unstuck run"' : `"unstuck retry ${task.id}" restores it first`
  throw new AppError('ILLEGAL', `task ${task.id} is ${task.status} and cannot be edited; ${advice}`)
}

const editOnce = async (
  context: Context,
  tx: Queryable,
  { id, fields, why, by }: { id: string; fields: Partial<TaskFields>; why: string; by: string },
): Promise<MoveResult<Task>> => {
  const task = await taskNamed(tx, id)
  await refuseEnded(tx, task)
  const before = withEdit(task)
  const changes = changesOf(before, fields)
  if (changes.length === 0) throw invalid(`nothing would change: task ${id} already has these values`)
  const edit = Object.fromEntries(changes.map(({ field, after }) => [field, after])) as Partial<TaskFields>
  const widened = widenedBy(before, { ...before, ...edit })
  if (widened.length > 0 && why === '')
    throw invalid(`the task could then change more than before (${widened.join(', ')}); say why (--why "…")`)
  const payload = {
    ...{ by, why, widened },
    changes: changes.map(({ field, before, after }) => ({
      field,
      before: forEvent(context, before),
      after: forEvent(context, after),
    })),
  }
  return storeEdit(tx, task, edit, payload)
}

/** The edit that is part of an answer, in the transaction that retries the task. */
export const editBeforeRetry = async (
  context: Context,
  tx: Queryable,
  task: Task,
  { fields: wanted, why, by }: { fields: Partial<TaskFields> } & EditOptions,
): Promise<Task> => {
  const fields = checkFields(context, wanted)
  // The person may have made this edit already; then only the retry is left.
  if (changesOf(withEdit(task), fields).length === 0) return task
  return movedOrThrow(await editOnce(context, tx, { id: task.id, fields, why: why ?? '', by: actorName(by) }))
}

export const requestEdit = async (
  context: Context,
  id: string,
  wanted: Partial<TaskFields>,
  options: EditOptions = {},
): Promise<Task> => {
  await taskNamed(context.db, id)
  const fields = checkFields(context, wanted)
  const asked = { id, fields, why: reasonText(context, options.why ?? ''), by: actorName(options.by) }
  const edited = await commandTransaction(context, async (tx) => movedOrThrow(await editOnce(context, tx, asked)))
  context.wake()
  return edited
}
