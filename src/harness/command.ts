/**
 * Any program as an agent: it gets the prompt, and its exit code is its verdict. There is no protocol, hence no session, no
 * tokens and no denials. What it prints is looked at with a failing exit alone: its last words may be a provider's refusal.
 */
import { AppError } from '../errors.ts'
import { limitOf } from '../recovery/limit.ts'
import type { AgentExit, Driver, LaunchLine, LaunchRequest, Reading, ReportedError, Settled } from './driver.ts'
import type { Step } from './reading.ts'
import { cut, cutText, emptyReading, endOf, exitError, failing, withLine, withStderr } from './reading.ts'

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
  // One pass per argument: a placeholder inside the prompt is the prompt's text.
  const argv = template.map((argument) => argument.replace(placeholder, (whole, name: string) => values[name] ?? whole))
  const mode = request.promptMode ?? 'argument'
  const handedOver = template.some((argument) => /\{prompt(?:File)?\}/.test(argument))
  const rest = { cwd: request.workspace, env: {}, stdinFile: mode === 'stdin' ? request.promptFile : null }
  if (mode === 'stdin' || handedOver) return { argv, ...rest }
  return { argv: [...argv, mode === 'file' ? request.promptFile : (values['prompt'] ?? '')], ...rest }
}

const read = (reading: Reading, stream: 'stdout' | 'stderr', line: string): Step => {
  if (line.trim() === '') return { reading }
  const note = { kind: 'text', text: cut(line) } as const
  if (stream === 'stderr') return { reading: withStderr(reading, line), note }
  return {
    reading: { ...reading, lastText: cutText(line), stdoutTail: withLine(reading.stdoutTail ?? [], line) },
    note,
  }
}

const longestSaid = 16_000
/** On standard output the model speaks: what is said about the end stands at the end. */
const lastOutput = 3

/** What explains the exit; a CLI in its text mode says on standard output what its provider refuses. */
const saidBy = ({ stderrTail, stdoutTail = [] }: Reading): ReportedError | undefined => {
  const said = [stderrTail, stdoutTail.slice(-lastOutput)].map((lines): ReportedError => ({
    source: 'stderr',
    text: endOf(lines.join('\n'), longestSaid),
  }))
  return (
    said.find((error) => limitOf(error) !== undefined) ?? said.find(({ text }) => text !== '' && stderrTail.length > 0)
  )
}

const settle = (reading: Reading, exit: AgentExit): Settled => {
  if (exit.code === 0 && exit.stopCause === undefined) return { ok: true, text: reading.lastText }
  // EX_TEMPFAIL of sysexits.h: "not now, try again", said by a program without any text being read.
  if (exit.code === 75 && exit.stopCause === undefined) {
    const text = cutText(reading.stderrTail.at(-1) ?? 'the command asks to be tried again later (exit status 75)')
    return { ok: false, fatal: true, error: { source: 'exit', type: 'temporary_failure', text } }
  }
  const said = failing(exit) ? saidBy(reading) : undefined
  if (said !== undefined) return { ok: false, fatal: true, error: said }
  const error = exitError('the command', reading, exit)
  // A command has no final event, so its exit code is all that can be wrong.
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
  userCommand: {
    form: '',
    isHeadless: () => true,
    line: (args) => ({ args, env: {}, resumed: false }),
    restriction: () => ({ tools: false, dirs: false, writes: true, trust: false }),
    decided: [],
    writes: { tools: [] },
  },
  begin: emptyReading,
  read,
  settle,
}
