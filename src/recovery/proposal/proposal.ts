/**
 * `recovery.json`: what an agent proposes when the checks could not run because of the environment. The agent only describes; what
 * runs is decided by the owner's lists and by people. A field that this version does not know is ignored and named, because a newer
 * agent may know more. Pure.
 */
import { z } from 'zod'
import { explainIssue, parseJson, pathText, prototypeKeyIn } from '../../validation.ts'
import { defaultTimeoutSeconds, longestCommand, longestTimeoutSeconds, whyNoCommand } from './command-text.ts'

export const proposalCategories = ['dependency', 'config', 'environment', 'permissions', 'network'] as const
export const proposalSeverities = ['blocking', 'degraded'] as const
export const confidences = ['high', 'medium', 'low'] as const
export type Confidence = (typeof confidences)[number]

const allowed = (values: readonly string[]): string => `allowed: ${values.map((value) => `"${value}"`).join(', ')}`

const closed = <const T extends readonly [string, ...string[]]>(values: T) => z.enum(values, { error: allowed(values) })

const longestText = 4000

const words = (what: string) => {
  const error = `allowed: ${what}, at most ${longestText} characters`
  return z
    .string({ error })
    .max(longestText, { error })
    .refine((text) => text.trim() !== '' && !text.includes('\0'), { error })
}

const commandError = 'allowed: a shell command in one line'

const command = z
  .string({ error: commandError })
  .max(longestCommand, { error: `allowed: at most ${longestCommand} characters` })
  .superRefine((text, context) => {
    const problem = whyNoCommand(text)
    if (problem !== undefined) context.addIssue({ code: 'custom', message: `${problem}; ${commandError}` })
  })
  .meta({ description: 'Shell command to execute. It is compared with the lists of the owner byte by byte.' })

const folderError = 'allowed: a folder inside the repository, relative to its top, at most 1024 characters'

const folder = z
  .string({ error: folderError })
  .max(1024, { error: folderError })
  .refine((text) => text !== '' && !/\p{Cc}/u.test(text) && text.isWellFormed() && !/^[/~]/.test(text), {
    error: folderError,
  })
  .refine((text) => !text.split('/').includes('..'), { error: `it leads out with ".."; ${folderError}` })
  .meta({ description: 'Directory to run the command in. Default: the top of the repository.' })

const secondsError = `allowed: a whole number of seconds from 1 to ${longestTimeoutSeconds}`

const seconds = z
  .int({ error: secondsError })
  .min(1, { error: secondsError })
  .max(longestTimeoutSeconds, { error: secondsError })
  .meta({ description: `Max execution time. Default: ${defaultTimeoutSeconds}.` })

const outcome = words('a text').meta({ description: 'What success looks like.' })
const confidence = closed(confidences).meta({
  description: 'high: seen this exact pattern, medium: similar patterns, low: best guess.',
})

const section = <T extends z.ZodRawShape>(shape: T) => z.object(shape, { error: 'allowed: an object' })

const timestampError = 'allowed: a time such as "2026-01-23T05:36:33Z"'

export const proposalSchema = section({
  version: z.literal(1, { error: 'allowed: 1' }),
  timestamp: z.iso
    .datetime({ offset: true, local: true, error: timestampError })
    .max(64, { error: timestampError })
    .meta({ description: 'When the diagnosis was made.' }),
  category: closed(proposalCategories),
  severity: closed(proposalSeverities).meta({
    description: 'blocking: the tests cannot run. degraded: a part of them fails.',
  }),
  diagnosis: section({
    error_pattern: words('a regular expression').meta({
      description: 'Regular expression (RE2) that matches the output of the failed check.',
    }),
    root_cause: words('a text').meta({ description: 'Explanation for people.' }),
    evidence: z
      .array(words('a text'), { error: 'allowed: a list of texts' })
      .max(100, { error: 'allowed: at most 100 entries' })
      .meta({ description: 'References such as "test-output.txt:3: <text>" that support the diagnosis.' }),
  }),
  recovery: section({
    command,
    working_dir: folder.nullable().exactOptional(),
    timeout_seconds: seconds.nullable().exactOptional(),
    expected_outcome: outcome,
    confidence,
  }),
  fallback: section({
    command,
    working_dir: folder.nullable().exactOptional(),
    timeout_seconds: seconds.nullable().exactOptional(),
    expected_outcome: outcome.exactOptional(),
    confidence,
  })
    .nullable()
    .exactOptional()
    .meta({ description: 'Alternative command if the first has no effect. It passes the same checks.' }),
})

