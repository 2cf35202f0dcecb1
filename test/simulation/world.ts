/** The simulated world of one seed: everything that the engine can reach, and what an engine's death leaves behind. */
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { configSchema, type Config } from '../../src/config/config-schema.ts'
import { roles } from '../../src/domain/task.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import type { Files } from '../../src/runtime/core/files.ts'
import type { Db, Sql } from '../../src/store/db.ts'
import type { Shadow } from '../../src/workspace/shadow.ts'
import { privateDir, sharedDir } from './agents.ts'
import { brokenBy } from './suite.ts'
import { createDice } from './dice.ts'
import { bootEngine, Killed, type Incarnation } from './engine.ts'
import { commitToBranch } from './finished-work.ts'
import { createFaults, type Faults } from './faults.ts'
import { createFiles } from './files.ts'
import { createGit, type SimGit, type Tree } from './git.ts'
import { createMirror, type Tables } from './mirror.ts'
import { createOracle, type Oracle } from './oracle.ts'
import type { SyncStore } from './sync-store.ts'
import type { Plan, TaskPlan } from './plan.ts'
import { createProcesses, type ProcessWorld } from './processes.ts'
import { createScheduler, type Scheduler } from './scheduler.ts'

export interface BrokenInvariant {
  promise: string
  text: string
}

/** Where a planted bug gets its hands on the product. */
export interface Hooks {
  context(context: Context, world: World): Context
  db(db: Db, world: World): Db
}

export const noHooks: Hooks = { context: (context) => context, db: (db) => db }

export interface Checked {
  at: number
  /** Not the commit that the work began from. */
  work: boolean
  /** It ran to see what passing checks prove, on a tree that is mixed from the work and its base. */
  proves: boolean
  /** What it looked at. */
  tree: string
  failed: string[]
}

export interface World {
  plan: Plan
  hooks: Hooks
  scheduler: Scheduler
  git: SimGit
  /** The repository before any work. */
  firstTree: Tree
  processes: ProcessWorld
  files: Files
  faults: Faults
  tables: Tables
  oracle: Oracle
  config: Config
  /** The largest number of waits that the configuration ever allowed. */
  mostWaits: number
  shadow: Shadow
  lastCheck: Map<string, boolean>
  /** Every check so far, by marker. */
  checks: Map<string, Checked[]>
  current: Incarnation | undefined
  offsets: { machine: number; store: number }
  violation: BrokenInvariant | undefined
  /** When something disturbed the world last. */
  disturbedAt: number
  /** Finished work that a person approved, see `workOf`. */
  approved: Set<string>
  /** How often reviewers and agents that solve conflicts did what, and what the judge did. */
  met: Map<string, number>
  latency(op: string): number
  wall(): Date
  newId(prefix: string): string
  trace(text: string): void
  recent(): string[]
  fingerprint(): string
  logged(level: string, message: string, fields: Record<string, unknown>): void
  begin(): void
  /** Of a transaction that was begun. */
  statement(statement: Sql): object[]
  /** Outside of a transaction. */
  alone(statement: Sql): object[]
  commit(): void
  rollback(): void
  checked(marker: string, check: Checked): void
  snapshotsFail(): boolean
  /** Since when an engine has been up without a break. */
  steadySince(): number
  boot(): void
  engineGone(self: Incarnation, why: string): void
  /** When nothing is looked at any more: what waits for a signal of an engine that was killed keeps its world in memory. */
  letGo(): void
  setConfig(change: { maxParallel?: number; transientLimit?: number }): void
  broken(what: string, error: unknown): void
  violated(promise: string, text: string): void
}

const root = '/repo'
/** The file of the test that is red before any work. */
export const redFile = 'src/red'
const epoch = Date.UTC(2026, 0, 1)
const start = new Map([
  ['package.json', JSON.stringify({ scripts: { test: 'node check.mjs' } })],
  ['check.mjs', 'check\n'],
  ['sub/check.mjs', 'check\n'],
  ['README.md', 'read me\n'],
])

const configOf = (plan: Plan, change: { maxParallel?: number; transientLimit?: number }): Config =>
  configSchema.parse({
    harness: {
      claude: { command: ['/bin/claude'] },
      codex: { command: ['/bin/codex'] },
      tool: { command: ['/bin/tool'] },
    },
    allowedDirs: [sharedDir],
    maxParallel: change.maxParallel ?? plan.maxParallel,
    lease: { ttlSeconds: plan.ttlSeconds },
    limits: { runSeconds: 60, runCostUsd: 5 },
    stall: { silenceSeconds: 8, afterToolResultSeconds: 6, toolSeconds: 12, probeSeconds: 4, lingerSeconds: 5 },
    verify: { timeoutSeconds: 60, totalSeconds: 180 },
    requeue: { failedSeconds: 4, blockedSeconds: 6 },
    policyRecovery: { timeoutSeconds: 20 },
    judge: { ...plan.judge, timeoutSeconds: 30, retrySeconds: 5 },
    retry: {
      transientBaseSeconds: 4,
      transientMaxSeconds: 40,
      quotaBaseSeconds: 5,
      quotaMaxSeconds: 20,
      transientLimit: change.transientLimit ?? plan.transientLimit,
    },
  })

