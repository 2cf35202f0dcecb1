/**
 * Driver for any program as an agent: it gets the prompt, and its exit code is the result. There is no protocol, hence no sessions,
 * tokens or denials. Of its output, only the last lines before a failing exit are examined, because they may be a provider's refusal, and
 * a last line that is an event of an error.
 */
import { AppError } from '../errors.ts'
import { limitOf } from '../recovery/limit.ts'
import type { AgentExit, Driver, LaunchLine, LaunchRequest, Transcript, ReportedError, Conclusion } from './driver.ts'
import { objectAt, parseLine, textAt } from './json-line.ts'
import type { ParsedLine } from './transcript.ts'
import { cut, cutText, emptyTranscript, endOf, exitError, hasFailingExit, withLine, withStderr } from './transcript.ts'

const placeholder = /\{(prompt|promptFile|workspace|runDir)\}/g

const valuesOf = (request: LaunchRequest): Record<string, string> => ({
  prompt: request.prompt.replaceAll('\0', '\u{fffd}'),
  promptFile: request.promptFile,
  workspace: request.workspace,
  runDir: request.runDir,
})

const programOf = (request: LaunchRequest): string[] => {
  if (request.program === undefined || request.program.length === 0)
    throw new AppError('HARNESS_MISSING', 'harness.command.command is empty: set it to the program and its arguments')
  return request.program
}

const launch = (request: LaunchRequest): LaunchLine => {
  const template = [...programOf(request), ...request.extraArgs]
  const values = valuesOf(request)
  // Each argument is replaced in one pass, so a placeholder inside the prompt stays text.
  const argv = template.map((argument) => argument.replace(placeholder, (whole, name: string) => values[name] ?? whole))
  const mode = request.promptMode ?? 'argument'
  const handedOver = template.some((argument) => /\{prompt(?:File)?\}/.test(argument))
  const rest = { cwd: request.workspace, env: {}, stdinFile: mode === 'stdin' ? request.promptFile : null }
  if (mode === 'stdin' || handedOver) return { argv, ...rest }
  return { argv: [...argv, mode === 'file' ? request.promptFile : (values['prompt'] ?? '')], ...rest }
}

const read = (reading: Transcript, stream: 'stdout' | 'stderr', line: string): ParsedLine => {
  if (line.trim() === '') return { transcript: reading }
  const note = { kind: 'text', text: cut(line) } as const
  if (stream === 'stderr') return { transcript: withStderr(reading, line), note }
  return {
    transcript: { ...reading, lastText: cutText(line), stdoutTail: withLine(reading.stdoutTail ?? [], line) },
    note,
  }
}

const longestSaid = 16_000
/** Standard output is mostly the model's text; only its last lines can explain the exit. */
const lastOutput = 3

/** The lines that explain the exit. A CLI in text mode prints its provider's refusal on standard output. */
const saidBy = ({ stderrTail, stdoutTail = [] }: Transcript): ReportedError | undefined => {
  const said = [stderrTail, stdoutTail.slice(-lastOutput)].map((lines): ReportedError => ({
    source: 'stderr',
    text: endOf(lines.join('\n'), longestSaid),
  }))
  return (
    said.find((error) => limitOf(error) !== undefined) ?? said.find(({ text }) => text !== '' && stderrTail.length > 0)
  )
}

/**
 * The error of an agent CLI that prints JSON lines and ends with 0 whatever happened. Only the last line counts, only as an object with the
 * type of an event, and only its own fields: anything else is the model's text.
 */
const finalError = ({ stdoutTail = [] }: Transcript): ReportedError | undefined => {
  const event = parseLine(stdoutTail.at(-1) ?? '')
  const type = textAt(event, 'type') ?? ''
  if (event === undefined || type === '') return undefined
  const error = objectAt(event, 'error')
  const says = textAt(event, 'error') ?? textAt(error, 'message') ?? textAt(objectAt(error, 'data'), 'message')
  const kinds = [textAt(event, 'subtype') ?? '', textAt(event, 'status') ?? '']
  const isResultOfError = type === 'result' && (kinds.some((kind) => kind.startsWith('error')) || Boolean(says))
  if (event.is_error !== true && !/^(?:error|turn\.failed)$/.test(type) && !isResultOfError) return undefined
  const text = says ?? textAt(event, 'result') ?? textAt(event, 'message') ?? 'its last event tells an error'
  return { source: 'event', text: cutText(text) }
}

const settle = (reading: Transcript, exit: AgentExit): Conclusion => {
  if (exit.code === 0 && exit.stopCause === undefined) {
    const error = finalError(reading)
    return error === undefined ? { ok: true, text: reading.lastText } : { ok: false, fatal: true, error }
  }
  // EX_TEMPFAIL of sysexits.h: the program asks to be tried again, so no text has to be examined.
  if (exit.code === 75 && exit.stopCause === undefined) {
    const text = cutText(reading.stderrTail.at(-1) ?? 'the command asks to be tried again later (exit status 75)')
    return { ok: false, fatal: true, error: { source: 'exit', type: 'temporary_failure', text } }
  }
  const said = hasFailingExit(exit) ? saidBy(reading) : undefined
  if (said !== undefined) return { ok: false, fatal: true, error: said }
  const error = exitError('the command', reading, exit)
  // A command has no final event, so the exit code is the failure.
  const isBadExit = error.type === 'no_result'
  return {
    ok: false,
    fatal: true,
    error: isBadExit ? { source: 'exit', type: 'bad_exit', text: `the command exited with ${exit.code}` } : error,
  }
}

export const command: Driver = {
  name: 'command',
  defaultProgram: null,
  tokenScope: 'none',
  environment: [],
  measured: [
    {
      version: '',
      capabilities: {
        ...{ resume: false, directories: false, commands: 'own', toolRules: false, callStarts: false },
        ...{ tokens: false, cost: false, retries: 'none' },
      },
    },
  ],
  launch,
  // The program has no mode of its own for this: the owner's program decides, and the folder is compared afterwards.
  question: (request) => launch({ ...request, addDirs: [], skipGitCheck: false, commands: [], toolRules: [] }),
  answersOnStdout: true,
  userCommand: {
    form: '',
    isHeadless: () => true,
    line: (args) => ({ args, env: {}, resumed: false }),
    restriction: () => ({ tools: false, dirs: false, writes: true, trust: false }),
    decided: [],
    writes: { tools: [] },
  },
  emptyTranscript,
  read,
  conclude: settle,
}
