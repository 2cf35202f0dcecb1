/**
 * Engines on hosts of their own, one PostgreSQL and one bare git remote on another: a cable is taken out, the database
 * restarts, the remote goes away, and in the end each task is on the goal branch once. HOSTS_TASKS sets the size of the long form.
 */
import { execFileSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { StatusView } from '../../src/api/contract.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { parseRemote } from '../../src/workspace/remote-url.ts'
import { openNetwork, type Host } from './network.ts'

const tasks = Number(process.env.HOSTS_TASKS ?? '12')
/** Of the hosts with an engine. */
const names = (process.env.HOSTS_NAMES ?? 'ada,bob').split(',')
const deadlineMs = Math.max(240_000, tasks * 15_000)
const program = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

let top: string
let network: ReturnType<typeof openNetwork>
let database: ChildProcess
let gitDaemon: ChildProcess
let environments: Map<string, Record<string, string>>
const engines: ChildProcess[] = []

const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd, encoding: 'utf8' }).trim()

const agent = `
import { writeFileSync } from 'node:fs'
await new Promise((next) => setTimeout(next, 300 + 1200 * Math.random()))
writeFileSync('made-' + process.env.UNSTUCK_RUN_DIR.split('/').at(-2) + '.txt', 'made')
`

const services = (): Host => network.hosts[0]!
const workers = (): Host[] => network.hosts.slice(1)
const bare = (): string => join(top, 'served', 'origin.git')

const startGit = async (): Promise<ChildProcess> => {
  const args = ['daemon', '--reuseaddr', '--export-all', '--enable=receive-pack', `--listen=${services().address}`]
  const child = services().start(['git', ...args, `--base-path=${join(top, 'served')}`], { stdio: 'ignore' })
  await delay(300)
  return child
}

const endOf = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

const startEngine = (host: Host): void => {
  const log = openSync(join(top, `${host.name}.log`), 'a')
  const argv = [process.execPath, program('../support/daemon.ts')]
  const options = {
    cwd: top,
    env: environments.get(host.name) ?? {},
    stdio: ['ignore', log, log] as ['ignore', number, number],
  }
  engines.push(host.start(argv, options))
}

/** The command line on a host; its output, or undefined when it failed. */
const cli = async (host: Host, args: string[]): Promise<string | undefined> => {
  const argv = [process.execPath, program('../../bin/unstuck.js'), ...args]
  const child = host.start(argv, {
    cwd: top,
    env: environments.get(host.name) ?? {},
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout?.on('data', (chunk) => (output += String(chunk)))
  child.stderr?.on('data', (chunk) => (output += String(chunk)))
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  if (code !== 0) process.stdout.write(`${host.name}: ${args[0]} ended with ${code}: ${output.slice(0, 300)}\n`)
  return code === 0 ? output : undefined
}

const until = async <T>(what: string, look: () => Promise<T | undefined>): Promise<T> => {
  for (const deadline = performance.now() + deadlineMs; ;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`${what}: not within ${deadlineMs / 1000} s`)
    await delay(500)
  }
}

beforeAll(async () => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-hosts-')))
  network = openNetwork(['services', ...names])
  const work = join(top, 'work')
  mkdirSync(work)
  writeFileSync(
    join(work, 'check.js'),
    "process.exit(require('node:fs').readdirSync('.').some((name) => name.startsWith('made-')) ? 0 : 1)",
  )
  git(work, 'init', '-q', '-b', 'main')
  git(work, 'add', '-A')
  git(work, 'commit', '-qm', 'Start')
  git(top, 'clone', '-q', '--bare', work, bare())
  writeFileSync(join(top, 'agent.mjs'), agent)
  const { PATH = '', HOME = '', XDG_CACHE_HOME = join(HOME, '.cache') } = process.env
  const outside = { PATH: `${dirname(process.execPath)}:${PATH}`, HOME, XDG_CACHE_HOME }
  database = services().start([process.execPath, program('server.ts'), services().address, '10.77.0.0/24'], {
    env: outside,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [url] = (await once(database.stdout!, 'data')) as [Buffer]
  gitDaemon = await startGit()
  const address = `git://${services().address}/origin.git`
  environments = new Map(
    workers().map(({ name }) => [
      name,
      {
        ...outside,
        UNSTUCK_HOME: join(top, name),
        UNSTUCK_DATABASE_URL: String(url).trim(),
        UNSTUCK_REPO_URL: address,
      },
    ]),
  )
  for (const environment of environments.values()) {
    const owners = join(stateDirOf(environment, parseRemote(address, '/').id), 'repository', '.unstuck')
    mkdirSync(owners, { recursive: true, mode: 0o700 })
    const harness = {
      default: 'made',
      made: { driver: 'command', command: [process.execPath, join(top, 'agent.mjs')] },
    }
    const config = {
      harness,
      requeue: { inPlaceLimit: 0, reworkDepth: 0 },
      policyRecovery: { useLlm: false },
      maxParallel: 2,
      lease: { ttlSeconds: 20 },
      remote: { timeoutSeconds: 10 },
      retry: { transientBaseSeconds: 0.5, transientMaxSeconds: 2 },
      verify: { commands: ['node check.js'] },
    }
    writeFileSync(join(owners, 'config.json'), JSON.stringify(config))
  }
})

const endAgents = (): void => {
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)) {
    try {
      if (readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(`${top}/`)) process.kill(Number(name), 'SIGKILL')
    } catch {
      // It ended meanwhile.
    }
  }
}

