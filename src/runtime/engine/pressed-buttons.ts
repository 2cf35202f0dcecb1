/**
 * The leader's job that reads which buttons of notifications were pressed, and answers like a person does. A press is no proof of
 * who pressed: buttons give no right and land nothing, work once, for a day, and only while their question waits.
 */
import { AppError } from '../../errors.ts'
import { hasOpenButtons, useButton } from '../../store/notification.ts'
import type { Context } from '../core/context.ts'
import { answerQuestion } from '../people/answer-question.ts'
import type { CancelRunning } from '../people/commands.ts'

const pollMs = 15_000
/** What a server keeps, as a rule; a press while no engine ran is found by the next one. */
const firstLookSeconds = 12 * 3_600
/** Clocks of two machines differ, and reading a press twice does nothing. */
const overlapSeconds = 60

const answerPressed = async (context: Context, token: string, cancelRunning: CancelRunning): Promise<void> => {
  const hash = context.ports.notify.buttonTokenHash(token)
  const pressed = await context.db.transaction((tx) => useButton(tx, hash))
  if (pressed === undefined) return
  const { escalationId: id, choice } = pressed
  try {
    await answerQuestion(context, { id, choice, by: 'ntfy' }, cancelRunning)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    // Somebody else was faster, or the task moved on. The question then tells it, or is no longer there.
    context.log.info({ question: id, reason: error.message }, 'a pressed button of a notification had no effect')
  }
}

/** Reads the topic while a button could answer something, at most every 15 s. */
export const createPressedButtonsJob = (cancelRunning: CancelRunning): ((context: Context) => Promise<void>) => {
  let [dueAt, since, told] = [Number.NEGATIVE_INFINITY, 0, '']
  return async (context) => {
    const { clock, ports, environment, stopping } = context
    const { ntfyAnswers: url, ntfyTokenVariable } = context.config().notify
    if (url === undefined || clock.elapsed() < dueAt || !(await hasOpenButtons(context.db))) return
    dueAt = clock.elapsed() + pollMs
    const now = Math.floor(clock.now().getTime() / 1000)
    const token = ports.notify.ntfyToken(environment, ntfyTokenVariable)
    const read = await ports.notify.readPresses({
      url,
      since: since || now - firstLookSeconds,
      token,
      signal: stopping,
    })
    if (stopping.aborted) return
    if (!read.ok) {
      if (read.problem !== told) context.log.warn({ problem: read.problem }, 'the pressed buttons could not be read')
      told = read.problem
      return
    }
    for (const pressed of read.tokens) await answerPressed(context, pressed, cancelRunning)
    ;[since, told] = [now - overlapSeconds, '']
  }
}
