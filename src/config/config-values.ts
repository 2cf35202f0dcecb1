/** The types of values in the configuration. The error of each says what is allowed. */
import { z } from 'zod'
import { planCommand } from '../recovery/command/command-plan.ts'
import { parsePathRule } from '../recovery/policy/path-rule.ts'

export const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `allowed: ${values.map((value) => `"${value}"`).join(', ')}` })

export const trueOrFalse = z.boolean({ error: 'allowed: true or false' })

export const wholeNumber = (min: number, max: number) => {
  const error = `allowed: a whole number from ${min} to ${max}`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

const year = 366 * 24 * 3600

export const numberOfSeconds = (min: number) => {
  const error = `allowed: a number of seconds from ${min} to ${year}`
  return z.number({ error }).min(min, { error }).max(year, { error })
}

export const limitOrNone = (unit: string) => {
  const error = `allowed: a number of ${unit} above 0, or -1 for no limit`
  return z.number({ error }).refine((value) => value === -1 || value > 0, { error })
}

export const thresholdOrOff = (least: number, most: number) => {
  const error = `allowed: a whole number from ${least} to ${most}, or -1 to switch this off`
  return z.int({ error }).refine((value) => value === -1 || (value >= least && value <= most), { error })
}

const isText = (value: string): boolean => value.trim() !== '' && !/\p{Cc}/u.test(value)

export const lineOfText = (error: string) => z.string({ error }).refine(isText, { error })

export const listOf = <T extends z.ZodType>(item: T, error: string) =>
  z.array(item, { error }).max(1000, { error: 'allowed: at most 1000 entries' })

export const variableName = z
  .string({ error: 'allowed: the name of an environment variable' })
  .regex(/^[A-Za-z_]\w*$/, { error: 'allowed: the name of an environment variable' })

export const pathRule = z
  .string({ error: 'allowed: a path or glob inside the repository' })
  .superRefine((value, context) => {
    const parsed = parsePathRule(value)
    if (!parsed.ok)
      context.addIssue({ code: 'custom', message: `${parsed.reason}; allowed: a path or glob inside the repository` })
  })

const exactPathError = 'allowed: the path of one file, relative to the top of the repository'

/** Paths that lead out of the repository or into its git directory are refused, because the file is copied by this path. */
/** As in .gitattributes, where white space separates. */
export const filterName = z
  .string({ error: 'allowed: the name of a filter driver' })
  .regex(/^[^\s=]+$/, { error: 'allowed: the name of a filter driver, as in .gitattributes' })

export const filePath = z
  .string({ error: exactPathError })
  .refine(
    (value) =>
      value !== '' &&
      !/[\p{Cc}\\*?[\]]/u.test(value) &&
      value.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && part.toLowerCase() !== '.git'),
    { error: exactPathError },
  )

const commandError = 'allowed: a command that runs without a shell'

/** Planned like a check, so that a command that could never run is refused when the configuration is loaded. */
export const commandLine = z.string({ error: commandError }).superRefine((value, context) => {
  const plan = planCommand(value)
  if (!plan.ok) context.addIssue({ code: 'custom', message: `${plan.reason} (${plan.piece}); ${commandError}` })
})

/** Of one program: what joins several needs a folder, or a decision about the others when one fails. */
export const oneCommand = commandLine.superRefine((value, context) => {
  const plan = planCommand(value)
  if (plan.ok && (plan.steps.length !== 1 || plan.steps[0]?.cwd.length !== 0))
    context.addIssue({ code: 'custom', message: 'allowed: one program with its arguments' })
})

export const absoluteFolder = z
  .string({ error: 'allowed: the absolute path of a folder' })
  .refine((value) => value.startsWith('/') && !value.includes('\0'), {
    error: 'allowed: the absolute path of a folder',
  })

export const textWithoutNul = z
  .string({ error: 'allowed: text without NUL characters' })
  .refine((value) => !value.includes('\0'), { error: 'allowed: text without NUL characters' })

export const checkedText = (error: string, problemOf: (text: string) => string | undefined) =>
  z.string({ error }).superRefine((text, context) => {
    const problem = problemOf(text)
    if (problem !== undefined) context.addIssue({ code: 'custom', message: `${problem}; ${error}` })
  })
