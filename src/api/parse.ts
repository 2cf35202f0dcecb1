/** Checks a request against its schema: in the engine, and in the command line before it starts an engine. */
import type { z } from 'zod'
import { AppError } from '../errors.ts'
import { valueAt, valueText } from '../validation.ts'

/** Lists and objects are not quoted, because a deeply nested one would exceed the stack. */
const givenText = (value: unknown): string => {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'given a list'
  return typeof value === 'object' && value !== null ? 'given an object' : `given ${valueText(value)}`
}

/** The value in the form of the schema. Throws INPUT_INVALID with the field, the value given there and what is accepted. */
export const parse = <T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> => {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const field = issue === undefined || issue.path.length === 0 ? '' : `, field ${issue.path.join('.')}`
  const found = givenText(valueAt(value, issue?.path ?? []))
  const [example] = (schema.meta()?.examples ?? []) as unknown[]
  const advice = example === undefined ? '' : `\nAccepted, for example: ${JSON.stringify(example)}`
  throw new AppError('INPUT_INVALID', `${where}${field}: ${found}; ${issue?.message ?? 'not valid'}${advice}`)
}
