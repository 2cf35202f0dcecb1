/**
 * Memory of an idle engine: proportional set size (PSS) of all its processes, the server among them, beside a bare PostgreSQL. Once with an empty
 * store and once after many ended goals (`GOALS`, default 1,000). Target: 220 MB.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { serverOf } from '../src/store/server/embedded-server.ts'
import { printResult } from './measure.ts'

const root = join(import.meta.dirname, '..')
const entry = join(root, 'bin', 'unstuck.js')
const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-memory-'))
const repo = join(folder, 'repo')
const home = join(folder, 'home')
const goals = Number(process.env.GOALS ?? 1000)

mkdirSync(home)
execFileSync('git', ['init', '-q', repo])

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // the process ended
  }
}

/** Megabytes of the processes whose environment, command line or parents name the folder. */
const memory = (): { all: number; server: number } => {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const parentOf = (pid: string): string => /^PPid:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? ''
  const servers = new Set(pids.filter((pid) => textOf(`/proc/${pid}/cmdline`).includes(join(home, 'postgres'))))
  for (const pid of pids) if (servers.has(parentOf(pid))) servers.add(pid)
  const ours = pids.filter((pid) => servers.has(pid) || textOf(`/proc/${pid}/environ`).includes(folder))
  const sum = (list: Iterable<string>): number =>
    [...list].reduce(
      (total, pid) => total + Number(/^Pss:\s+(\d+)/m.exec(textOf(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0),
      0,
    ) / 1024
  return { all: sum(ours), server: sum(servers) }
}

/** Idle: what a start leaves is collected, and connections that are not used are closed. */
const settledMs = 40_000

const idleEngine = async (): Promise<{ all: number; server: number }> => {
  const child = spawn(process.execPath, [entry, 'up'], {
    cwd: repo,
    env: { ...process.env, UNSTUCK_HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  await delay(settledMs)
  const found = memory()
  child.kill('SIGTERM')
  await new Promise((resolve) => child.once('exit', resolve))
  return found
}

const server = serverOf({ home, environment: process.env })

/** A bare server with one connection. */
const bare = async (): Promise<number> => {
  await server.start()
  const client = new pg.Client({ connectionString: server.url('unstuck') })
  await client.connect()
  await client.query('select 1')
  const found = memory().server
  await client.end()
  await server.stop()
  return found
}

/** Ended goals with a task and five events each, as the store keeps them. */
const endGoals = async (): Promise<void> => {
  await server.start()
  const client = new pg.Client({ connectionString: server.url('unstuck') })
  await client.connect()
  const state = readdirSync(home).find((name) => name.startsWith(basename(repo))) ?? ''
  await client.query(`set search_path to unstuck_${state.replace(/[^a-z0-9]+/g, '_')}`)
  await client.query(
    `insert into goal (id, title, requirement, state, repo_mode, target_branch, auto_merge, allowed_dirs, limits, spend)
      select 'g-' || n, 'Goal ' || n, repeat('text ', 40), 'done', 'local', 'main', false, '[]', '{}', '{}' from generate_series(1, $1) n`,
    [goals],
  )
  await client.query(
    `insert into event (type, goal_id, payload) select 'goal.done', 'g-' || n, '{}' from generate_series(1, $1) n, generate_series(1, 5)`,
    [goals],
  )
  await client.end()
  await server.stop()
}

const bareMb = await bare()
const empty = await idleEngine()
await endGoals()
const full = await idleEngine()
printResult('memory', {
  ...{ bareServerMb: bareMb, idleMb: empty.all, ofServerMb: empty.server },
  ...{ goals, idleWithGoalsMb: full.all, ofServerWithGoalsMb: full.server, targetMb: 220 },
})
rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
