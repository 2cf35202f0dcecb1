/**
 * Keeps credentials from `unstuck login` across a crash of the engine: the parent that restarts the engine holds them in memory. They travel
 * over the IPC channel and not in the environment, which every process of the same user can read.
 */
import type { ChildProcess } from 'node:child_process'

type Variables = Readonly<Record<string, string>>

interface LoginMessage {
  login: Variables
}

const isLogin = (message: unknown): message is LoginMessage =>
  typeof message === 'object' && message !== null && 'login' in message

/** Makes a new engine wait for the credentials that its parent holds. */
export const awaitOption = '--await-login'
const awaitMs = 10_000

/** In the engine: sends new credentials to its parent, which passes them to the next engine after a crash. Does nothing without a parent. */
export const handOverLogin = (login: Variables): void => {
  if (process.connected) process.send?.({ login } satisfies LoginMessage, undefined, {}, () => undefined)
}

/** In the engine: the credentials that its parent held, or none after ten seconds. */
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

/** In the engine of all repositories: credentials that were given to one of them are kept under its id, and no other one gets them. */
export const createRepositoryLogins = (before: Variables) => {
  const named = (id: string): string => `${id} `
  const kept: Record<string, string> = { ...before }
  return {
    keep: (id: string, login: Variables): void => {
      for (const [name, value] of Object.entries(login)) kept[named(id) + name] = value
      handOverLogin(kept)
    },
    of: (id: string): Variables =>
      Object.fromEntries(
        Object.entries(kept).flatMap(([key, value]) =>
          key.startsWith(named(id)) ? [[key.slice(named(id).length), value]] : [],
        ),
      ),
  }
}

export interface LoginKeeper {
  /** Extra arguments for the next engine. */
  args: () => string[]
  /** Sends the held credentials to a new engine, and holds those that it reports. */
  follow: (child: ChildProcess) => void
}

/** In the parent. */
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
