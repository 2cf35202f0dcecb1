/** The work of `unstuck classify`: what a log means, for a person; or corpus entries in, one JSON object each out, as they come. */
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { AppError, exitCodes } from '../errors.ts'
import { classify as classifyFailure } from '../recovery/diagnosis/classify.ts'
import { labels, nextStepOf } from '../recovery/diagnosis/labels.ts'
import { line, printJson, type Io } from './io.ts'
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

const answer = (entry: Entry): unknown => {
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
    // The parser's own words quote the input; that it is no JSON is all there is to say.
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
      printJson(io, answer(entry))
      continue
    }
    bad += 1
    io.error(`unstuck: line ${number}: ${safe(entry)}\n`)
  }
  return bad > 0 ? exitCodes.usage : exitCodes.ok
}

const readAll = async (stream: AsyncIterable<Buffer | string>): Promise<string> => {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces).toString('utf8')
}

const readLog = async (io: Io, file: string): Promise<string> => {
  if (file === '-') return readAll(process.stdin)
  try {
    return await readAll(createReadStream(resolve(io.cwd, file)))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new AppError(
      'USAGE',
      `${file} cannot be read (${code ?? 'unknown'}); name a log file, or "-" for standard input`,
    )
  }
}

export interface ClassifyOptions {
  jsonl?: true
  command?: string
  exitCode?: number
}

export const classify = async (io: Io, file: string | undefined, options: ClassifyOptions): Promise<number> => {
  if (options.jsonl === true) return classifyStream(io)
  if (file === undefined) throw new AppError('USAGE', 'name a log file, "-" for standard input, or give --jsonl')
  // One file holds both streams of a command; most tools speak of trouble on the second.
  const found = classifyFailure({
    command: options.command ?? '',
    exitCode: options.exitCode ?? 1,
    signal: null,
    stdout: '',
    stderr: await readLog(io, file),
  })
  line(io, `${found.label} (${found.failureCode}, ${found.isInfra ? 'the environment' : 'the code'})`)
  line(io, `  shown by  ${safe(found.evidence)}`)
  line(io, `  means     ${labels[found.label].meaning}`)
  line(io, `  next      ${nextStepOf(found.recoveryKind)}`)
  return exitCodes.ok
}
