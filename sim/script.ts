/**
 * The script format: what a scripted model does, independent of any vendor's protocol. To add a kind of step: a row in
 * `stepKinds`, the branches that the compiler then requires, and a line in `help.ts`. A script that parses can be played;
 * it depends on no clock, file or network.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { AppError, messageOf } from '../src/errors.ts'

const filled = z.string().min(1)
const times = z.union([z.int().positive(), z.literal('always')]).default(1)

/** Accepts `true` for a fault with its defaults, as in `{ "cut": true }`. */
const orTrue = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === true ? {} : value), schema)

/**
 * One row per kind of step. The first eight consume one turn of the model each. `wait` delays the next step. The others are
 * faults: they spoil a request `times` times (default 1; "always" only as the last step) before the next step is played.
 * Paths may contain `{cwd}`, the working directory that the agent reports; relative paths are below it.
 */
const stepKinds = {
  write: z.strictObject({ path: filled, content: z.string() }),
  /** Replaces the first occurrence of `find`, which is literal and may be part of a line. */
  edit: z.strictObject({ path: filled, find: filled, replace: z.string() }),
  read: filled.transform((path) => ({ path })),
  shell: filled.transform((command) => ({ command })),
  /** A call of a tool of an MCP server, by the end of its name: each CLI puts its own prefix before it. */
  tool: z.strictObject({
    server: filled.default('unstuck'),
    name: filled,
    input: z.record(z.string(), z.json()).default({}),
  }),
  /** A tool call that lasts until the file `until` exists; it creates `mark` when it begins. */
  hold: z.strictObject({ until: filled, mark: filled.optional() }),
  /** Ends the run of the agent; a resumed session continues with the next step. */
  text: filled.transform((text) => ({ text })),
  /** The same with this JSON as the text: the answer to a question. */
  answer: z.record(z.string(), z.json()).transform((value) => ({ text: JSON.stringify(value) })),
  wait: z
    .number()
    .nonnegative()
    .max(86_400)
    .transform((seconds) => ({ seconds })),
  /** An HTTP error in the format of the protocol; `type` is the error type of that protocol. */
  error: z.strictObject({
    status: z.int().min(400).max(599),
    type: filled.optional(),
    message: filled.optional(),
    retryAfterSeconds: z.int().nonnegative().optional(),
    times,
  }),
  /** The next answer is cut off in the middle of its stream. */
  cut: orTrue(z.strictObject({ times })),
  /** An answer without content. It is a fault because agents drop it from their history, so as a turn it would repeat for ever. */
  empty: orTrue(z.strictObject({ times })),
  /** The limit of an account, in the protocol's own shape, with the time of its reset where one is given. */
  limit: orTrue(z.strictObject({ resetInSeconds: z.int().nonnegative().optional(), times })),
  /** The conversation no longer fits into the model. */
  overflow: orTrue(z.strictObject({ times })),
  /** A page in HTML where an answer should be, as a broken proxy gives it. */
  garbage: orTrue(z.strictObject({ times })),
  /** The next answer arrives completely, but its stream stays open until the client disconnects; some clients wait for its end. */
  linger: orTrue(z.strictObject({ times })),
  /** No headers, or headers without an event, until the client disconnects. */
  silence: orTrue(z.strictObject({ afterHeaders: z.boolean().default(false), times })),
}

type Kind = keyof typeof stepKinds
export type ScriptStep = { [K in Kind]: { kind: K } & z.output<(typeof stepKinds)[K]> }[Kind]
export type ScriptFault = Extract<ScriptStep, { times: unknown }>
/** A step that consumes one turn of the model. */
export type ModelTurn = Exclude<ScriptStep, ScriptFault | { kind: 'wait' }>

/** Every key that a step may have; listed in error messages. */
export const stepWords = [...Object.keys(stepKinds), 'again']

const isKind = (name: string): name is Kind => Object.hasOwn(stepKinds, name)
export const isFault = (step: ScriptStep): step is ScriptFault => 'times' in step
export const isModelTurn = (step: ScriptStep): step is ModelTurn => !isFault(step) && step.kind !== 'wait'

