/** How a command ends that a signal stops: soon, and with the status by which a shell knows the signal. */
import { setTimeout as delay } from 'node:timers/promises'
import { exitOfError } from './exit.ts'
import { jsonError, type Io } from './io.ts'

const statuses: Record<string, number> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

/** To them a signal is the order to end, which they follow with a status of their own. */
const services = new Set(['up', 'engine', 'worker', 'sim', 'stop'])

/** They end the processes that they started before they end themselves. */
const parents = new Set(['exec', 'demo'])

/** For what a command takes back or lets go of. */
const patienceMs = 1_000

const outOfPatience = (io: Io): Promise<undefined> =>
  new Promise((resolve) => {
    const begin = (): void => void delay(patienceMs, undefined, { ref: false }).then(resolve)
    if (io.signal.aborted) begin()
    else io.signal.addEventListener('abort', begin, { once: true })
  })

/** The status of a command, whatever it throws. What fails because of the signal is no failure to tell of. */
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

/** Runs a command to its end, or to that of its patience after a signal: then `leave` ends the process. */
export const runToEnd = async (
  io: Io,
  command: string,
  { work, leave }: { work: () => Promise<number>; leave: (status: number) => never },
): Promise<number> => {
  const own = statusOf(io, work)
  if (services.has(command)) return own
  const status = await (parents.has(command) ? own : Promise.race([own, outOfPatience(io)]))
  const bySignal = statuses[String(io.signal.reason)]
  if (bySignal !== undefined && status === undefined)
    jsonError(io, 'INTERRUPTED', `stopped by ${String(io.signal.reason)}`)
  // What a command still waits for would keep the process alive.
  return bySignal === undefined ? (status ?? own) : leave(bySignal)
}
