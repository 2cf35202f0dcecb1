/**
 * Somebody who uses Unstuck with the real agent CLIs: a project folder, a home and an `UNSTUCK_HOME` of their own, the CLIs
 * configured against the scripted model server, and the command line. Everything goes through `unstuck`; nothing of the
 * engine is imported. It lies in the cache folder, because Codex's sandbox lets tools write to /tmp.
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installNamed, type CliName } from '../../scripts/install-clis.ts'
import { pointersTo } from '../../sim/simulate.ts'
import type { ScriptInput } from '../../sim/script.ts'
import { parseScript } from '../../sim/script.ts'
import type { Sim } from '../../sim/server.ts'
import { startSim } from '../../sim/server.ts'
import { codexSandboxWorks } from './agents.ts'

export interface EndedCommand {
  code: number | null
  stdout: string
  stderr: string
}

export interface Started {
  kill: (signal: NodeJS.Signals) => void
  ended: Promise<EndedCommand>
}

export interface Executed extends EndedCommand {
  of: (type: string) => Printed[]
  result: Printed
}

/** JSON as the CLI prints it; what a test reads of it is what it asserts. */
export type Printed = Record<string, any>

export interface User {
  root: string
  /** The project, by its real path. */
  project: string
  sim: Sim
  git: (...args: string[]) => string
  /** Merges into `.unstuck/config.json`. */
  configure: (change: Printed) => void
  /** Merges into the entry of a harness there; `as`: into a copy of it by that name. */
  configureHarness: (name: CliName, change: Printed, as?: string) => void
  unstuck: (...args: string[]) => Promise<EndedCommand>
  /** The same, while it runs. */
  start: (...args: string[]) => Started
  /** Runs an agent command under `unstuck exec --json`. */
  exec: (options: string[], agent: string[]) => Promise<Executed>
  /** Runs a command with `--json` and gives its lines. */
  lines: (...args: string[]) => Promise<Printed[]>
  events: (goal: string) => Promise<Printed[]>
  /** Kills every process of the engine, as a crash would; gives how many there were. */
  crash: () => number
  /** Stops the engine in order and waits until nothing that carries this home lives; gives what would not end. */
  leave: () => Promise<string[]>
  close: () => Promise<void>
}

export const cacheFolder = (): string => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'unstuck-ci')

/** Waits for a condition; the deadline is generous, because the machine may be loaded. */
export const until = async <T>(what: string, look: () => T | Promise<T>, seconds = 120): Promise<NonNullable<T>> => {
  const deadline = performance.now() + seconds * 1000
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false) return found
    if (performance.now() > deadline) throw new Error(`${what}: not within ${seconds} s`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const program = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

/** Living processes with this text in their environment, as "pid command line". */
export const processesWith = (text: string): { pid: number; line: string }[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        if (!readFileSync(`/proc/${name}/environ`, 'utf8').includes(text)) return []
        return [{ pid: Number(name), line: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ') }]
      } catch {
        return [] // it ended meanwhile, or it is not ours to read
      }
    })

/** Its standard input is an open pipe that never ends, as under many a supervisor: two of the CLIs would hang on it. */
const start = (args: string[], cwd: string, env: NodeJS.ProcessEnv): Started => {
  const child = spawn(process.execPath, [program, ...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const text = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text.stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text.stderr += chunk))
  const ended = new Promise<EndedCommand>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...text }))
  })
  return { kill: (signal) => child.kill(signal), ended }
}

/** The process group. */
export const groupOf = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[2])
}

/** Where the machine allows Codex no namespaces, every tool call would fail: then its sandbox is switched off. */
const codexProgram = (codex: string, root: string): string => {
  if (codexSandboxWorks(codex, join(root, 'home', '.codex'))) return codex
  const path = join(root, 'codex')
  const swap = 'for a; do shift; [ "$a" = workspace-write ] && a=danger-full-access; set -- "$@" "$a"; done'
  writeFileSync(path, `#!/bin/sh\n${swap}\nexec '${codex}' "$@"\n`)
  chmodSync(path, 0o755)
  return path
}

/** The workspace's own tools come first in checks, so the user's PATH needs none of this checkout's. */
const ownPath = (): string =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter)

