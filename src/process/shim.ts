/**
 * The shim: the program between the engine and one agent or command. It outlives the engine, owns the program's tree,
 * its output files and its exit record, and ends the tree at the run limit, when asked, or when the engine falls silent.
 * It must start fast, so it imports node built-ins and our own small modules only. It carries no marker itself, never
 * decides what a failure means, and writes exit.json last: whoever sees it may read complete logs.
 *
 * Its order comes through its standard input, so that it can be started before there is one (spare.ts), and so that an
 * environment with secrets in it, or with `NODE_OPTIONS` for the program alone, is never the shim's own.
 *
 *   node shim.ts < order
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync, closeSync, constants, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { dropMark, markOf } from '../platform/mark.ts'
import { identityOf, type ProcessIdentity } from '../platform/process.ts'
import { followOutputs } from './capture.ts'
import type { ExitRecord, LaunchExit, LaunchSpec, ShimOrder, StopCause } from './contract.ts'
import { createTree, launchName, markerName, signalMember } from './find.ts'
import { fileOf, readRecord, shimName, writeFirstRecord, writeRecord } from './folder.ts'
import { canReach, filesOfProgram, isFolder, withMark } from './program.ts'
import { createPulse, type Pulse } from './pulse.ts'
import { secretValues } from './redact.ts'
import { endTree } from './stop.ts'

const gatePollMs = 10
const exitRetries = 60
const exitRetryMs = 500

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const now = (): number => performance.now()

/** The first cause to stop, and a promise that somebody gave one. */
interface Stop {
  cause(): StopCause | undefined
  ask(cause: StopCause): void
  asked: Promise<void>
}

const createStop = (): Stop => {
  let cause: StopCause | undefined
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    cause: () => cause,
    ask: (given) => {
      cause ??= given
      resolve()
    },
    asked: promise,
  }
}

/** The cause in stop.json; a stop file that cannot be read still asks for a stop. */
const stopFileCause = (dir: string): StopCause | undefined => {
  if (!existsSync(fileOf(dir, 'stop.json'))) return undefined
  return readRecord<{ cause?: StopCause }>(dir, 'stop.json')?.cause ?? 'shutdown'
}

/**
 * A restarted engine may clear a launch folder and begin again in its place, while a shim of before is still starting or
 * waiting there. The folder belongs to the shim whose identity stands in it; any other must neither start the program a
 * second time nor write there.
 */
const owns = (dir: string, me: ProcessIdentity): boolean => {
  const owner = readRecord<ProcessIdentity>(dir, 'identity.json')
  return owner !== undefined && shimName(owner) === shimName(me)
}

/** Undefined: the folder went to another shim or away. */
const waitForGate = async (
  dir: string,
  spec: LaunchSpec,
  { pulse, stop, me }: { pulse: Pulse; stop: Stop; me: ProcessIdentity },
): Promise<boolean | undefined> => {
  while (stop.cause() === undefined && !existsSync(fileOf(dir, 'stop.json'))) {
    // The gate first: a folder that is cleared after this look has no gate any more for the one who looks next.
    const open = existsSync(fileOf(dir, 'gate'))
    if (!owns(dir, me)) return undefined
    // Whoever asks for a stop before opening the gate asked after the first look.
    if (open) return !existsSync(fileOf(dir, 'stop.json'))
    if (pulse.silentMs() >= spec.keepAliveMs) return false
    await sleep(gatePollMs)
  }
  return false
}

/** What to run, as the launch folder and the order say it. */
interface Ordered extends ShimOrder {
  spec: LaunchSpec
  me: ProcessIdentity
}