export type Proposal = z.output<typeof proposalSchema>

export type ReadProposal =
  /** `offset`: of the timestamp from UTC as written, such as "Z" or "+02:00"; null = it states none. `ignored`: fields without a meaning here. */
  | { ok: true; proposal: Proposal; offset: string | null; ignored: string[] }
  /** `field`: the first wrong field, such as `recovery.timeout_seconds`; '' = the whole file. */
  | { ok: false; field: string; problem: string }

/** In bytes. */
export const largestProposal = 256 * 1024

const keysAt = (path: readonly PropertyKey[]): string[] => {
  const shape: Record<string, unknown> = proposalSchema.shape
  const [first] = path
  if (first === undefined) return Object.keys(shape)
  const inner = first === 'fallback' ? proposalSchema.shape.fallback.unwrap().unwrap() : shape[String(first)]
  return Object.keys((inner as { shape?: object } | undefined)?.shape ?? {})
}

const mostIgnored = 20

/** Fields without a meaning, such as `recovery.retries`. */
const ignoredIn = (value: Record<string, unknown>, path: readonly string[] = []): string[] => {
  const known = new Set(keysAt(path))
  return Object.entries(value).flatMap(([key, inner]) => {
    if (!known.has(key)) return [pathText([...path, key])]
    const isSection = path.length === 0 && typeof inner === 'object' && inner !== null && !Array.isArray(inner)
    return isSection ? ignoredIn(inner as Record<string, unknown>, [key]) : []
  })
}

const whole = (problem: string): ReadProposal => ({ ok: false, field: '', problem: `recovery.json: ${problem}` })

/** Names the first wrong field, and up to five problems in words. Never throws. */
export const checkProposal = (value: unknown): ReadProposal => {
  const result = proposalSchema.safeParse(value)
  if (!result.success) {
    const [issue] = result.error.issues
    const field = pathText(issue?.path ?? [])
    return { ok: false, field, problem: `recovery.json: ${explainIssue(result.error, value, keysAt)}` }
  }
  const offset = /(?:Z|[+-]\d\d:?\d\d)$/.exec(result.data.timestamp)?.[0] ?? null
  const ignored = ignoredIn(value as Record<string, unknown>).slice(0, mostIgnored)
  return { ok: true, proposal: result.data, offset, ignored }
}

/** Reads the bytes of `recovery.json`. */
export const readProposal = (bytes: Uint8Array): ReadProposal => {
  if (bytes.length > largestProposal) return whole(`it is larger than ${largestProposal / 1024} KiB`)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return whole('it is not UTF-8')
  }
  const json = parseJson(text)
  if (!json.ok) return whole(`it is not JSON (${json.problem})`)
  const polluting = prototypeKeyIn(json.value)
  return polluting === undefined ? checkProposal(json.value) : whole(`it has the key ${polluting}`)
}

/** The JSON Schema that is published; `scripts/generate.ts` writes it to schema/recovery.schema.json. */
export const proposalJsonSchema = (): Record<string, unknown> => ({
  ...(z.toJSONSchema(proposalSchema, { target: 'draft-2020-12', io: 'input' }) as Record<string, unknown>),
  title: 'Recovery proposal of an agent (recovery.json)',
})

export const proposalSteps = ['primary', 'fallback'] as const
export type ProposalStep = (typeof proposalSteps)[number]

/** One command of a proposal with everything that is needed to run it. */
export interface ProposedCommand {
  step: ProposalStep
  command: string
  workingDir: string
  timeoutSeconds: number
  confidence: Confidence
}

/** The command of a step. A fallback runs where and as long as the first command, unless it says otherwise. */
export const proposedCommandOf = (
  { recovery, fallback }: Proposal,
  step: ProposalStep,
): ProposedCommand | undefined => {
  const given = step === 'primary' ? recovery : fallback
  if (given === undefined || given === null) return undefined
  return {
    step,
    command: given.command,
    workingDir: given.working_dir ?? recovery.working_dir ?? '.',
    timeoutSeconds: given.timeout_seconds ?? recovery.timeout_seconds ?? defaultTimeoutSeconds,
    confidence: given.confidence,
  }
}