const stepSchema = z.unknown().transform((value, context): ScriptStep => {
  const problem = (message: string, path: PropertyKey[] = []): never => {
    context.addIssue({ code: 'custom', message, path })
    return z.NEVER
  }
  const names = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  const [name] = names
  const known = stepWords.join(', ')
  if (name === undefined || names.length !== 1)
    return problem(`a step is an object with exactly one of these keys: ${known}`)
  if (!isKind(name)) return problem(`unknown step "${name}"; the steps are: ${known}`)
  const parsed = stepKinds[name].safeParse((value as Record<string, unknown>)[name])
  if (parsed.success) return { kind: name, ...parsed.data } as ScriptStep
  for (const issue of parsed.error.issues) problem(issue.message, [name, ...issue.path])
  return z.NEVER
})

/** `{ "again": { "shell": "ls", "times": 20 } }` stands for twenty steps: a model that repeats itself. */
const againSchema = z
  .strictObject({ again: z.strictObject({ shell: filled, times: z.int().min(2).max(1000) }) })
  .transform(({ again }) =>
    Array.from({ length: again.times }, (): ScriptStep => ({ kind: 'shell', command: again.shell })),
  )

const isAgain = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).join() === 'again'

const stepsSchema = z
  .array(
    z.unknown().transform((value, context): ScriptStep[] => {
      const parsed = isAgain(value) ? againSchema.safeParse(value) : z.array(stepSchema).safeParse([value])
      if (parsed.success) return parsed.data
      for (const { message, path } of parsed.error.issues)
        context.addIssue({ code: 'custom', message, path: isAgain(value) ? path : path.slice(1) })
      return z.NEVER
    }),
  )
  .min(1)
  .transform((steps) => steps.flat())

const conversationSchema = z
  .strictObject({
    name: filled,
    /** Texts that all have to occur in the prompt; one text may be given without a list. */
    match: z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(filled).min(1)).optional(),
    default: z.literal(true).optional(),
    usage: z
      .strictObject({ inputTokens: z.int().nonnegative(), outputTokens: z.int().nonnegative() })
      .default({ inputTokens: 1000, outputTokens: 50 }),
    steps: stepsSchema,
  })
  .superRefine((conversation, context) => {
    if ((conversation.match === undefined) === (conversation.default === undefined))
      context.addIssue({ code: 'custom', message: 'needs either "match" or "default": true', path: ['match'] })
    const endless = conversation.steps.findIndex((step) => isFault(step) && step.times === 'always')
    if (endless !== -1 && endless < conversation.steps.length - 1)
      context.addIssue({
        code: 'custom',
        message: `can never be reached: step ${endless} happens "always"`,
        path: ['steps', endless + 1],
      })
  })

const scriptSchema = z
  .strictObject({ conversations: z.array(conversationSchema).min(1) })
  .superRefine((script, context) => {
    const seen = new Set<string>()
    for (const [index, { name }] of script.conversations.entries()) {
      if (seen.has(name))
        context.addIssue({ code: 'custom', message: `"${name}" is used twice`, path: ['conversations', index, 'name'] })
      seen.add(name)
    }
    const [, second] = [...script.conversations.entries()].filter(([, conversation]) => conversation.default)
    if (second !== undefined)
      context.addIssue({
        code: 'custom',
        message: 'only one conversation may be the default',
        path: ['conversations', second[0], 'default'],
      })
  })

export type SimScript = z.output<typeof scriptSchema>
export type Conversation = SimScript['conversations'][number]
/** A script as its author writes it: the JSON form, before defaults. */
export interface ScriptInput {
  conversations: {
    name: string
    match?: string | string[]
    default?: true
    usage?: { inputTokens: number; outputTokens: number }
    steps: ({ [K in Kind]: Record<K, z.input<(typeof stepKinds)[K]>> }[Kind] | z.input<typeof againSchema>)[]
  }[]
}

const pathText = (path: PropertyKey[]): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`))
    .join('')

/** Parses a script; throws INPUT_INVALID with every problem. `source` names the script in messages. */
export const parseScript = (value: unknown, source: string): SimScript => {
  const parsed = scriptSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `  ${pathText(issue.path) || 'the script'}: ${issue.message}`)
  throw new AppError(
    'INPUT_INVALID',
    `the script ${source} is not valid; correct these fields:\n${problems.join('\n')}`,
  )
}

/** Reads a script file (JSON). */
export const readScript = (path: string): SimScript => {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new AppError(
      'INPUT_INVALID',
      `cannot read the script ${path} (${messageOf(cause)}); correct its path or permissions`,
      { cause },
    )
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new AppError('INPUT_INVALID', `the script ${path} is not JSON (${messageOf(cause)}); correct its syntax`, {
      cause,
    })
  }
  return parseScript(value, path)
}
