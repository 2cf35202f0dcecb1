/**
 * One incarnation of the real engine in the simulated world: its context, every port a step of the scheduler with perhaps a
 * fault around it. Once it was killed none of its calls does anything or is ever answered.
 */
import { createWakeUp, startEngine, type Engine } from '../../src/runtime/engine/engine.ts'
import type { Clock, Context, CrashPoint } from '../../src/runtime/core/context.ts'
import type { Ports, Processes } from '../../src/runtime/core/ports.ts'
import { playbooks } from '../../src/recovery/ladder.ts'
import { defaultPolicyRecovery } from '../../src/recovery/policy/recovery-policy.ts'
import type { Db, Queryable, Sql } from '../../src/store/db.ts'
import { isLaunchOver } from '../../src/process/shim-client.ts'
import { buildFile } from './agents.ts'
import { faultError, diskFull } from './faults.ts'
import { ofCheckout } from './git.ts'
import { runCheck } from './checks.ts'
import type { FaultKind } from './plan.ts'
import type { ScheduledOwner } from './scheduler.ts'
import type { World } from './world.ts'

export class Killed extends Error {}

export interface Incarnation extends ScheduledOwner {
  number: number
  stopping: AbortController
  context: Context
  engine: Engine | undefined
  kill(why: string): void
}

const stepKinds: readonly FaultKind[] = ['error-before', 'error-after', 'slow', 'kill-before', 'kill-after']

type Step = <T>(op: string, work: () => T, more?: { latency?: number }) => Promise<T>

const createStep = (world: World, self: Incarnation): Step => {
  return (op, work, { latency } = {}) =>
    new Promise((resolve, reject) => {
      if (!self.alive) return
      const fault = world.faults.take(op, stepKinds)
      const wait = (latency ?? world.latency(op)) + (fault?.kind === 'slow' ? 2_000 + world.latency('slow') * 300 : 0)
      world.scheduler.after(
        wait,
        () => {
          if (fault?.kind === 'kill-before') return self.kill(`before ${op}`)
          if (fault?.kind === 'error-before') return reject(faultError(op))
          try {
            const value = work()
            world.trace(op)
            if (fault?.kind === 'kill-after') return self.kill(`after ${op}`)
            if (fault?.kind === 'error-after') return reject(faultError(op))
            resolve(value)
          } catch (error) {
            world.trace(`${op} failed: ${String(error)}`)
            reject(error)
          }
        },
        self,
      )
    })
}

const clockOf = (world: World, self: Incarnation): Clock => ({
  now: () => world.wall(),
  elapsed: () => world.scheduler.now(),
  sinceBoot: () => world.scheduler.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve()
      const abort = (): void => {
        off()
        world.scheduler.after(0, resolve, self)
      }
      const off = world.scheduler.after(
        ms,
        () => {
          // A listener that stays would keep the whole world of its seed in memory.
          signal?.removeEventListener('abort', abort)
          resolve()
        },
        self,
      )
      signal?.addEventListener('abort', abort, { once: true })
    }),
  after: (ms, work) => world.scheduler.after(ms, work, self),
  every: (ms, work) => {
    let off = (): void => {}
    const again = (): void => {
      off = world.scheduler.after(
        ms,
        () => {
          again()
          work()
        },
        self,
      )
    }
    again()
    return () => off()
  },
})

/** Statements stand in one event of the scheduler; between a transaction's first and last nothing else happens. */
const dbOf = (world: World, self: Incarnation, step: Step): Db => {
  const run = (statement: Sql): object[] => world.statement(statement)
  const storeKinds: readonly FaultKind[] = [...stepKinds, 'mid-transaction', 'disk-full']
  const transact = async <T>(work: (tx: Queryable) => Promise<T>, failAt: number, error: () => Error): Promise<T> => {
    let left = failAt
    const tx: Queryable = {
      query: async <Row>(statement: Sql) => {
        left -= 1
        if (left === 0) throw error()
        return run(statement) as Row[]
      },
    }
    world.begin()
    try {
      const value = await work(tx)
      if (left > 0 && failAt > 0) throw error()
      world.commit()
      return value
    } catch (caught) {
      world.rollback()
      throw caught
    }
  }
  return {
    query: async <Row>(statement: Sql) => {
      const rows = (await step('store.query', () => world.alone(statement))) as Row[]
      return rows
    },
    transaction: (work) =>
      new Promise((resolve, reject) => {
        if (!self.alive) return
        const fault = world.faults.take('store.transaction', storeKinds)
        const kind = fault?.kind
        const perform = async (): Promise<void> => {
          if (kind === 'kill-before') return self.kill('before a transaction')
          if (kind === 'error-before') return reject(faultError('store.transaction'))
          const failAt = kind === 'mid-transaction' || kind === 'disk-full' ? 1 + ((fault?.nth ?? 0) % 5) : 0
          try {
            const value = await transact(
              work,
              failAt,
              kind === 'disk-full' ? diskFull : () => faultError('store.transaction'),
            )
            world.trace('store.transaction')
            if (kind === 'kill-after') return self.kill('after a transaction')
            if (kind === 'error-after') return reject(faultError('store.transaction'))
            resolve(value)
          } catch (error) {
            world.trace(`store.transaction failed: ${String(error)}`)
            reject(error)
          }
        }
        const wait = world.latency('store.transaction') + (kind === 'slow' ? 8_000 : 0)
        world.scheduler.after(wait, perform, self)
      }),
    script: () => Promise.reject(new Error('the simulated store is migrated')),
    close: () => Promise.resolve(),
  }
}

