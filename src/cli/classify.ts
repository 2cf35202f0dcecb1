/** The work of `unstuck classify`: explains one log to a person, or classifies a stream of entries, one JSON object per entry. */
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { AppError, exitCodes } from '../errors.ts'
import {
  classify as classifyFailure,
  type NoFailureReason,
  type Classification,
} from '../recovery/diagnosis/classify.ts'
import { labels, adviceOf, type Label, type RecoveryKind } from '../recovery/diagnosis/labels.ts'
import { printLine, printJson, type Io } from './io.ts'
import { readLog } from './read-log.ts'
import { safe } from './render.ts'

const entrySchema = z.object({
  id: z.string(),
  command: z.string(),
  exit_code: z.number().int().nullish(),
  signal: z.string().nullish(),
  stdout: z.string().nullish(),
  stderr: z.string().nullish(),
  plan: z.array(z.string()).nullish(),
  plan_index: z.number().int().nonnegative().nullish(),
})

type Entry = z.infer<typeof entrySchema>

const resultOf = (entry: Entry): unknown => {
  const { plan, plan_index: planIndex } = entry
  const found = classifyFailure({
    command: entry.command,
    exitCode: entry.exit_code ?? null,
    signal: entry.signal ?? null,
    stdout: entry.stdout ?? '',
    stderr: entry.stderr ?? '',
    ...(plan == null || planIndex == null ? {} : { plan, planIndex }),
  })
  return {
    id: entry.id,
    label: found.label,
    failure_code: found.failureCode,
    category: found.category,
    is_infra: found.isInfra,
    retryable: found.retryable,
    recovery_kind: found.recoveryKind,
    evidence: found.evidence,
    signature: found.signature,
  }
}

const readEntry = (text: string): Entry | string => {
  try {
    const read = entrySchema.safeParse(JSON.parse(text))
    return read.success ? read.data : z.prettifyError(read.error).replaceAll('\n', ' ')
  } catch {
    // The message of the JSON parser quotes the input, which may be long, so it is not repeated.
    return 'not JSON'
  }
}

const classifyStream = async (io: Io): Promise<number> => {
  let bad = 0
  let number = 0
  for await (const text of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1
    if (io.signal.aborted) return exitCodes.failed
    if (text.trim() === '') continue
    const entry = readEntry(text)
    if (typeof entry !== 'string') {
      printJson(io, resultOf(entry))
      continue
    }
    bad += 1
    io.error(`unstuck: line ${number}: ${safe(entry)}\n`)
  }
  return bad > 0 ? exitCodes.usage : exitCodes.ok
}

export interface ClassifyOptions {
  jsonl?: true
  command?: string
  exitCode?: number
}

const calm: Record<NoFailureReason, string> = {
  empty: 'The log is empty.',
  passed: 'A test runner counted passed tests and no failed ones, and no error follows.',
  quiet: 'No line reports an error.',
}

/** What a run does on its own with a check that failed in this way. */
const inRun: Record<RecoveryKind, string> = {
  drop_command: 'Unstuck drops the check only if it fails in the same way without the agent’s work.',
  reorder: 'Unstuck runs the build before the check.',
  reinstall: 'Unstuck installs the dependencies again and repeats the check.',
  install: 'Unstuck installs the project’s dependencies and repeats the check.',
  rebuild: 'Unstuck runs the check without the agent’s work too; if it passes there, the agent gets the message.',
  retry_later: 'Unstuck repeats the check after increasing delays.',
  escalate: 'Unstuck stops the task and asks you, unless the same check passes without the agent’s work.',
  code_fix: 'Unstuck sends the message to the agent, then checks its work again.',
  adjust_paths: 'Unstuck tells the agent which paths are allowed and starts it again.',
  relaunch: 'Unstuck starts the agent again with the setting corrected.',
}

/** A check that failed for an unknown reason still counts against the work, so the agent gets its message. */
const inRunOf = (label: Label, kind: RecoveryKind): string => inRun[label === 'unknown' ? 'code_fix' : kind]

const printCalm = (io: Io, evidence: string, why: NoFailureReason): void => {
  printLine(io, `No failure found. ${calm[why]}`)
  if (why !== 'empty') printLine(io, `  shown by  ${safe(evidence)}`)
  printLine(
    io,
    '  next      If the command did fail, add the command and its exit status: --command "npm test" --exit-code 1',
  )
}

const printCause = (io: Io, found: Classification): void => {
  const { label, failureCode, isInfra, recoveryKind, evidence } = found
  const where = label === 'unknown' ? '' : `; caused by ${isInfra ? 'the environment' : 'the code'}`
  printLine(io, labels[label].meaning)
  printLine(io, `  shown by  ${safe(evidence)}`)
  printLine(io, `  label     ${label} (${failureCode})${where}`)
  printLine(io, `  next      ${adviceOf(recoveryKind)}`)
  printLine(io, `  in a run  ${inRunOf(label, recoveryKind)}`)
}

export const classifyCommand = async (io: Io, file: string | undefined, options: ClassifyOptions): Promise<number> => {
  if (options.jsonl === true) return classifyStream(io)
  if (file === undefined)
    throw new AppError('USAGE', 'which log? Give the path of a log file, "-" for standard input, or --jsonl')
  // A log holds both streams of a command. It is read as standard error, where most tools report failures.
  const found = classifyFailure({
    command: options.command ?? '',
    exitCode: options.exitCode ?? null,
    signal: null,
    stdout: '',
    stderr: await readLog(io, file),
  })
  if (found.noFailure === undefined) printCause(io, found)
  else printCalm(io, found.evidence, found.noFailure)
  return exitCodes.ok
}
