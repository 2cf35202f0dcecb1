/**
 * A world of the chaos suite: a repository (or plain folder) with its configuration, fault agents and ledger, a state
 * folder of its own, and the engines that are started and killed in it. Everything lies below one temporary folder.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sendTo } from '../../src/cli/engine/send-over-socket.ts'
import type { GoalRequest } from '../../src/api/contract.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { livenessOf, processesWithEnvironment, type ProcessIdentity } from '../../src/platform/process.ts'
import { mirrorRoot } from '../../src/workspace/remote.ts'
import { remoteFromEnvironment } from '../../src/workspace/remote-url.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import type { Kind } from './plan.ts'
import { prepareEngineHome } from '../support/engine-home.ts'

/** Every look costs the engine a dozen queries, so that looking often would make the rounds longer. */
export const pollMs = 250

export interface World {
  root: string
  repo: string
  kind: Kind
  ledger: string
  outside: string
  stateDir: string
  environment: Record<string, string>
  /** The user's commit before anything ran; '' in a plain folder. */
  base: string
}

export interface EngineProcess {
  child: ChildProcess
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

export interface Note {
  event: string
  at: number
  task: string
  run: string
  pid: number
}

const here = dirname(fileURLToPath(import.meta.url))
const agentProgram = join(here, '..', 'fixture', 'chaos', 'agent.mjs')
const daemonProgram = join(here, '..', 'support', 'daemon.ts')

export const gitOutput = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.invalid', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

const check = `import { readdirSync, readFileSync, existsSync } from 'node:fs'
for (const name of existsSync('parts') ? readdirSync('parts') : []) JSON.parse(readFileSync('parts/' + name, 'utf8'))
`

export const cacheHome = (): string =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'unstuck-ci', 'chaos')

/** Repository, plain folder and empty store as every world begins with, made once. */
export const makeTemplate = async (): Promise<string> => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-chaos-template-')))
  for (const name of ['plain', 'git']) {
    mkdirSync(join(root, name))
    writeFileSync(
      join(root, name, 'package.json'),
      '{ "name": "sample", "private": true, "scripts": { "check": "node check.mjs" } }\n',
    )
    writeFileSync(join(root, name, 'check.mjs'), check)
  }
  const repo = join(root, 'git')
  writeFileSync(join(repo, '.gitignore'), 'held\ngo\n')
  gitOutput(repo, 'init', '-q', '-b', 'main')
  gitOutput(repo, 'add', '-A')
  gitOutput(repo, 'commit', '-qm', 'Start')
  writeFileSync(join(repo, '.git', 'info', 'exclude'), '.unstuck\n')
  return root
}

export interface WorldOptions {
  kind: Kind
  ttlSeconds?: number
  /** Further harnesses, and the environment that they need. */
  harness?: Record<string, unknown>
  environment?: Record<string, string>
  maxParallel?: number
  /** No store is there yet. */
  firstStart?: boolean
}

const behaviours: Record<string, { driver?: string; arguments: string[] }> = {
  alpha: { arguments: ['leave'] },
  script: { arguments: ['write'] },
  transient: { driver: 'claude', arguments: ['overloaded'] },
  denial: { driver: 'claude', arguments: ['denied', '--', '{outside}'] },
  broken: { arguments: ['break'] },
  hold: { arguments: ['hold', '--', '{root}/release'] },
  grant: { driver: 'claude', arguments: ['denied', '--', '{outside}', '{root}/release'] },
  stubborn: { arguments: ['stubborn'] },
  sneak: { arguments: ['sneak', '--', '{root}/repo'] },
}

