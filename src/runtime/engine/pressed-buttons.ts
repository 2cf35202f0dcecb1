/**
 * The leader's job that reads which buttons of notifications were pressed, and answers like a person does. A press is no proof of
 * who pressed: buttons give no right and land nothing, work once, for a day, and only while their question waits.
 */
import { AppError } from '../../errors.ts'
import { hasOpenButtons, unusedButtons, useButton, type PressedButton } from '../../store/notification-button.ts'
import type { Context } from '../core/context.ts'
import { answerQuestion } from '../people/answer-question.ts'
import type { CancelRunning } from '../people/commands.ts'

const pollMs = 15_000
/** What a server keeps, as a rule; a press while no engine ran is found by the next one. */
const firstReadSeconds = 12 * 3_600
/** Clocks of two machines differ, and reading a press twice does nothing. */
const overlapSeconds = 60

/**
 * The token is used up only after the answer is stored, so a press survives a crash between the two: it is read again, and the
 * question, which is decided once, refuses it.
 */
const answerPressed = async (context: Context, button: PressedButton, cancelRunning: CancelRunning): Promise<void> => {
  const { escalationId: id, choice } = button
  let refused = ''
  try {
    await answerQuestion(context, { id, choice, by: 'ntfy' }, cancelRunning)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    refused = error.message
    context.log.info({ question: id, reason: refused }, 'a pressed button of a notification had no effect')
  }
  await context.db.transaction((tx) => useButton(tx, button, refused))
}

/** Reads the topic while a button could answer something, at most every 15 s. */
export const createPressedButtonsJob = (cancelRunning: CancelRunning): ((context: Context) => Promise<void>) => {
  let [dueAt, reported] = [Number.NEGATIVE_INFINITY, '']
  let since: number | string | undefined
  return async (context) => {
    const { clock, ports, environment, stopping } = context
    const { ntfyAnswers: url, ntfyTokenVariable } = context.config().notify
    if (url === undefined || clock.elapsed() < dueAt || !(await hasOpenButtons(context.db))) return
    dueAt = clock.elapsed() + pollMs
    const now = Math.floor(clock.now().getTime() / 1000)
    const token = ports.notify.ntfyToken(environment, ntfyTokenVariable)
    const read = await ports.notify.readPresses({
      url,
      since: since ?? now - firstReadSeconds,
      token,
      signal: stopping,
    })
    if (stopping.aborted) return
    if (!read.ok) {
      if (read.problem !== reported)
        context.log.warn({ problem: read.problem }, 'the pressed buttons could not be read')
      reported = read.problem
      return
    }
    const hashes = read.tokens.map((pressed) => ports.notify.buttonTokenHash(pressed))
    for (const button of await unusedButtons(context.db, hashes)) await answerPressed(context, button, cancelRunning)
    reported = ''
    since = read.readTo ?? now - overlapSeconds
    // The rest of a topic that others fill must not wait 15 s for each part.
    if (read.readTo !== undefined) dueAt = clock.elapsed()
  }
}
