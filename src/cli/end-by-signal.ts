/** Ends a command that a signal stops: within a second, and with the exit status that shells use for that signal. */
import { setTimeout as delay } from 'node:timers/promises'
import { exitOfError } from './exit.ts'
import { jsonError, type Io } from './io.ts'

const statuses: Record<string, number> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

/** Services: a signal is their normal way to end, and they return their own status. */
const services = new Set(['up', 'engine', 'worker', 'sim', 'stop', 'mcp'])

/** These commands first end the processes that they started, however long that takes. */
const parents = new Set(['exec', 'demo'])

/** Time for a command to clean up after a signal. */
const cleanUpMs = 1_000

const cleanUpTimeout = (io: Io): Promise<undefined> =>
  new Promise((resolve) => {
    const begin = (): void => void delay(cleanUpMs, undefined, { ref: false }).then(resolve)
    if (io.signal.aborted) begin()
    else io.signal.addEventListener('abort', begin, { once: true })
  })

/** The exit status of a command, whatever it throws. An error caused by the signal itself is not reported. */
const statusOf = async (io: Io, work: () => Promise<number>): Promise<number> => {
  try {
    return await work()
  } catch (error) {
    if (typeof io.signal.reason !== 'string' || !(io.signal.reason in statuses)) return exitOfError(error, io)
    io.error(`unstuck: stopped by ${io.signal.reason}\n`)
    jsonError(io, 'INTERRUPTED', `stopped by ${io.signal.reason}`)
    return exitOfError(error, { ...io, json: false, error: () => undefined })
  }
}

/** Runs a command to its end. After a signal it gets `cleanUpMs`, then `leave` ends the process. */
export const runToEnd = async (
  io: Io,
  command: string,
  { work, leave }: { work: () => Promise<number>; leave: (status: number) => never },
): Promise<number> => {
  const own = statusOf(io, work)
  if (services.has(command)) return own
  const status = await (parents.has(command) ? own : Promise.race([own, cleanUpTimeout(io)]))
  const bySignal = statuses[String(io.signal.reason)]
  if (bySignal !== undefined && status === undefined)
    jsonError(io, 'INTERRUPTED', `stopped by ${String(io.signal.reason)}`)
  // Pending work of the command would keep the process alive.
  return bySignal === undefined ? (status ?? own) : leave(bySignal)
}