/** Waits until something of a launch changed or the signal aborts. */
const nextChange = (world: World, self: Incarnation, dir: string, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const launch = world.processes.launches.get(dir)
    let off = (): void => {}
    const done = (): void => {
      launch?.listeners.delete(done)
      signal?.removeEventListener('abort', done)
      off()
      world.scheduler.after(world.latency('process.wake'), resolve, self)
    }
    if (launch === undefined || signal?.aborted === true) return done()
    launch.listeners.add(done)
    off = world.scheduler.after(30_000, done, self)
    signal?.addEventListener('abort', done)
  })

const processesOf = (world: World, self: Incarnation, step: Step): Processes => {
  const { processes } = world
  const sync = <T>(work: () => T): T => {
    if (!self.alive) throw new Killed()
    return work()
  }
  const over = (dir: string): boolean => isLaunchOver(processes.state(dir))
  const follow: Processes['follow'] = async function* (dir, options) {
    await step('process.follow', () => undefined)
    const seen = { stdout: 0, stderr: 0 }
    while (options?.signal?.aborted !== true) {
      const last = over(dir)
      let found = false
      for (const stream of ['stdout', 'stderr'] as const) {
        const lines = processes.launches.get(dir)?.lines[stream] ?? []
        while (seen[stream] < lines.length) {
          found = true
          seen[stream] += 1
          yield { stream, line: lines[seen[stream] - 1] ?? '', nextOffset: seen[stream] }
        }
      }
      if (!found && last) return
      if (!found) await nextChange(world, self, dir, options?.signal)
    }
  }
  return {
    follow,
    askVersion: () => step('process.askVersion', () => '2.1.197'),
    printedBy: async () => '',
    // Here a program has no way out of its tree, which its shim or a sweep ends.
    endLeft: async () => sync(() => []),
    isOver: isLaunchOver,
    keepSpare: () => {},
    leasePorts: async () => undefined,
    releasePorts: () => {},
    launchState: (dir) => sync(() => processes.state(dir)),
    openGate: (dir) => sync(() => processes.openGate(dir)),
    readSegments: (dir, stream, offset) =>
      sync(() => {
        const lines = (processes.launches.get(dir)?.lines[stream] ?? []).slice(offset)
        return {
          lines,
          ends: lines.map((_line, index) => offset + index + 1),
          nextOffset: offset + lines.length,
          gapBytes: 0,
        }
      }),
    redactText: (text) => sync(() => text),
    requestStop: (shim, cause) => sync(() => processes.requestStop(shim, cause)),
    touchKeepAlive: (dir) => sync(() => processes.pulse(dir)),
    unfinishedLine: () => sync(() => ''),
    writtenBytes: (dir, stream) => sync(() => processes.launches.get(dir)?.lines[stream].length ?? 0),
    treeUsage: (marker) => sync(() => processes.usage(marker)),
    receivedBytes: () => 0,
    startedPrograms: () => [],
    noteStarted: () => undefined,
    readStarted: () => [],
    startShim: (dir, spec) => step('process.startShim', () => processes.start(dir, spec)),
    sweep: (marker) => step('process.sweep', () => processes.sweep(marker)),
    waitForExit: async (dir, options) => {
      await step('process.waitForExit', () => undefined)
      const deadline = world.scheduler.now() + (options?.deadlineMs ?? Number.POSITIVE_INFINITY)
      while (!over(dir) && world.scheduler.now() < deadline && options?.signal?.aborted !== true)
        await nextChange(world, self, dir, options?.signal)
      return processes.state(dir)
    },
    runCommand: (dir, request) => runCheck(world, self, step, { dir, request }),
  }
}

