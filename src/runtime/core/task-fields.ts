/** The rules for task fields that people write, in a task file or in an edit. Both use these, so that they accept the same. */
import { z } from 'zod'
import { harnessNamePattern } from '../../config/config-schema.ts'
import { parsePathRule } from '../../recovery/policy/path-rule.ts'

export const maxTitle = 200

export const noNul = (value: string): boolean => !value.includes('\0')

/** A non-empty text. `allowed`: shown in the error. */
export const textField = (allowed: string) =>
  z
    .string({ error: `allowed: ${allowed}` })
    .refine((value) => value.trim() !== '' && noNul(value), { error: `allowed: ${allowed}` })

/** One line without control characters: titles are printed to terminals and become commit subjects. */
export const lineField = (allowed: string, max = maxTitle) =>
  textField(allowed)
    .max(max, { error: `allowed: ${allowed}` })
    .refine((value) => !/\p{Cc}/u.test(value), { error: `allowed: ${allowed}` })

/** A list of at most 1000 entries. `allowed`: shown in the error. */
export const listField = <T extends z.ZodType>(item: T, allowed: string) =>
  z.array(item, { error: `allowed: ${allowed}` }).max(1000, { error: 'allowed: at most 1000 entries' })

const path = z.string({ error: 'allowed: a path or glob inside the repository' }).superRefine((value, context) => {
  const parsed = parsePathRule(value)
  if (!parsed.ok)
    context.addIssue({ code: 'custom', message: `${parsed.reason}; allowed: a path or glob inside the repository` })
})
const paths = listField(path, 'a list of paths or globs')

const modelText = 'the name of a model'

export const taskFields = {
  title: lineField(`one line of 1 to ${maxTitle} characters`),
  instructions: textField('a text'),
  allowedPaths: paths.min(1, { error: 'allowed: at least one path, or no such key' }),
  deniedPaths: paths,
  commands: listField(textField('a command, not empty and without NUL'), 'a list of commands'),
  harness: z
    .string({ error: 'allowed: the name of a harness' })
    .regex(harnessNamePattern, { error: 'allowed: the name of a harness' }),
  model: lineField(modelText).regex(/^[^-]/, { error: `allowed: ${modelText}` }),
}