afterAll(async () => {
  for (const engine of engines) await endOf(engine, 'SIGKILL')
  if (gitDaemon !== undefined) await endOf(gitDaemon, 'SIGKILL')
  if (database !== undefined) await endOf(database, 'SIGTERM')
  endAgents()
  network?.close()
  if (process.env.HOSTS_KEEP !== undefined) cpSync(top, process.env.HOSTS_KEEP, { recursive: true })
  if (existsSync(top)) rmSync(top, { recursive: true, force: true, maxRetries: 5 })
})

const merged = (): string[] => {
  const branch = git(bare(), 'for-each-ref', '--format=%(refname)', 'refs/heads/unstuck')
  return git(
    bare(),
    'log',
    '--first-parent',
    '--format=%(trailers:key=Unstuck-Task,valueonly,separator=%x2C)',
    `main..${branch}`,
  )
    .split('\n')
    .filter((id) => id !== '')
}

it(
  `${tasks} tasks on ${names.length} host(s), through a partition, a database restart and a remote that goes away, are merged once each`,
  async () => {
    for (const host of workers()) startEngine(host)
    const [ada, bob] = [workers()[0]!, workers().at(-1)!]
    const list = join(top, 'tasks.md')
    writeFileSync(list, Array.from({ length: tasks }, (_value, index) => `- [ ] Make part ${index + 1}\n`).join(''))
    // The engine answers when it is up; the goal may be given on either host.
    await until('an engine answers', () => cli(ada, ['status', '--json']))
    await until('the goal is accepted', () => cli(ada, ['run', list, '--detach', '--json']))
    const step = async (share: number, what: string, trouble: () => Promise<void>): Promise<void> => {
      await until(`${share * 100} % merged`, async () => (merged().length >= tasks * share ? true : undefined))
      process.stdout.write(`${new Date().toISOString()} ${merged().length} merged; ${what}\n`)
      await trouble()
    }
    await step(0.1, 'the cable of bob is out for longer than the leases', async () => {
      bob.link('down')
      await delay(25_000)
      bob.link('up')
    })
    await step(0.35, 'the database restarts', async () => void database.kill('SIGUSR1'))
    await step(0.5, 'the remote goes away', async () => {
      await endOf(gitDaemon, 'SIGTERM')
      await delay(8_000)
      gitDaemon = await startGit()
    })
    await step(0.7, 'the cable of ada is out', async () => {
      ada.link('down')
      await delay(10_000)
      ada.link('up')
    })
    const goal = await until('the goal is ready', async () => {
      const text = (await cli(bob, ['status', '--json'])) ?? (await cli(ada, ['status', '--json']))
      const [found] = text === undefined ? [] : (JSON.parse(text) as StatusView).goals
      return found !== undefined && !['active', 'planning'].includes(found.state) ? found : undefined
    })
    expect(goal.state).toBe('ready')
    expect(merged().sort()).toEqual(goal.tasks.map(({ id }) => id).sort())
    expect(new Set(merged()).size).toBe(tasks)
    expect(git(bare(), 'rev-parse', `unstuck/goal/${goal.id}`)).toBe(goal.headCommit)
    await until('doctor finds nothing', () => cli(ada, ['doctor']))
  },
  deadlineMs + 120_000,
)