/** Why the program could not be started, naming the program or the folder; the system's own error names neither. */
const spawnFault = ({ spec, environment }: Ordered, error: unknown): string => {
  const program = spec.argv[0] ?? ''
  const { code = String(error) } = error as NodeJS.ErrnoException
  if (!existsSync(spec.cwd)) return `the working folder ${spec.cwd} does not exist`
  if (!isFolder(spec.cwd)) return `the working folder ${spec.cwd} is not a folder`
  if (!canReach(spec.cwd, constants.X_OK)) return `the working folder ${spec.cwd} cannot be entered (${code})`
  const [file] = filesOfProgram(program, { cwd: spec.cwd, environment })
  if (file === undefined)
    return `the program ${program} was not found${program.includes('/') ? '' : ' on PATH'} (${code})`
  if (isFolder(file)) return `the program ${file} is a folder (${code})`
  if (!canReach(file, constants.X_OK)) return `the program ${file} is not executable (${code})`
  if (code === 'ENOENT') return `the program ${file} names an interpreter that does not exist (${code})`
  return `the program ${file} could not be started (${code})`
}

type Started = { child: ChildProcess; pid: number } | { fault: string }

const openInput = (path: string | null): number | 'ignore' => (path === null ? 'ignore' : openSync(path, 'r'))

const startProgram = async (ordered: Ordered): Promise<Started> => {
  const { spec } = ordered
  let input: number | 'ignore'
  try {
    input = openInput(spec.stdinFile)
  } catch (error) {
    return { fault: `the input file ${spec.stdinFile} cannot be read (${(error as NodeJS.ErrnoException).code})` }
  }
  try {
    const env = { ...ordered.environment, [markerName]: spec.marker, [launchName]: shimName(ordered.me) }
    const argv = withMark(spec.argv, markOf(ordered.me), { cwd: spec.cwd, environment: env })
    const [program = '', ...args] = argv
    const child = spawn(program, args, { cwd: spec.cwd, detached: true, env, stdio: [input, 'pipe', 'pipe'] })
    if (child.pid !== undefined) return { child, pid: child.pid }
    const error = await new Promise((resolve) => child.once('error', resolve))
    return { fault: spawnFault(ordered, error) }
  } catch (error) {
    return { fault: spawnFault(ordered, error) } // some refusals are thrown at once, such as an argument list too long
  } finally {
    if (input !== 'ignore') closeSync(input)
  }
}

/** Watches what can end a running program: the engine's request, its silence, the run limit. */
const watch = (dir: string, spec: LaunchSpec, pulse: Pulse, stop: Stop): (() => void) => {
  const startedAt = now()
  const check = (): void => {
    const asked = stopFileCause(dir)
    if (asked !== undefined) stop.ask(asked)
    else if (now() - startedAt >= spec.limitMs) stop.ask('limit')
    else if (pulse.silentMs() >= spec.keepAliveMs) stop.ask('abandoned')
  }
  const everyMs = Math.max(10, Math.min(200, Math.floor(Math.min(spec.limitMs, spec.keepAliveMs) / 10)))
  const timer = setInterval(check, everyMs)
  return () => clearInterval(timer)
}

/**
 * A full disk may clear up: the exit record is worth waiting for, since without it the run counts as lost. Whose folder it is
 * is asked each time, and the record names its shim: a restarted engine may clear the folder at any moment of this.
 */
const writeExit = async (dir: string, exit: LaunchExit, me: ProcessIdentity): Promise<void> => {
  for (let attempt = 1; owns(dir, me); attempt++) {
    try {
      return writeRecord(dir, 'exit.json', { ...exit, shim: shimName(me) } satisfies ExitRecord)
    } catch (error) {
      if (attempt === exitRetries || !existsSync(dir)) throw error
      await sleep(exitRetryMs)
    }
  }
}

const notStarted = (fields: Partial<LaunchExit>): LaunchExit => ({
  code: null,
  signal: null,
  forced: false,
  startedAt: null,
  endedAt: new Date().toISOString(),
  durationMs: 0,
  ...fields,
})

type Ending = Pick<LaunchExit, 'code' | 'signal' | 'endedAt' | 'durationMs'>

const endingNow = (begun: number, code: number | null, signal: NodeJS.Signals | null): Ending => ({
  code,
  signal,
  endedAt: new Date().toISOString(),
  durationMs: Math.round(now() - begun),
})

