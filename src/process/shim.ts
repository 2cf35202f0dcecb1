/**
 * The shim: the process between the engine and one agent or command. It outlives the engine, owns the program's process tree,
 * output files and exit record, and ends the tree at the run limit, on request, or when the engine falls silent. It must start
 * fast, so it imports node built-ins and our own small modules only. It carries no marker itself and does not interpret
 * failures. It writes exit.json last, so a reader that sees the record can read complete logs.
 *
 * Its order arrives on standard input. So the shim can be started before there is an order (spare.ts), and the program's
 * environment, with its secrets or `NODE_OPTIONS`, never becomes the shim's own.
 *
 *   node shim.ts < order
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync, closeSync, constants, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { releaseMark, markOf } from '../platform/mark.ts'
import { identityOf, type ProcessIdentity } from '../platform/process.ts'
import { followOutputs } from './capture.ts'
import type { ExitRecord, LaunchExit, LaunchSpec, ShimOrder, StopCause } from './shim-protocol.ts'
import { createTree, launchName, markerName, signalMember } from './find.ts'
import { launchFilePath, readRecord, shimName, writeFirstRecord, writeRecord } from './folder.ts'
import { hasAccess, filesOfProgram, isProgramFolder, withMark } from './program.ts'
import { watchKeepAlive, type KeepAliveWatch } from './keep-alive.ts'
import { secretValues } from './redact.ts'
import { endTree } from './end-tree.ts'
import { defined } from '../domain/defined.ts'

const gatePollMs = 10
const exitRetries = 60
const exitRetryMs = 500

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const now = (): number => performance.now()

/** The first cause to stop, and a promise that resolves with the first request. */
interface Stop {
  cause(): StopCause | undefined
  request(cause: StopCause): void
  requested: Promise<void>
}

const createStop = (): Stop => {
  let cause: StopCause | undefined
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    cause: () => cause,
    request: (given) => {
      cause ??= given
      resolve()
    },
    requested: promise,
  }
}

/** The cause in stop.json; an unreadable file still requests a stop. */
const stopFileCause = (dir: string): StopCause | undefined => {
  if (!existsSync(launchFilePath(dir, 'stop.json'))) return undefined
  return readRecord<{ cause?: StopCause }>(dir, 'stop.json')?.cause ?? 'shutdown'
}

/**
 * A restarted engine may clear a launch folder and reuse it while an earlier shim is still starting or waiting there. The folder
 * belongs to the shim in identity.json; any other shim must neither start the program a second time nor write there.
 */
const owns = (dir: string, me: ProcessIdentity): boolean => {
  const owner = readRecord<ProcessIdentity>(dir, 'identity.json')
  return owner !== undefined && shimName(owner) === shimName(me)
}

/** True = the gate opened; false = a stop was requested, or the engine fell silent; undefined = the folder is gone or another shim's. */
const waitForGate = async (
  dir: string,
  spec: LaunchSpec,
  { pulse, stop, me }: { pulse: KeepAliveWatch; stop: Stop; me: ProcessIdentity },
): Promise<boolean | undefined> => {
  while (stop.cause() === undefined && !existsSync(launchFilePath(dir, 'stop.json'))) {
    // Read the gate before the owner: if the folder is cleared in between, the ownership check fails.
    const open = existsSync(launchFilePath(dir, 'gate'))
    if (!owns(dir, me)) return undefined
    // A stop may have been requested after the loop's condition was checked and before the gate opened.
    if (open) return !existsSync(launchFilePath(dir, 'stop.json'))
    if (pulse.silentMs() >= spec.keepAliveMs) return false
    await sleep(gatePollMs)
  }
  return false
}

/** What to run, from the launch folder and the order. */
interface Ordered extends ShimOrder {
  spec: LaunchSpec
  me: ProcessIdentity
}

