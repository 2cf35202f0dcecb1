/**
 * Chooses the conversation for a request and the next step in it. Pure. The position is computed from the request (`turns` =
 * finished turns of the model in it), so a retry, a resumed session or a restarted server continues at the right step. The
 * server only remembers, per conversation, how often each fault has been injected.
 */
import { dirname, isAbsolute, join } from 'node:path'
import { AppError } from '../src/errors.ts'
import type { FilledTurn } from './protocol.ts'
import type { ModelTurn, Conversation, ScriptFault, SimScript } from './script.ts'
import { isModelTurn, isFault } from './script.ts'

/** `step` is the index in `steps`; undefined after the last step. With a fault, `answer` is the answer that the fault spoils. */
export interface ScriptMove {
  step: number | undefined
  waitSeconds: number
  fault: ScriptFault | undefined
  turn: ModelTurn
}

const closing: ModelTurn = { kind: 'text', text: 'The script has no further step.' }

/** The first conversation whose `match` occurs completely in the opening text, or else the default one. */
export const pickConversation = (script: SimScript, opening: string): Conversation | undefined =>
  script.conversations.find(({ match }) => match?.every((text) => opening.includes(text)) === true) ??
  script.conversations.find((conversation) => conversation.default)

/** `injected(step)` is the number of requests that have already received the fault of that step. */
export const nextMove = (conversation: Conversation, turns: number, injected: (step: number) => number): ScriptMove => {
  const answers = [...conversation.steps.entries()].filter(([, step]) => isModelTurn(step)).map(([index]) => index)
  const end = conversation.steps.length
  const from = turns === 0 ? 0 : (answers[turns - 1] ?? end - 1) + 1
  const at = answers[turns] ?? end
  const due = conversation.steps[at]
  const answer = due !== undefined && isModelTurn(due) ? due : closing
  let waitSeconds = 0
  for (let step = from; step < at; step += 1) {
    const before = conversation.steps[step]
    if (before?.kind === 'wait') waitSeconds += before.seconds
    if (before === undefined || !isFault(before)) continue
    if (before.times === 'always' || injected(step) < before.times)
      return { step, waitSeconds, fault: before, turn: answer }
    waitSeconds = 0 // a wait before a fault belongs to the fault, not to the next step
  }
  return { step: at < end ? at : undefined, waitSeconds, fault: undefined, turn: answer }
}

const quoted = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`

// The loop also ends when the folder is removed; otherwise a held command that survived its test would run for ever.
const holdCommand = (until: string, mark: string | undefined): string =>
  `${mark === undefined ? '' : `echo > ${quoted(mark)}; `}until [ -e ${quoted(until)} ] || [ ! -d ${quoted(dirname(until))} ]; do sleep 0.1; done`

/** Fills in the working directory of the agent: replaces {cwd}, and makes relative paths absolute. */
export const fillIn = (answer: ModelTurn, cwd: string | undefined): FilledTurn => {
  const fill = (text: string): string => {
    if (cwd === undefined && text.includes('{cwd}'))
      throw new AppError(
        'INPUT_INVALID',
        `The request names no working directory, so {cwd} in "${text}" cannot be filled`,
      )
    return text.replaceAll('{cwd}', cwd ?? '')
  }
  const absolute = (path: string): string => {
    const full = fill(path)
    return isAbsolute(full) || cwd === undefined ? full : join(cwd, full)
  }
  switch (answer.kind) {
    case 'write':
    case 'edit':
    case 'read':
      return { ...answer, path: absolute(answer.path) }
    case 'shell':
      return { kind: 'shell', command: fill(answer.command) }
    case 'hold':
      return { kind: 'shell', command: holdCommand(absolute(answer.until), answer.mark && absolute(answer.mark)) }
    case 'text':
    case 'tool':
      return answer
    case 'answer':
      return { kind: 'text', text: answer.text }
  }
}