/** What a CLI is configured with, besides its program. */
const settingsOf = (name: CliName, program: string, root: string, simUrl: string): Printed => {
  const { flags, env } = pointersTo(simUrl)[name]
  const common = { env: Object.keys(env), args: flags }
  if (name === 'claude') return { ...common, command: [program], args: ['--allowedTools', 'Bash'] }
  if (name === 'codex') return { ...common, command: [codexProgram(program, root)] }
  return { ...common, command: [program] }
}

const harnesses = (root: string, simUrl: string, names: readonly CliName[]): Printed =>
  Object.fromEntries(
    Object.entries(installNamed(process.env, names)).map(([name, program]) => [
      name,
      settingsOf(name as CliName, program, root, simUrl),
    ]),
  )

/** Another base URL would choose another kind of login. */
const geminiSettings = JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } })

const makeFolders = (root: string, project: string): void => {
  for (const path of [
    project,
    join(root, 'home'),
    join(root, 'home', '.codex'),
    join(root, 'home', '.gemini'),
    join(project, '.unstuck'),
  ])
    mkdirSync(path)
  writeFileSync(join(root, 'home', '.gemini', 'settings.json'), geminiSettings)
}

const endAll = (root: string, signal: NodeJS.Signals): number => {
  const found = processesWith(root)
  for (const { pid } of found) {
    try {
      process.kill(pid, signal)
    } catch {
      // It ended meanwhile.
    }
  }
  return found.length
}

const leaveWith = async (root: string, unstuck: User['unstuck']): Promise<string[]> => {
  await unstuck('stop')
  const over = () => processesWith(root).length === 0
  await until('every process of this user ends', over, 30).catch(() => false) // the caller looks at what is left
  return processesWith(root).map(({ line }) => line)
}

const executed = (ended: EndedCommand): Executed => {
  const events = ended.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Printed)
  return {
    ...ended,
    of: (type) => events.filter((event) => event.type === type),
    result: (events.at(-1)?.payload ?? {}) as Printed,
  }
}

export const openUser = async (
  conversations: (root: string) => ScriptInput['conversations'],
  environment: Record<string, string> = {},
  clis: readonly CliName[] = ['claude', 'codex'],
): Promise<User> => {
  mkdirSync(cacheFolder(), { recursive: true })
  const root = realpathSync(mkdtempSync(join(cacheFolder(), 'user-')))
  const project = join(root, 'project')
  makeFolders(root, project)
  const sim = await startSim({ script: parseScript({ conversations: conversations(root) }, 'user') })
  const pointers = pointersTo(sim.url)
  const env = {
    ...{ PATH: ownPath(), HOME: join(root, 'home'), LANG: 'C.UTF-8' },
    ...{ UNSTUCK_HOME: join(root, 'unstuck'), XDG_CACHE_HOME: join(cacheFolder(), 'engine') },
    ...Object.assign({}, ...clis.map((name) => pointers[name].env)),
    ...environment,
  }
  const config = join(project, '.unstuck', 'config.json')
  writeFileSync(
    config,
    JSON.stringify(
      {
        harness: harnesses(root, sim.url, clis),
        requeue: { inPlaceLimit: 0, reworkDepth: 0 },
        policyRecovery: { useLlm: false },
      },
      null,
      2,
    ),
  )
  const configured = (): Printed => JSON.parse(readFileSync(config, 'utf8')) as Printed
  const configure = (change: Printed): void =>
    writeFileSync(config, JSON.stringify({ ...configured(), ...change }, null, 2))
  const unstuck: User['unstuck'] = (...args) => start(args, project, env).ended
  const lines: User['lines'] = async (...args) => {
    const { stdout } = await unstuck(...args, '--json')
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Printed)
  }
  return {
    ...{ root, project, sim, unstuck, lines },
    start: (...args) => start(args, project, env),
    exec: async (options, agent) => executed(await unstuck('exec', '--json', ...options, '--', ...agent)),
    git: (...args) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
        cwd: project,
        encoding: 'utf8',
        env,
      }).trim(),
    configure,
    configureHarness: (name, change, as = name) => {
      const { harness } = configured()
      configure({ harness: { ...harness, [as]: { ...harness[name], ...change } } })
    },
    events: (goal) => lines('events', '--goal', goal),
    crash: () => endAll(env.UNSTUCK_HOME, 'SIGKILL'),
    leave: () => leaveWith(root, unstuck),
    close: async () => {
      await unstuck('stop')
      endAll(root, 'SIGKILL')
      await sim.close()
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