/** `ending` is undefined for as long as the program runs. */
const trackEnding = (child: ChildProcess, begun: number) => {
  let ending: Ending | undefined
  const { promise: exited, resolve } = Promise.withResolvers<void>()
  child.once('exit', (code, signal) => {
    ending = endingNow(begun, code, signal)
    resolve()
  })
  return { exited, ending: () => ending }
}

const superviseProgram = async (ordered: Ordered, pulse: Pulse, stop: Stop): Promise<LaunchExit> => {
  const { dir, spec, me } = ordered
  const startedAt = new Date().toISOString()
  const begun = now()
  const started = await startProgram(ordered)
  if ('fault' in started) return notStarted({ spawnError: started.fault })
  const { child, pid } = started
  const look = createTree(shimName(me), pid, {
    name: launchName,
    marks: [markOf(me)],
    folder: spec.ownFolder,
    since: me.startTime,
  })
  crashGuard(dir, look)
  const { exited, ending } = trackEnding(child, begun)
  const identity = identityOf(pid)
  if (identity !== undefined) writeRecord(dir, 'agent.json', identity)
  const outputs = followOutputs(child, dir, spec, secretValues(ordered.environment))
  const unwatch = watch(dir, spec, pulse, stop)
  await Promise.race([exited, stop.asked])
  unwatch()
  outputs.untell()
  const cause = ending() === undefined ? stop.cause() : undefined
  const { forced, survivors } = await endTree(look, spec.graceMs)
  if (survivors === 0) await exited
  dropMark(markOf(me))
  await outputs.settle()
  return {
    ...(ending() ?? endingNow(begun, null, null)),
    ...(cause === undefined ? {} : { cause }),
    forced,
    ...(survivors === 0 ? {} : { survivors }),
    startedAt,
  }
}

/** A bug of ours must not leave an agent without an owner: the tree goes first, then the shim. */
const crashGuard = (dir: string, look: () => ReturnType<ReturnType<typeof createTree>>): void => {
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => {
    try {
      appendFileSync(fileOf(dir, 'shim.log'), `${error.stack ?? error.message}\n`)
    } catch {
      // the folder went away or is full; what follows matters more
    }
    for (const member of look()) signalMember(member, 'SIGKILL')
    process.exit(70)
  })
}

const main = async ({ dir, environment }: ShimOrder): Promise<void> => {
  const spec = readRecord<LaunchSpec>(dir, 'spec.json')
  if (spec === undefined) throw new Error(`${fileOf(dir, 'spec.json')} is missing or damaged`)
  const stop = createStop()
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => stop.ask(stopFileCause(dir) ?? 'shutdown'))
  process.on('SIGHUP', () => {}) // its own session has no terminal to lose; a stray one must not end it
  const pulse = createPulse(fileOf(dir, 'keepalive'), now)
  const me = identityOf(process.pid)
  if (me === undefined) throw new Error('this process cannot read its own start time')
  if (!writeFirstRecord(dir, 'identity.json', me)) return
  const opened = await waitForGate(dir, spec, { pulse, stop, me })
  if (opened === undefined) return
  const exit = opened
    ? await superviseProgram({ dir, environment, spec, me }, pulse, stop)
    : notStarted({ cause: 'gate' })
  await writeExit(dir, exit, me)
}

if (Number(process.versions.node.split('.')[0]) < 24)
  throw new Error(`the shim needs Node 24.12 or newer, this is ${process.version} (${process.execPath})`)

if (process.argv.includes('--spare')) process.stdout.write('ready\n')
const order = await text(process.stdin)
// Without an order its engine has ended; a half one is of an engine that was killed meanwhile.
if (order.endsWith('\n')) {
  const given = JSON.parse(order) as ShimOrder
  crashGuard(given.dir, () => [])
  await main(given).catch((error: unknown) => process.emit('uncaughtException', error as Error))
}
process.exit(0)