const filesOf = (world: World, self: Incarnation): Ports['files'] => {
  const door =
    <A extends unknown[], R>(name: string, call: (...args: A) => R) =>
    (...args: A): R => {
      if (!self.alive) throw new Killed()
      const fault = world.faults.take(`file.${name}`, ['disk-full', 'kill-before'])
      if (fault?.kind === 'kill-before') {
        self.kill(`before ${name}`)
        throw new Killed()
      }
      if (fault !== undefined) throw faultError(`file.${name}`)
      return call(...args)
    }
  return Object.fromEntries(
    Object.entries(world.files).map(([name, call]) => [name, door(name, call as () => unknown)]),
  ) as unknown as Ports['files']
}

const gitOf = (world: World, step: Step): Ports['git'] => {
  const calls = Object.entries(world.git.calls).map(([name, call]) => [
    name,
    (...args: unknown[]) => step(`git.${name}`, () => (call as (...all: unknown[]) => unknown)(...args)),
  ])
  return { ...Object.fromEntries(calls), ...ofCheckout } as Ports['git']
}

const contextOf = (world: World, self: Incarnation, wake: () => void): Context => {
  const step = createStep(world, self)
  const at = (point: CrashPoint): void => {
    if (!self.alive) throw new Killed()
    if (world.faults.take(`point.${point}`, ['kill-before']) === undefined) return
    self.kill(`at ${point}`)
    throw new Killed()
  }
  const say = (level: string) => (fields: Record<string, unknown>, message: string) => {
    if (self.alive) world.logged(level, message, fields)
  }
  return world.hooks.context(
    {
      db: world.hooks.db(dbOf(world, self, step), world),
      ports: {
        ...{ processes: processesOf(world, self, step), git: gitOf(world, step), files: filesOf(world, self) },
        host: { facts: () => ({ os: 'Sim', kernel: 'sim 1', arch: 'sim', cpu: undefined, memory: '1.0 GiB' }) },
        traces: {
          traceEndpoint: () => null,
          shownEndpoint: (text) => text,
          openSpanSender: () => Promise.reject(new Killed()),
        },
        notify: {
          sendOver: () => step('notify.send', () => ({ ok: true as const })),
          readPresses: () => step('notify.read', () => ({ ok: true as const, tokens: [] })),
          ...{ buttonTokenHash: (token) => token, newButtonToken: () => world.newId('token'), ntfyToken: () => '' },
        },
      },
      clock: clockOf(world, self),
      newId: world.newId,
      at,
      log: { debug: () => undefined, info: say('info'), warn: say('warn'), error: say('error') },
      repository: world.git.calls.openRepository(world.git.root),
      shadow: world.shadow,
      remote: undefined,
      stateDir: '/state',
      cacheDir: '/cache',
      config: () => world.config,
      pathPolicy: () => ({
        ...defaultPolicyRecovery,
        commandDrivenAllowedPathRules: [{ pattern: 'npm', paths: [buildFile] }],
      }),
      policy: () => ({ playbooks, disabled: world.config.playbooks.disabled, retry: world.config.retry }),
      cliVersions: new Map(),
      environment: { PATH: '/bin' },
      wake,
      stopping: self.stopping.signal,
      host: 'sim',
    },
    world,
  )
}

/** Starts an engine; `engine` is set when it has taken up what was there. A start that fails ends the incarnation. */
export const bootEngine = (world: World, number: number): Incarnation => {
  const bell = createWakeUp()
  const self: Incarnation = {
    number,
    alive: true,
    suspendedUntil: 0,
    stopping: new AbortController(),
    context: undefined as unknown as Context,
    engine: undefined,
    kill: (why) => {
      if (!self.alive) return
      self.alive = false
      world.engineGone(self, why)
    },
  }
  self.context = contextOf(world, self, () => bell.wake())
  // Only when this engine is the world's: it may be killed in its very first call.
  const started = Promise.resolve().then(() => startEngine(self.context, bell))
  started.then(
    (engine) => {
      self.engine = engine
      engine.stopped.then(
        () => self.kill('it stopped'),
        (error: unknown) => world.broken('the engine loop rejected', error),
      )
    },
    (error: unknown) => {
      if (error instanceof Killed) return
      if ((error as { injected?: boolean }).injected !== true) world.broken('the engine could not start', error)
      self.kill(`its start failed: ${String(error)}`)
    },
  )
  return self
}