const configOf = (world: Pick<World, 'root' | 'ledger' | 'outside'>, options: WorldOptions): unknown => {
  const fill = (text: string): string => text.replace('{outside}', world.outside).replace('{root}', world.root)
  const named = Object.entries(behaviours).map(([name, { driver, arguments: rest }]) => {
    const [behaviour = '', ...more] = rest
    const command = [
      process.execPath,
      agentProgram,
      world.ledger,
      name,
      behaviour,
      ...more.map(fill).filter((text) => text !== '--'),
    ]
    return [name, { ...(driver === undefined ? {} : { driver }), command }]
  })
  return {
    harness: { default: 'alpha', ...Object.fromEntries(named), ...options.harness },
    allowedDirs: [world.outside],
    maxParallel: options.maxParallel ?? 3,
    // Long enough that a slow restart on a loaded machine loses no agent; the tests of abandoned agents set it short.
    lease: { ttlSeconds: options.ttlSeconds ?? 240 },
    retry: { transientBaseSeconds: 0.3, transientMaxSeconds: 1 },
    // The question comes right after the recoveries of the run; requeue and rework have suites of their own.
    requeue: { inPlaceLimit: 0, reworkDepth: 0 },
    policyRecovery: { useLlm: false },
    verify: { commands: ['node check.mjs'] },
  }
}

export const makeWorld = async (template: string, options: WorldOptions): Promise<World> => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-chaos-')))
  const places = { root, repo: join(root, 'repo'), outside: join(root, 'outside'), ledger: join(root, 'ledger.jsonl') }
  if (options.kind === 'remote') gitOutput(template, 'clone', '-q', '--bare', join(template, 'git'), places.repo)
  else cpSync(join(template, options.kind === 'direct' ? 'plain' : 'git'), places.repo, { recursive: true })
  for (const folder of [places.outside, join(root, 'home')]) mkdirSync(folder)
  appendFileSync(places.ledger, '')
  const environment = {
    PATH: [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter),
    HOME: join(root, 'home'),
    UNSTUCK_HOME: join(root, 'state'),
    XDG_CACHE_HOME: cacheHome(),
    // Most of an engine's start in a checkout is stripping types; the cache saves it.
    NODE_COMPILE_CACHE: join(cacheHome(), 'compiled'),
    ...(options.kind === 'remote' ? { UNSTUCK_REPO_URL: `file://${places.repo}` } : {}),
    ...options.environment,
  }
  const address = remoteFromEnvironment(environment, root)
  const { id } = address ?? (await openRepository(places.repo))
  const base = options.kind === 'direct' ? '' : gitOutput(places.repo, 'rev-parse', 'HEAD')
  const stateDir = stateDirOf(environment, id)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const owners = join(address === undefined ? places.repo : mirrorRoot(stateDir), '.unstuck')
  mkdirSync(owners, { recursive: true })
  writeFileSync(join(owners, 'config.json'), JSON.stringify(configOf(places, options)))
  if (options.firstStart !== true) prepareEngineHome(environment.UNSTUCK_HOME)
  return { ...places, kind: options.kind, environment, base, stateDir }
}

/** The user goes on meanwhile: what is built upon is another commit from here on. */
export const commitByHand = (world: World): void => {
  writeFileSync(join(world.repo, 'by-hand.txt'), 'mine')
  gitOutput(world.repo, 'add', 'by-hand.txt')
  gitOutput(world.repo, 'commit', '-qm', 'By hand')
  world.base = gitOutput(world.repo, 'rev-parse', 'HEAD')
}

export const engineLog = (world: World): string => join(world.root, 'daemon.log')

