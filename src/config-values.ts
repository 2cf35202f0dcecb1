/** The kinds of values that keys of the configuration take. Each says in its error what is allowed. */
import { z } from 'zod'
import { planCommand } from './recovery/command/plan.ts'
import { parsePathRule } from './recovery/policy/rule.ts'

export const choice = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `allowed: ${values.map((value) => `"${value}"`).join(', ')}` })

export const whole = (min: number, max: number) => {
  const error = `allowed: a whole number from ${min} to ${max}`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

const year = 366 * 24 * 3600

export const seconds = (min: number) => {
  const error = `allowed: a number of seconds from ${min} to ${year}`
  return z.number({ error }).min(min, { error }).max(year, { error })
}

export const limit = (unit: string) => {
  const error = `allowed: a number of ${unit} above 0, or -1 for no limit`
  return z.number({ error }).refine((value) => value === -1 || value > 0, { error })
}

export const atLeast = (least: number, most: number) => {
  const error = `allowed: a whole number from ${least} to ${most}, or -1 to switch it off`
  return z.int({ error }).refine((value) => value === -1 || (value >= least && value <= most), { error })
}

const isText = (value: string): boolean => value.trim() !== '' && !/\p{Cc}/u.test(value)

export const text = (error: string) => z.string({ error }).refine(isText, { error })

export const list = <T extends z.ZodType>(item: T, error: string) =>
  z.array(item, { error }).max(1000, { error: 'allowed: at most 1000 entries' })

export const variable = z
  .string({ error: 'allowed: the name of an environment variable' })
  .regex(/^[A-Za-z_]\w*$/, { error: 'allowed: the name of an environment variable' })

export const pathRule = z
  .string({ error: 'allowed: a path or glob inside the repository' })
  .superRefine((value, context) => {
    const parsed = parsePathRule(value)
    if (!parsed.ok)
      context.addIssue({ code: 'custom', message: `${parsed.reason}; allowed: a path or glob inside the repository` })
  })

const exactPath = 'allowed: the path of a file from the top of the repository, without a pattern'

/** A file below a folder of ours: nothing that leads out of it or into its git directory. */
export const filePath = z
  .string({ error: exactPath })
  .refine(
    (value) =>
      value !== '' &&
      !/[\p{Cc}\\*?[\]]/u.test(value) &&
      value.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && part.toLowerCase() !== '.git'),
    { error: exactPath },
  )

const commandError = 'allowed: a command line that needs no shell'

/** As checks are: planned, and refused here when it would be refused there. */
export const commandLine = z.string({ error: commandError }).superRefine((value, context) => {
  const plan = planCommand(value)
  if (!plan.ok) context.addIssue({ code: 'custom', message: `${plan.reason} (${plan.piece}); ${commandError}` })
})

export const directory = z
  .string({ error: 'allowed: an absolute folder' })
  .refine((value) => value.startsWith('/') && !value.includes('\0'), { error: 'allowed: an absolute folder' })

export const argument = z
  .string({ error: 'allowed: a text without NUL' })
  .refine((value) => !value.includes('\0'), { error: 'allowed: a text without NUL' })
