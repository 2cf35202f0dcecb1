/** Asks the open questions after a command has followed a goal: one key each for the diff, the log and every choice. Terminals only. */
import type { AlwaysChangeView, DiffView, Escalation, LogView } from '../../api/contract.ts'
import { AppError } from '../../errors.ts'
import { alwaysLines } from '../always-lines.ts'
import { diffLines } from '../diff-lines.ts'
import type { Client } from '../engine/client.ts'
import { printLine, type Io } from '../io.ts'
import type { Prompt } from '../prompt.ts'
import { createPaint, safe } from '../render.ts'
import { userName } from '../user-name.ts'

/** The command ends after this time, because the terminal may be unattended. */
const longestWaitMs = 10 * 60_000
const logLines = 20
/** Each choice has a digit as its key. */
const maxChoices = 9

type Choice = Escalation['choices'][number]

export const promptText = ({ runId, choices }: Pick<Escalation, 'runId' | 'choices'>, canSkip?: boolean): string => {
  const shown = choices.slice(0, maxChoices)
  const range = shown.length > 1 ? `1-${shown.length} choose` : '1 choose'
  return [
    ...(runId === null ? [] : ['d diff', 'l log']),
    ...(canSkip === undefined ? shown.map(({ label }, index) => `${index + 1} ${safe(label)}`) : [range]),
    ...(canSkip === true ? ['n next'] : []),
    'Enter quit',
  ].join('  ')
}

export interface Asking {
  io: Io
  keys: Prompt
  client: Client
  question: Escalation
  signal: AbortSignal
  /** Whether other questions follow, to which `n` leads. Absent = the choices are not listed above, so the prompt names them. */
  canSkip?: boolean
}

const showDiff = async ({ io, client }: Asking, run: string): Promise<void> => {
  const view = await client.get<DiffView>(`/runs/${run}/diff`)
  for (const text of diffLines(createPaint(io.colours), view)) printLine(io, text)
}

const showLog = async ({ io, client, signal }: Asking, run: string): Promise<void> => {
  let last: LogView['lines'] = []
  let cursor: LogView['next'] = { launch: 0, stdout: 0, stderr: 0 }
  for (let ended = false; !ended && !signal.aborted;) {
    const { launch, stdout, stderr } = cursor
    const page = await client.get<LogView>(`/runs/${run}/log?launch=${launch}&stdout=${stdout}&stderr=${stderr}`)
    last = [...last, ...page.lines].slice(-logLines)
    ended = page.ended || JSON.stringify(page.next) === JSON.stringify(cursor)
    cursor = page.next
  }
  if (last.length === 0) printLine(io, 'The agent printed no output.')
  for (const { kind, text } of last) printLine(io, `${kind.padEnd(10)} ${safe(text)}`)
}

/** The input for a choice, '' if it takes none; undefined if the person backed out. */
const inputFor = async ({ io, keys, signal }: Asking, { input, kind, label }: Choice): Promise<string | undefined> => {
  if (kind === 'cancel') {
    printLine(io, `${safe(label)}? y yes  any other key no`)
    return (await keys.key(signal)) === 'y' ? '' : undefined
  }
  if (input === null) return ''
  const suggested = input.suggested === null ? '' : ` [${safe(input.suggested)}]`
  const typed = (await keys.line(`${safe(input.label)}${suggested}: `, signal))?.trim()
  return typed === '' && input.required && input.suggested === null ? undefined : typed
}

/** Shows what would be written into the configuration; undefined if the person does not want it. */
const confirmChange = async ({ io, keys, client, question, signal }: Asking): Promise<string | undefined> => {
  const change = await client.get<AlwaysChangeView>(`/escalations/${question.id}/always`)
  for (const text of alwaysLines(createPaint(io.colours), change)) printLine(io, text)
  printLine(io, 'Write this? y yes  any other key no')
  return (await keys.key(signal)) === 'y' ? change.seen : undefined
}

/** Sends the choice; undefined if that did not answer the question. */
const send = async (asking: Asking, choice: Choice): Promise<GivenAnswer | undefined> => {
  const { io, client, question } = asking
  const input = await inputFor(asking, choice)
  if (input === undefined) return undefined
  const seen = choice.kind === 'approve_always' ? await confirmChange(asking) : ''
  if (seen === undefined) return undefined
  const request = {
    ...{ choice: choice.id, by: userName() },
    ...(input === '' ? {} : { input }),
    ...(seen === '' ? {} : { seen }),
  }
  const answered = await client.post<Escalation>(`/escalations/${question.id}/answer`, request)
  if (answered.state === 'pending') {
    printLine(io, `Run this command yourself: ${safe(choice.command)}`)
    return undefined
  }
  printLine(io, `${safe(choice.label)}: done. ${safe(choice.effect)}`)
  return { choice, input }
}

/** '' = the choice took no text, or kept its suggestion. */
export interface GivenAnswer {
  choice: Choice
  input: string
}

type AskOutcome = 'left' | 'again' | 'next' | GivenAnswer

const take = async (asking: Asking, key: string | undefined): Promise<AskOutcome> => {
  const { runId, choices } = asking.question
  if (key === 'n' && asking.canSkip === true) return 'next'
  // Enter, q, Escape, Ctrl-C and Ctrl-D.
  if (key === undefined || ['\r', '\n', 'q', '\u001b', '\u0003', '\u0004'].includes(key)) return 'left'
  if (key === 'd' && runId !== null) await showDiff(asking, runId)
  if (key === 'l' && runId !== null) await showLog(asking, runId)
  const choice = /^[1-9]$/.test(key) ? choices[Number(key) - 1] : undefined
  return (choice === undefined ? undefined : await send(asking, choice)) ?? 'again'
}

/** Asks for one key. */
export const askOne = async (asking: Asking): Promise<AskOutcome> => {
  printLine(asking.io, createPaint(asking.io.colours).bold(promptText(asking.question, asking.canSkip)))
  try {
    return await take(asking, await asking.keys.key(asking.signal))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    printLine(asking.io, safe(error.message))
    // Every key needs the engine, so without one there is nothing to do but quit.
    return error.code === 'ENGINE_UNAVAILABLE' ? 'left' : 'again'
  }
}

/** For one question: the terminal may be unattended. */
export const askingSignal = (io: Io): AbortSignal => AbortSignal.any([io.signal, AbortSignal.timeout(longestWaitMs)])

/** Asks until every question of the goal is answered or the person quits. */
export const askAtEnd = async (io: Io, client: Client, goalId: string): Promise<void> => {
  const { prompt } = io
  if (prompt === undefined) return
  const open = (): Promise<Escalation[]> => client.get<Escalation[]>(`/escalations?goal=${goalId}&state=pending`)
  let outcome: AskOutcome = 'again'
  for (let questions = await open(); outcome !== 'left';) {
    const [question] = questions
    if (question === undefined) return
    if (questions.length > 1 || typeof outcome === 'object')
      printLine(
        io,
        `${safe(question.happened === '' ? question.question : question.happened)} (${questions.length} open)`,
      )
    outcome = await askOne({ io, keys: prompt, client, question, signal: askingSignal(io) })
    if (typeof outcome === 'object') questions = await open()
  }
}