/** Starts a program of ours in the world's repository, with the world's environment. */
export const startProgram = (world: World, argv: string[], more: Record<string, string> = {}): EngineProcess => {
  const log = openSync(engineLog(world), 'a')
  const child = spawn(process.execPath, argv, {
    cwd: world.repo,
    env: { ...world.environment, ...more },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  return { child, ended }
}

export const startEngineProcess = (world: World, crash: Record<string, string> = {}): EngineProcess =>
  startProgram(world, [daemonProgram], crash)

export const hasEnded = ({ child }: EngineProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** Waits for a condition; the deadline is generous because the machines of CI are small and busy; CHAOS_PATIENCE shortens it. */
export const until = async (what: string, holds: () => boolean | Promise<boolean>, seconds = 120): Promise<void> => {
  const patience = Number(process.env.CHAOS_PATIENCE ?? seconds)
  const deadline = performance.now() + Math.min(patience, seconds) * 1000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${seconds} s`)
    await delay(pollMs)
  }
}

/** What the engine says, or undefined when none answers (it was killed, or is not up yet, or its database was killed). */
export const ask = async <T>(
  world: World,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): Promise<T | undefined> => {
  let response: Response
  try {
    const { url, socket, identity } = JSON.parse(readFileSync(join(world.stateDir, 'engine.json'), 'utf8')) as {
      url: string
      socket?: string
      identity: ProcessIdentity
    }
    if (livenessOf(identity) !== 'alive') return undefined
    response = await sendTo(socket)(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${readFileSync(join(world.stateDir, 'token'), 'utf8').trim()}`,
        'content-type': 'application/json',
      },
      ...(method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}),
      signal: AbortSignal.timeout(60_000),
    })
    const value = (await response.json()) as T
    if (response.ok) return value
    if (JSON.stringify(value).includes('STORE_UNAVAILABLE')) return undefined
    throw new Error(`${method} ${path}: ${JSON.stringify(value)}`)
  } catch (error) {
    if (error instanceof Error && error.message.startsWith(`${method} ${path}`)) throw error
    return undefined
  }
}

export const must = async <T>(world: World, path: string): Promise<T> => {
  const value = await ask<T>(world, 'GET', path)
  if (value === undefined) throw new Error(`the engine does not answer ${path}`)
  return value
}

export const untilReady = (world: World, engine: EngineProcess): Promise<void> =>
  until('the engine is ready', async () => hasEnded(engine) || (await ask(world, 'GET', '/health')) !== undefined)

type TaskInput = GoalRequest['input']['tasks'][number]

const taskOf = (name: string, more: Partial<TaskInput> = {}): TaskInput => ({
  id: name,
  title: `Work of ${name}`,
  instructions: `Do the work of ${name}.`,
  allowedPaths: ['**'],
  deniedPaths: [],
  commands: [],
  after: [],
  priority: 0,
  role: 'worker',
  harness: name,
  ...more,
})

export const goalOf = (tasks: TaskInput[], options: Partial<GoalRequest['options']> = {}): GoalRequest => ({
  input: { title: 'Chaos', requirement: 'Survive.', tasks, allowedDirs: [], warnings: [] },
  options: { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: null, limits: {}, ...options },
})

const script = taskOf('script', { commands: ['npm run nothing', 'node check.mjs'] })
const well = [taskOf('alpha'), taskOf('denial'), script, taskOf('transient', { after: ['alpha'] })]

/** The goal of each kind of world. */
export const goals: Record<Kind, GoalRequest> = {
  remote: goalOf(well, { autoMerge: true, repoMode: 'remote' }),
  landing: goalOf(well, { autoMerge: true }),
  moved: goalOf(well, { autoMerge: true }),
  question: goalOf([...well, taskOf('broken')]),
  direct: goalOf([taskOf('alpha'), taskOf('transient'), script], { repoMode: 'direct' }),
}

/** One task of this name, and where asked one that waits for it. */
export const goalFor = (name: string, after?: string): GoalRequest =>
  goalOf([taskOf(name), ...(after === undefined ? [] : [taskOf(after, { after: [name] })])])

export const notesOf = (world: World): Note[] =>
  readFileSync(world.ledger, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Note)

/** Ends what is left of a world after a failure, by pid, and removes it. */
export const removeWorld = async (world: World, engines: EngineProcess[]): Promise<void> => {
  for (const engine of engines) if (!hasEnded(engine)) engine.child.kill('SIGKILL')
  await Promise.all(engines.map((engine) => engine.ended))
  const runs = new Set(notesOf(world).map((note) => note.run))
  for (const run of runs) for (const pid of processesWithEnvironment('UNSTUCK_RUN', run)) process.kill(pid, 'SIGKILL')
  if (process.env.CHAOS_KEEP === undefined && existsSync(world.root))
    rmSync(world.root, { recursive: true, force: true, maxRetries: 5 })
}