/** The instructions of the roles, where the package has them. */
const shippedTexts = Object.fromEntries(
  roles.map((role) => [
    fileURLToPath(new URL(`../../templates/instructions/${role}.md`, import.meta.url)),
    { text: `You are the ${role}.` },
  ]),
)

const tracer = (scheduler: Scheduler) => {
  const hash = createHash('sha256')
  const recent: string[] = []
  let unhashed = ''
  const flush = (): void => {
    hash.update(unhashed)
    unhashed = ''
  }
  return {
    trace: (text: string): void => {
      const line = `${(scheduler.now() / 1000).toFixed(3)} ${text}`
      unhashed += `${line}\n`
      if (unhashed.length > 20_000) flush()
      recent.push(line)
      if (recent.length > 400) recent.splice(0, 200)
    },
    recent: () => recent,
    fingerprint: () => {
      flush()
      return hash.copy().digest('hex')
    },
  }
}

const meet = ({ met }: World, what: string | undefined): void => {
  if (what !== undefined) met.set(what, (met.get(what) ?? 0) + 1)
}

interface Traits {
  /** Tables that it writes. */
  writes: string[]
  /** Whether the store's clock matters to it: defaults of columns read it too. */
  timed: boolean
}

const known = new Map<string, Traits>()
const traitsOf = (text: string): Traits => {
  const found = known.get(text)
  if (found !== undefined) return found
  const writes = [...text.matchAll(/\b(?:insert into|update|delete from)\s+(\w+)\s/gi)].map((match) => match[1] ?? '')
  const traits = { writes, timed: writes.length > 0 || text.includes('unstuck_now') }
  known.set(text, traits)
  return traits
}

/** The store's side: one connection, its clock set before whatever reads it, the oracle behind every commit. */
const storePart = (world: World, store: SyncStore) => {
  const mirror = createMirror()
  world.tables = mirror.tables
  const touched = new Set<string>()
  const setClock = (): void => {
    store.setClock(world.wall().getTime() + world.offsets.store)
  }
  const look = (rows: object[][]): void => {
    if (touched.size === 0) return
    const seen = mirror.look(touched, rows)
    touched.clear()
    store.seen(seen.seen)
    for (const event of seen.events) {
      if (event.type.startsWith('judge.') || event.type === 'goal.target_checked') meet(world, event.type)
      world.trace(
        `${event.id} ${event.type} ${event.goalId ?? ''} ${event.taskId ?? ''} ${event.runId ?? ''} ${JSON.stringify(event.payload)}`,
      )
    }
    world.oracle.observe(seen)
  }
  const prepare = ({ text }: Sql): void => {
    const { writes, timed } = traitsOf(text)
    for (const table of writes) touched.add(table)
    if (timed) setClock()
  }
  return {
    begin: () => store.begin(),
    statement: (statement: Sql) => {
      prepare(statement)
      return store.query(statement)
    },
    alone: (statement: Sql) => {
      prepare(statement)
      if (touched.size === 0) return store.query(statement)
      try {
        const { rows, looks } = store.alone(statement, mirror.looks(touched))
        look(looks)
        return rows
      } finally {
        touched.clear()
      }
    },
    commit: () => {
      look(store.commit(mirror.looks(touched)))
    },
    rollback: () => {
      store.rollback()
      touched.clear()
    },
  }
}

const enginePart = (world: World) => {
  let number = 0
  let steady = 0
  const begun: AbortController[] = []
  const boot = (): void => {
    number += 1
    steady = world.scheduler.now()
    world.trace(`engine ${number} starts`)
    world.current = bootEngine(world, number)
    begun.push(world.current.stopping)
  }
  return {
    boot,
    letGo: () => {
      for (const stopping of begun) stopping.abort()
    },
    steadySince: () => Math.max(steady, world.current === undefined ? Infinity : 0, world.current?.suspendedUntil ?? 0),
    engineGone: (self: Incarnation, why: string): void => {
      world.trace(`engine ${self.number} ended: ${why}`)
      if (world.current !== self) return
      world.current = undefined
      const dice = createDice(`${world.plan.seed}/boot/${number}`)
      // Mostly soon; now and then so late that the shims have given up.
      world.scheduler.after(dice.chance(0.8) ? dice.int(200, 5_000) : dice.int(30_000, 200_000), boot)
    },
  }
}

const findTask = (world: World, runId: string): TaskPlan | undefined => {
  let task = world.tables.task.get(world.tables.run.get(runId)?.taskId ?? '')
  // A task that continues another one has the same agent, which goes on in its behaviours.
  while (task?.rework != null) task = world.tables.task.get(task.rework.parent)
  const title = task?.title
  return world.plan.goals.flatMap(({ tasks }) => tasks).find(({ id }) => id === title)
}