/** Why the program could not be started. It names the program or the folder, which the system's error does not. */
const spawnFault = ({ spec, environment }: Ordered, error: unknown): string => {
  const program = spec.argv[0] ?? ''
  const { code = String(error) } = error as NodeJS.ErrnoException
  if (!existsSync(spec.cwd)) return `the working folder ${spec.cwd} does not exist`
  if (!isProgramFolder(spec.cwd)) return `the working folder ${spec.cwd} is not a folder`
  if (!hasAccess(spec.cwd, constants.X_OK)) return `the working folder ${spec.cwd} cannot be entered (${code})`
  const [file] = filesOfProgram(program, { cwd: spec.cwd, environment })
  if (file === undefined)
    return `the program ${program} was not found${program.includes('/') ? '' : ' on PATH'} (${code})`
  if (isProgramFolder(file)) return `the program ${file} is a folder (${code})`
  if (!hasAccess(file, constants.X_OK)) return `the program ${file} is not executable (${code})`
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
    return { fault: spawnFault(ordered, error) } // some errors are thrown synchronously, such as an argument list that is too long
  } finally {
    if (input !== 'ignore') closeSync(input)
  }
}

/** Polls for reasons to end the program: the engine's request, the engine's silence, the run limit. */
const watch = (dir: string, spec: LaunchSpec, pulse: KeepAliveWatch, stop: Stop): (() => void) => {
  const startedAt = now()
  const check = (): void => {
    const requested = stopFileCause(dir)
    if (requested !== undefined) stop.request(requested)
    else if (now() - startedAt >= spec.limitMs) stop.request('limit')
    else if (pulse.silentMs() >= spec.keepAliveMs) stop.request('abandoned')
  }
  const everyMs = Math.max(10, Math.min(200, Math.floor(Math.min(spec.limitMs, spec.keepAliveMs) / 10)))
  const timer = setInterval(check, everyMs)
  return () => clearInterval(timer)
}

/**
 * Retries while the disk is full, because without its exit record the launch counts as lost. A restarted engine may clear the folder
 * at any moment, so ownership is checked before each attempt, and the record names its shim.
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

const superviseProgram = async (ordered: Ordered, pulse: KeepAliveWatch, stop: Stop): Promise<LaunchExit> => {
  const { dir, spec, me } = ordered
  const startedAt = new Date().toISOString()
  const begun = now()
  const started = await startProgram(ordered)
  if ('fault' in started) return notStarted({ spawnError: started.fault })
  const { child, pid } = started
  const scan = createTree(shimName(me), pid, {
    name: launchName,
    marks: [markOf(me)],
    folder: spec.ownFolder,
    since: me.startTime,
  })
  crashGuard(dir, scan)
  const { exited, ending } = trackEnding(child, begun)
  const identity = identityOf(pid)
  if (identity !== undefined) writeRecord(dir, 'agent.json', identity)
  const outputs = followOutputs(child, dir, spec, secretValues(ordered.environment))
  const unwatch = watch(dir, spec, pulse, stop)
  await Promise.race([exited, stop.requested])
  unwatch()
  outputs.stopRecording()
  const cause = ending() === undefined ? stop.cause() : undefined
  const { forced, survivors } = await endTree(scan, spec.graceMs)
  if (survivors === 0) await exited
  releaseMark(markOf(me))
  await outputs.drain()
  return {
    ...(ending() ?? endingNow(begun, null, null)),
    ...defined({ cause }),
    forced,
    ...(survivors === 0 ? {} : { survivors }),
    startedAt,
  }
}

/** On a bug in the shim the tree is killed before the shim exits, so that no agent is left without supervision. */
const crashGuard = (dir: string, scan: () => ReturnType<ReturnType<typeof createTree>>): void => {
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => {
    try {
      appendFileSync(launchFilePath(dir, 'shim.log'), `${error.stack ?? error.message}\n`)
    } catch {
      // The folder is gone or the disk is full. Ending the tree matters more.
    }
    for (const member of scan()) signalMember(member, 'SIGKILL')
    process.exit(70)
  })
}

const main = async ({ dir, environment }: ShimOrder): Promise<void> => {
  const spec = readRecord<LaunchSpec>(dir, 'spec.json')
  if (spec === undefined) throw new Error(`${launchFilePath(dir, 'spec.json')} is missing or damaged`)
  const stop = createStop()
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => stop.request(stopFileCause(dir) ?? 'shutdown'))
  process.on('SIGHUP', () => {}) // the shim's session has no terminal, so a stray SIGHUP must not end it
  const pulse = watchKeepAlive(launchFilePath(dir, 'keepalive'), now)
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
// An empty or incomplete order means that the engine ended or was killed before it sent one.
if (order.endsWith('\n')) {
  const given = JSON.parse(order) as ShimOrder
  crashGuard(given.dir, () => [])
  await main(given).catch((error: unknown) => process.emit('uncaughtException', error as Error))
}
process.exit(0)
