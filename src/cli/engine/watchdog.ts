/**
 * The watchdog of an engine. An engine whose event loop is blocked responds to nothing, renews no lease and cannot even exit, so the process
 * that started it has to kill it. Heartbeats go through the IPC channel between the two, because the API may be slow in a busy engine.
 */
import type { ChildProcess } from 'node:child_process'

/** `starting`: it may still create the database, and waits synchronously for the programs that do so. */
type Heartbeat = 'starting' | 'ready'

const heartbeatEveryMs = 2000

export interface SilenceLimits {
  /** How often the silence is measured. */
  everyMs: number
  /** How long an engine that is not ready may be silent: creating the database is slow on a loaded machine. */
  startingMs: number
  readyMs: number
}

export const silenceLimits: SilenceLimits = { everyMs: 5000, startingMs: 120_000, readyMs: 60_000 }

/** In the engine: sends a heartbeat at once and every two seconds. Without an IPC channel it does nothing. */
export const sendHeartbeats = (): { ready: () => void; end: () => void } => {
  let state: Heartbeat = 'starting'
  const send = (): void => {
    // The parent may exit before its engine; nobody needs the heartbeat then.
    if (process.connected) process.send?.(state, undefined, {}, () => undefined)
  }
  send()
  const timer = setInterval(send, heartbeatEveryMs).unref()
  const ready = (): void => {
    state = 'ready'
    send()
  }
  return { ready, end: () => clearInterval(timer) }
}

export interface EngineSilence {
  heard(heartbeat: unknown): void
  /** Called once per interval with the time since the last call; the silence if it is longer than its limit. */
  measure(passedMs: number): number | undefined
}

export const createSilence = ({ everyMs, startingMs, readyMs }: SilenceLimits): EngineSilence => {
  let silentMs = 0
  let limitMs = startingMs
  return {
    heard(heartbeat) {
      silentMs = 0
      if (heartbeat === ('ready' satisfies Heartbeat)) limitMs = readyMs
    },
    measure(passedMs) {
      // A late call means that the machine, or this process, was suspended. The engine was suspended too, or its heartbeats are still unread.
      silentMs += Math.min(passedMs, 2 * everyMs)
      return silentMs > limitMs ? silentMs : undefined
    },
  }
}

/** In the parent: kills an engine that sends no heartbeat for too long. The returned function returns how long it had been silent. */
export const killWhenSilent = (child: ChildProcess, limits: SilenceLimits): (() => number | undefined) => {
  const silence = createSilence(limits)
  let endedAfterMs: number | undefined
  let before = performance.now()
  child.on('message', silence.heard)
  const timer = setInterval(() => {
    const now = performance.now()
    const silentMs = silence.measure(now - before)
    before = now
    if (silentMs === undefined) return
    endedAfterMs = silentMs
    clearInterval(timer)
    child.kill('SIGKILL')
  }, limits.everyMs)
  child.once('exit', () => clearInterval(timer))
  child.once('error', () => clearInterval(timer))
  return () => endedAfterMs
}
