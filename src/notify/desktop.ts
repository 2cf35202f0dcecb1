/** Shows a notification on the desktop with `notify-send`, where that program and a desktop exist. */
import { execFile } from 'node:child_process'
import type { NotificationSeverity } from '../domain/notification.ts'
import { headingOf, plainText, type Message } from './message.ts'
import type { SendResult } from './post.ts'

const urgencies: Record<NotificationSeverity, string> = {
  low: 'low',
  normal: 'normal',
  high: 'critical',
  urgent: 'critical',
}

/** All that the program needs to find the desktop of the user. */
const needed = ['PATH', 'HOME', 'DISPLAY', 'WAYLAND_DISPLAY', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'LANG']

const shownCharacters = 800

/** The text may contain markup for the desktop, and is written by agents. */
const withoutMarkup = (text: string): string =>
  text.slice(0, shownCharacters).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export const showOnDesktop = (
  message: Message,
  environment: Record<string, string | undefined>,
  timeoutMs: number,
): Promise<SendResult> => {
  const own = Object.fromEntries(
    needed.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  )
  const args = ['--app-name=Unstuck', `--urgency=${urgencies[message.severity]}`, '--']
  const texts = [`Unstuck: ${headingOf(message)}`, withoutMarkup(plainText(message))]
  return new Promise((done) => {
    execFile('notify-send', [...args, ...texts], { env: own, timeout: timeoutMs, maxBuffer: 64 * 1024 }, (error) => {
      if (error === null) return done({ ok: true })
      const problem =
        error.code === 'ENOENT' ? 'the program notify-send is not installed' : 'notify-send failed; is there a desktop?'
      done({ ok: false, problem, retryAfterSeconds: 0 })
    })
  })
}
