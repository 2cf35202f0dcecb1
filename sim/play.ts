/**
 * Which conversation a request belongs to and what happens next in it. Pure. The position is computed from the request
 * (`turns` = turns of the model that the client has kept and finished), so a retry, a resumed session or a restarted
 * server goes on at the right step. Only the faults that were already dealt out are remembered, by the server, per conversation.
 */
import { dirname, isAbsolute, join } from 'node:path'
import { AppError } from '../src/errors.ts'
import type { Answer, Conversation, Fault, Script } from './script.ts'
import { isAnswer, isFault } from './script.ts'

/** `step` is the index in `steps`; it is undefined when the script has run out. A fault carries the answer that it spoils. */
export interface Move {
  step: number | undefined
  waitSeconds: number
  fault: Fault | undefined
  answer: Answer
}

const closing: Answer = { kind: 'text', text: 'The script has no further step.' }

/** The first conversation whose marker occurs in the opening words, else the default one. */
export const pick = (script: Script, opening: string): Conversation | undefined =>
  script.conversations.find(({ match }) => match !== undefined && opening.includes(match)) ??
  script.conversations.find((conversation) => conversation.default)

/** `dealt(step)` is how many requests have already got the fault of that step. */
export const next = (conversation: Conversation, turns: number, dealt: (step: number) => number): Move => {
  const answers = [...conversation.steps.entries()].filter(([, step]) => isAnswer(step)).map(([index]) => index)
  const end = conversation.steps.length
  const from = turns === 0 ? 0 : (answers[turns - 1] ?? end - 1) + 1
  const at = answers[turns] ?? end
  const due = conversation.steps[at]
  const answer = due !== undefined && isAnswer(due) ? due : closing
  let waitSeconds = 0
  for (let step = from; step < at; step += 1) {
    const before = conversation.steps[step]
    if (before?.kind === 'wait') waitSeconds += before.seconds
    if (before === undefined || !isFault(before)) continue
    if (before.times === 'always' || dealt(step) < before.times) return { step, waitSeconds, fault: before, answer }
    waitSeconds = 0 // waits in front of a fault belong to it, not to what follows
  }
  return { step: at < end ? at : undefined, waitSeconds, fault: undefined, answer }
}

const quoted = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`

// It also ends when its folder is gone, so that a held command that outlived its agent and its test does not spin for ever.
const holdCommand = (until: string, mark: string | undefined): string =>
  `${mark === undefined ? '' : `echo > ${quoted(mark)}; `}until [ -e ${quoted(until)} ] || [ ! -d ${quoted(dirname(until))} ]; do sleep 0.1; done`

/** Puts the agent's own working directory into paths and commands; a relative path is meant below it. */
export const settle = (answer: Answer, cwd: string | undefined): Exclude<Answer, { kind: 'hold' }> => {
  const fill = (text: string): string => {
    if (cwd === undefined && text.includes('{cwd}'))
      throw new AppError(
        'INPUT_INVALID',
        `The request names no working directory, so {cwd} in "${text}" cannot be filled`,
      )
    return text.replaceAll('{cwd}', cwd ?? '')
  }
  const place = (path: string): string => {
    const full = fill(path)
    return isAbsolute(full) || cwd === undefined ? full : join(cwd, full)
  }
  switch (answer.kind) {
    case 'write':
    case 'edit':
    case 'read':
      return { ...answer, path: place(answer.path) }
    case 'shell':
      return { kind: 'shell', command: fill(answer.command) }
    case 'hold':
      return { kind: 'shell', command: holdCommand(place(answer.until), answer.mark && place(answer.mark)) }
    case 'text':
      return answer
  }
}
