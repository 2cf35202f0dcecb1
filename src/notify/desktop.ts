/** Shows a notification on the desktop with `notify-send`, where that program and a desktop exist. */
import { execFile, type ExecFileException } from 'node:child_process'
import type { NotificationSeverity } from '../domain/notification.ts'
import { headingOf, plainText, type Message } from './message.ts'
import type { SendResult } from './post.ts'
import { defined } from '../domain/defined.ts'

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

const problemOf = ({ code, killed }: ExecFileException): string => {
  if (code === 'ENOENT') return 'the program notify-send is not installed'
  if (code === 'ABORT_ERR') return 'the engine stopped before notify-send had ended'
  return killed === true ? 'notify-send did not end in time' : 'notify-send failed; is there a desktop?'
}

interface DesktopOptions {
  environment: Record<string, string | undefined>
  timeoutMs: number
  signal?: AbortSignal | undefined
}

export const showOnDesktop = (
  message: Message,
  { environment, timeoutMs, signal }: DesktopOptions,
): Promise<SendResult> => {
  const own = Object.fromEntries(
    needed.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  )
  const args = ['--app-name=Unstuck', `--urgency=${urgencies[message.severity]}`, '--']
  const texts = [`Unstuck: ${headingOf(message)}`, withoutMarkup(plainText(message))]
  const options = { env: own, timeout: timeoutMs, maxBuffer: 64 * 1024, ...defined({ signal }) }
  return new Promise((done) => {
    execFile('notify-send', [...args, ...texts], options, (error) =>
      done(error === null ? { ok: true } : { ok: false, problem: problemOf(error), retryAfterSeconds: 0 }),
    )
  })
}
