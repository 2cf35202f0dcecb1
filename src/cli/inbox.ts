/** The work of `unstuck inbox`. */
import type { AnswerResults, InboxQuestion, InboxView } from '../api/contract.ts'
import { exitCodes } from '../errors.ts'
import type { InboxOptions } from './commands/inbox.ts'
import type { Client } from './engine/client.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { readOnly } from './engine/read-only.ts'
import { choiceLines, evidenceLines, inboxLines, questionHead } from './inbox-lines.ts'
import { printJson, printLine, type Io } from './io.ts'
import type { Prompt } from './prompt.ts'
import { createPaint, safe, type Paint } from './render.ts'
import { showAll } from './repositories/show-all.ts'
import { askingSignal, askOne, type GivenAnswer } from './run/ask.ts'
import { userName } from './user-name.ts'

/** They open something of one question alone, or change a file that the next answer would find changed. */
const forOneAlone = new Set<string>(['take_over', 'approve_always'])

/** The other questions with the same cause that offer the same choice. */
const alikeOf = (view: InboxView, { id }: InboxQuestion, { choice }: GivenAnswer): InboxQuestion[] =>
  (view.groups.find(({ questions }) => questions.some((each) => each.id === id))?.questions ?? []).filter(
    (each) =>
      each.id !== id &&
      !forOneAlone.has(choice.kind) &&
      each.choices.some((other) => other.id === choice.id && other.kind === choice.kind),
  )

const answerAlike = async (io: Io, client: Client, alike: InboxQuestion[], given: GivenAnswer): Promise<void> => {
  const { choice, input } = given
  const answers = alike.map(({ id }) => ({ id, choice: choice.id, ...(input === '' ? {} : { input }) }))
  const { results } = await client.post<AnswerResults>('/escalations/answers', { answers, by: userName() })
  for (const { id, error } of results) {
    const number = alike.find((each) => each.id === id)?.number ?? 0
    printLine(io, `${number} ${error === null ? 'answered' : safe(error.message)}`)
  }
}

interface Sitting {
  io: Io
  keys: Prompt
  client: Client
}

const offerAlike = async ({ io, keys, client }: Sitting, alike: InboxQuestion[], given: GivenAnswer): Promise<void> => {
  if (alike.length === 0) return
  const others = alike.length === 1 ? 'the other question' : `the ${alike.length} other questions`
  printLine(io, `The same answer for ${others} with this cause? y yes  any other key no`)
  if ((await keys.key(askingSignal(io))) === 'y') await answerAlike(io, client, alike, given)
}

/** Asks one question after the other, until none is left or the person quits. */
export const sitThrough = async (sitting: Sitting): Promise<InboxView> => {
  const { io, keys, client } = sitting
  const paint = createPaint(io.colours)
  const skipped = new Set<string>()
  let shown = ''
  for (;;) {
    const view = await client.get<InboxView>('/inbox')
    const left = view.groups.flatMap(({ questions }) => questions).filter(({ id }) => !skipped.has(id))
    const [question] = left
    if (question === undefined) return view
    if (shown !== question.id) {
      printLine(io, `\n${questionHead(paint, question)} ${paint.dim(`(${left.length} left)`)}`)
      for (const text of [...evidenceLines(paint, question), ...choiceLines(question)]) printLine(io, `    ${text}`)
    }
    shown = question.id
    const outcome = await askOne({ io, keys, client, question, signal: askingSignal(io), canSkip: left.length > 1 })
    if (outcome === 'left') return view
    if (outcome === 'next') skipped.add(question.id)
    if (typeof outcome === 'object') await offerAlike(sitting, alikeOf(view, question, outcome), outcome)
  }
}

/** They are only listed: a command that answers one works in its repository. */
const inboxOfAll = async (io: Io, json: boolean): Promise<number> => {
  const lines = (paint: Paint, view: InboxView): string[] => (view.count === 0 ? [] : inboxLines(paint, view))
  const views = await showAll<InboxView>(io, { path: '/inbox', json, lines })
  const count = views.reduce((sum, view) => sum + view.count, 0)
  const last = count === 0 ? 'No question waits for you.' : 'To answer: run "unstuck inbox" in the repository.'
  if (!json && views.length > 0) printLine(io, last)
  return count === 0 ? exitCodes.ok : exitCodes.needsPerson
}

export const inboxCommand = async (
  io: Io,
  { all = false, json = false, list = false }: InboxOptions,
): Promise<number> => {
  if (all) return inboxOfAll(io, json)
  const paint = createPaint(io.colours)
  const { view, live } = await readOnly(io, async ({ client, live }) => ({
    ...{ live, view: await client.get<InboxView>('/inbox') },
  }))
  const asks = io.prompt !== undefined && !json && !list && live && view.count > 0
  if (json) printJson(io, view)
  else if (!asks || io.prompt === undefined) for (const text of inboxLines(paint, view)) printLine(io, text)
  else {
    const end = await sitThrough({ io, keys: io.prompt, client: await connectToExisting(io) })
    if (end.count === 0) printLine(io, 'No question waits for you.')
    return end.count === 0 ? exitCodes.ok : exitCodes.needsPerson
  }
  return view.count === 0 ? exitCodes.ok : exitCodes.needsPerson
}