/** The task, or one that it continues, solves a conflict: its first workspace has both sides. */
const solvesConflict = (world: World, taskId: string | undefined): boolean => {
  const rework = world.tables.task.get(taskId ?? '')?.rework
  return rework != null && (rework.kind === 'conflict' || solvesConflict(world, rework.parent))
}

const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

const plainPart = (world: World) => {
  const names = createDice(`${world.plan.seed}/names`)
  const waits = createDice(`${world.plan.seed}/latency`)
  const ranges = new Map<string, [number, number]>()
  const words: Record<string, [number, number]> = {
    store: [0, 3],
    git: [5, 120],
    process: [1, 30],
    check: [5, 80],
    slow: [1, 60],
  }
  return {
    newId: (prefix: string) => `${prefix}-${Array.from({ length: 8 }, () => names.pick(alphabet.split(''))).join('')}`,
    latency: (op: string) => {
      let range = ranges.get(op)
      if (range === undefined) ranges.set(op, (range = words[op.split('.')[0] ?? ''] ?? [1, 10]))
      return waits.int(range[0], range[1])
    },
    wall: () => new Date(epoch + world.scheduler.now() + world.offsets.machine),
    checked: (marker: string, check: Checked) => {
      if (!check.proves) world.lastCheck.set(marker, check.failed.length === 0)
      world.checks.set(marker, [...(world.checks.get(marker) ?? []), check])
    },
    snapshotsFail: () => world.plan.faults.some(({ op }) => op === 'git.snapshot'),
    setConfig: (change: { maxParallel?: number; transientLimit?: number }) => {
      world.config = configOf(world.plan, change)
      world.mostWaits = Math.max(world.mostWaits, world.config.retry.transientLimit)
    },
    violated: (promise: string, text: string) => {
      world.trace(`BROKEN PROMISE ${promise}: ${text}`)
      world.violation ??= { promise, text }
    },
    broken: (what: string, error: unknown) => {
      if (error instanceof Killed) return
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      world.violated('no bug', `${what}: ${text}`)
    },
    logged: (level: string, message: string, fields: Record<string, unknown>) => {
      // Without its stack: that names whoever started the seed.
      const plain = (_key: string, value: unknown): unknown =>
        typeof value === 'string' ? value.replace(/\n +at [^]*$/, '') : value
      if (level !== 'info') world.trace(`${level}: ${message} ${JSON.stringify(fields, plain)}`)
    },
  }
}

export const createWorld = (plan: Plan, store: SyncStore, hooks: Hooks = noHooks): World => {
  const scheduler = createScheduler()
  const firstTree = plan.redBase === true ? new Map([...start, [redFile, brokenBy('of-the-base')]]) : start
  const git = createGit(root, firstTree)
  for (const branch of new Set(plan.goals.flatMap(({ tasks }) => tasks.flatMap((task) => task.branch ?? []))))
    commitToBranch(git, branch, `${branch} 1\n`)
  const world = {
    ...{
      plan,
      hooks,
      scheduler,
      git,
      firstTree,
      lastCheck: new Map(),
      checks: new Map(),
      current: undefined,
      violation: undefined,
      disturbedAt: 0,
      approved: new Set(),
      met: new Map(),
    },
    ...{ offsets: { machine: 0, store: 0 }, mostWaits: plan.transientLimit, config: configOf(plan, {}) },
  } as unknown as World
  Object.assign(world, tracer(scheduler), plainPart(world))
  world.shadow = {
    gitDir: '/state/shadow',
    rawGitDir: '/state/shadow-raw',
    repository: git.calls.openRepository(root),
    drivers: [],
    filters: [],
  }
  world.oracle = createOracle(world)
  Object.assign(world, storePart(world, store), enginePart(world))
  world.faults = createFaults(plan.faults, ({ id, kind, op }) => {
    world.disturbedAt = scheduler.now()
    world.trace(`fault ${id}: ${kind} ${op}`)
  })
  world.processes = createProcesses({
    ...{ scheduler, git, dice: createDice(`${plan.seed}/programs`), wall: world.wall, trace: world.trace },
    taskOf: (runId) => findTask(world, runId),
    solvesConflict: (runId) => solvesConflict(world, world.tables.run.get(runId)?.taskId),
    goalRefOf: (runId) => `refs/heads/unstuck/goal/${world.tables.run.get(runId)?.goalId ?? ''}`,
    onStart: (launch) => {
      meet(world, launch.program?.script.told)
      world.oracle.programStarts(launch)
    },
    onStopRequest: (launch) => world.oracle.stopRequested(launch),
  })
  git.onDiscard = (dir) => world.oracle.discarded(dir)
  world.files = createFiles(
    { git, processes: world.processes, wall: world.wall },
    {
      ...{ '/state': 'dir', '/cache': 'dir', [sharedDir]: 'dir', [privateDir]: 'dir' },
      ...{ '/bin/claude': { text: '' }, '/bin/codex': { text: '' }, '/bin/tool': { text: '' } },
      ...shippedTexts,
    },
  )
  return world
}
