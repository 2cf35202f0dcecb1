/**
 * Credentials that a person gave to a running engine (`unstuck login`) outlive a crash of it: the process that restarts it keeps them in
 * memory. They go through the IPC channel between the two, because every program of the user can read the environment of a process.
 */
import type { ChildProcess } from 'node:child_process'

type Variables = Readonly<Record<string, string>>

interface LoginMessage {
  login: Variables
}

const isLogin = (message: unknown): message is LoginMessage =>
  typeof message === 'object' && message !== null && 'login' in message

/** The option of an engine to which a login is sent at its start. */
export const awaitOption = '--await-login'
const awaitMs = 10_000

/** In the engine: hands new credentials to the process that would restart it. Without an IPC channel nobody would. */
export const handOverLogin = (login: Variables): void => {
  if (process.connected) process.send?.({ login } satisfies LoginMessage, undefined, {}, () => undefined)
}

/** In the engine: the credentials of the engine before it. */
export const awaitLogin = (): Promise<Variables> =>
  new Promise((resolve) => {
    const end = (login: Variables): void => {
      clearTimeout(timer)
      process.off('message', hear)
      // A listener would keep the engine alive.
      process.channel?.unref()
      resolve(login)
    }
    const hear = (message: unknown): void => {
      if (isLogin(message)) end(message.login)
    }
    const timer = setTimeout(() => end({}), awaitMs)
    process.on('message', hear)
  })

export interface LoginKeeper {
  /** Arguments of the next engine. */
  args: () => string[]
  /** Sends what is kept to a new engine, and keeps what that gets. */
  follow: (child: ChildProcess) => void
}

/** In the parent of engines. */
export const keepLogins = (): LoginKeeper => {
  let kept: Variables = {}
  const hasAny = (): boolean => Object.keys(kept).length > 0
  return {
    args: () => (hasAny() ? [awaitOption] : []),
    follow: (child) => {
      child.on('message', (message) => {
        if (isLogin(message)) kept = { ...kept, ...message.login }
      })
      if (hasAny()) child.send({ login: kept } satisfies LoginMessage, () => undefined)
    },
  }
}
