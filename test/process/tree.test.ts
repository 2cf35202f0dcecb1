import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { ownGroup } from '../../src/platform/group.ts'
import { processesWithEnvironment, type ProcessIdentity } from '../../src/platform/process.ts'
import { launchState, openGate, requestStop, unfinishedLine, waitForExit } from '../../src/process/shim-client.ts'
import { sweep } from '../../src/process/sweep.ts'
import { treeUsage } from '../../src/process/usage.ts'
import { allLines, createBench, exitOf, faultAgent, fixture, isGone, shell, until } from './bench.ts'

const bench = createBench()

afterAll(() => bench.clear())

const firstLine = (dir: string): Promise<string> => until('a first line', () => allLines(dir).lines[0])
const agentOf = (dir: string): Promise<number> =>
  until('agent.json', () => {
    const path = join(dir, 'agent.json')
    return existsSync(path) && (JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity).pid
  })
const carriers = (marker: string): number[] => processesWithEnvironment('UNSTUCK_RUN', marker)

describe('what a tree uses', () => {
  const usedBy = (marker: string): number => treeUsage(marker).reduce((sum, { cpuMs }) => sum + cpuMs, 0)

  test('is its processor time, with that of a child that ended', async () => {
    // By its own count of processor time: on a busy machine it gets little of any span of time.
    const burn = 'while (process.cpuUsage().user < 400_000);'
    const shim = await bench.start(shell(`'${process.execPath}' -e '${burn}'; echo burnt; exec sleep 300`))
    openGate(shim.dir)
    expect(await firstLine(shim.dir)).toBe('burnt')
    const { marker } = JSON.parse(readFileSync(join(shim.dir, 'spec.json'), 'utf8')) as { marker: string }
    const used = usedBy(marker)
    expect(used).toBeGreaterThan(100)
    expect(treeUsage(marker)).toHaveLength(1)
    requestStop(shim, 'correction')
    await exitOf(shim.dir)
    expect(treeUsage(marker)).toEqual([])
  })
})

test('a line that was begun and not ended is told of, redacted, until it ends', async () => {
  const script =
    'printf "Password for s3cret-token-value? "; while [ ! -e go ]; do sleep 0.05; done; echo; exec sleep 300'
  const shim = await bench.start(shell(script), {}, { MY_TOKEN: 's3cret-token-value' })
  openGate(shim.dir)
  expect(await until('an unfinished line', () => unfinishedLine(shim.dir) || undefined)).toBe(
    'Password for [redacted]? ',
  )
  writeFileSync(join(bench.root, 'go'), '')
  await until('the end of the line', () => unfinishedLine(shim.dir) === '')
  requestStop(shim, 'correction')
  await exitOf(shim.dir)
})

describe('a stop', () => {
  test('is SIGTERM when that is enough, and records its cause', async () => {
    const shim = await bench.start(shell('exec sleep 300'))
    openGate(shim.dir)
    const pid = await agentOf(shim.dir)
    requestStop(shim, 'correction')
    expect(await exitOf(shim.dir)).toMatchObject({ signal: 'SIGTERM', cause: 'correction', forced: false })
    expect(isGone(pid)).toBe(true)
  })

  test('forces a program that ignores SIGTERM, and the first cause stays', async () => {
    const shim = await bench.start(faultAgent('deaf'), { graceMs: 300 })
    openGate(shim.dir)
    await firstLine(shim.dir)
    requestStop(shim, 'budget')
    requestStop(shim, 'cancelled')
    expect(await exitOf(shim.dir)).toMatchObject({ signal: 'SIGKILL', cause: 'budget', forced: true })
  })

  test('asked for during the grace of another does not change the cause', async () => {
    const script = 'trap "echo asked to end" TERM; while :; do sleep 0.05; done'
    const shim = await bench.start(shell(script), { limitMs: 2000, graceMs: 2000 })
    openGate(shim.dir)
    expect(await firstLine(shim.dir)).toBe('asked to end')
    requestStop(shim, 'cancelled')
    expect(await exitOf(shim.dir)).toMatchObject({ cause: 'limit', forced: true })
  })

  test('ends a program at its limit', async () => {
    const { dir } = await bench.start(shell('sleep 300 & sleep 300'), { limitMs: 200 })
    openGate(dir)
    expect(await exitOf(dir)).toMatchObject({ cause: 'limit', forced: false })
  })

  test('reaches a stopped program', async () => {
    const shim = await bench.start(faultAgent('deaf'), { graceMs: 200 })
    openGate(shim.dir)
    await firstLine(shim.dir)
    const pid = await agentOf(shim.dir)
    process.kill(pid, 'SIGSTOP')
    requestStop(shim, 'cancelled')
    expect(await exitOf(shim.dir)).toMatchObject({ cause: 'cancelled', forced: true })
    expect(isGone(pid)).toBe(true)
  })

  test('reaches a grandchild in a session of its own', async () => {
    const shim = await bench.start(faultAgent('detach', '--stay'))
    openGate(shim.dir)
    const grandchild = Number(await firstLine(shim.dir))
    expect(isGone(grandchild)).toBe(false)
    requestStop(shim, 'cancelled')
    await exitOf(shim.dir)
    expect(isGone(grandchild)).toBe(true)
  })

  test.runIf(process.platform === 'linux')(
    'reaches one that cleared its environment and still works in the own folder of the launch, and no visitor of it',
    async () => {
      const ownFolder = realpathSync(mkdtempSync(join(bench.root, 'own-')))
      // Of this session, as a command of the engine is; and of another launch.
      const visitor = spawn('sleep', ['300'], { cwd: ownFolder, stdio: 'ignore' })
      // As of an engine that was started in the background of a shell that has ended since.
      const background = `(sh -c 'cd "$OWN" && echo $$ && exec sleep 300' & wait) & exit`
      const leader = spawn('sh', ['-c', background], {
        ...{ cwd: bench.root, detached: true, stdio: ['ignore', 'pipe', 'ignore'] },
        env: { ...process.env, OWN: ownFolder },
      })
      const [line] = (await once(leader.stdout, 'data')) as [Buffer]
      const env = { ...process.env, UNSTUCK_LAUNCH: 'another' }
      const other = spawn('sleep', ['300'], { cwd: ownFolder, stdio: 'ignore', detached: true, env })
      const script = `mkdir deep; cd deep; env -i setsid sh -c 'echo $$ >pid; exec sleep 300 >/dev/null 2>&1' &
        while [ ! -s pid ]; do sleep 0.05; done; cat pid`
      const shim = await bench.start(shell(script), { cwd: ownFolder, ownFolder })
      openGate(shim.dir)
      const left = Number(await firstLine(shim.dir))
      await exitOf(shim.dir)
      const gone = [left, visitor.pid!, other.pid!, Number(line)].map(isGone)
      for (const child of [visitor, other]) child.kill('SIGKILL')
      process.kill(-leader.pid!, 'SIGKILL')
      expect(gone).toEqual([true, false, false, false])
    },
  )

  test('is seen in the file by a shim that missed the signal', async () => {
    const shim = await bench.start(shell('exec sleep 300'))
    openGate(shim.dir)
    await agentOf(shim.dir)
    requestStop({ ...shim, identity: { ...shim.identity, startTime: 'another process' } }, 'lingering')
    expect(await exitOf(shim.dir)).toMatchObject({ cause: 'lingering' })
  })

  test('by a bare SIGTERM to the shim counts as a shutdown', async () => {
    const shim = await bench.start(shell('exec sleep 300'))
    openGate(shim.dir)
    await agentOf(shim.dir)
    process.kill(shim.identity.pid, 'SIGTERM')
    expect(await exitOf(shim.dir)).toMatchObject({ cause: 'shutdown' })
  })
})

test('a shim that ends its tree leaves another launch of the same marker alone', async () => {
  const marker = 'shared-marker'
  const earlier = await bench.start(faultAgent('detach', '--stay'), { marker })
  openGate(earlier.dir)
  const grandchild = Number(await firstLine(earlier.dir))
  const later = await bench.start(shell('exec sleep 300'), { marker })
  openGate(later.dir)
  const pid = await agentOf(later.dir)
  requestStop(earlier, 'abandoned')
  await exitOf(earlier.dir)
  expect([isGone(grandchild), isGone(pid)]).toEqual([true, false])
  expect(carriers(marker)).toEqual([pid])
  requestStop(later, 'shutdown')
  await exitOf(later.dir)
})

test('the exit record of another shim in the same folder says nothing about this one', async () => {
  const shim = await bench.start(shell('exec sleep 300'))
  openGate(shim.dir)
  const pid = await agentOf(shim.dir)
  const stale = {
    code: null,
    signal: 'SIGTERM',
    forced: false,
    startedAt: null,
    endedAt: '',
    durationMs: 1,
    shim: '1-1',
  }
  writeFileSync(join(shim.dir, 'exit.json'), JSON.stringify(stale))
  expect(launchState(shim.dir).state).toBe('running')
  const waiting = waitForExit(shim.dir)
  process.kill(pid, 'SIGKILL')
  expect(await waiting).toMatchObject({ state: 'ended', exit: { signal: 'SIGKILL' } })
})

describe('after the program ended by itself', () => {
  test.each([[[]], [['--hold-pipe']]])('a detached grandchild (%j) is ended before the exit record', async (mode) => {
    const { dir } = await bench.start(faultAgent('detach', ...mode))
    openGate(dir)
    const exit = await exitOf(dir)
    expect(exit).toMatchObject({ code: 0, forced: false })
    expect(exit.cause).toBeUndefined()
    expect(isGone(Number(allLines(dir).lines[0]))).toBe(true)
  })

  test('a process without marker that holds the pipe does not delay the end', async () => {
    // A stranger by every sign: own session, no marker, limit and group set again, its parent gone before anybody looked.
    const forget = `bash -c 'ulimit -S -x unlimited; { echo $$ >${ownGroup()}/cgroup.procs; } 2>/dev/null; exec "$@"' bash`
    const { dir } = await bench.start(shell(`env -i ${forget} ${faultAgent('detach', '--hold-pipe').join(' ')}`))
    openGate(dir)
    expect((await exitOf(dir)).code).toBe(0)
    const stranger = Number(allLines(dir).lines[0])
    expect(isGone(stranger)).toBe(false)
    process.kill(stranger, 'SIGKILL')
  })

  // With job control the child leads a group of its own, and only the session is left to find it by.
  test.each(['', 'set -m; '])('a background child without marker (%s) is found by group or session', async (mode) => {
    const { dir } = await bench.start(['bash', '-c', `${mode}env -i sleep 300 & echo $!`])
    openGate(dir)
    expect(await exitOf(dir)).toMatchObject({ code: 0, forced: false })
    expect(isGone(Number(allLines(dir).lines[0]))).toBe(true)
  })

  test('a background child that ignores SIGTERM is forced', async () => {
    const { dir } = await bench.start(shell(`trap '' TERM; sleep 300 & echo $!`), { graceMs: 200 })
    openGate(dir)
    expect(await exitOf(dir)).toMatchObject({ code: 0, forced: true })
    expect(isGone(Number(allLines(dir).lines[0]))).toBe(true)
  })
})

describe('when the engine is killed', () => {
  const orphan = async (
    argv: string[],
    keepAliveMs: number,
  ): Promise<{ dir: string; marker: string; agent: number }> => {
    const spec = bench.spec(argv, { keepAliveMs, graceMs: 200 })
    const launch = fileURLToPath(new URL('../../src/process/shim-client.ts', import.meta.url))
    const dir = bench.folder()
    const engine = spawn(process.execPath, [fixture('engine.mjs'), launch, dir, JSON.stringify(spec)], {
      stdio: 'ignore',
    })
    const ended = new Promise((resolve) => engine.once('exit', resolve))
    const agent = await agentOf(dir)
    engine.kill('SIGKILL')
    await ended
    return { dir, marker: spec.marker, agent }
  }

  test('the program goes on, its output goes on, and it ends by itself when nobody returns', async () => {
    const { dir, marker, agent } = await orphan(shell('while :; do echo tick; sleep 0.05; done'), 1500)
    const before = allLines(dir).lines.length
    await until('more output after the kill', () => allLines(dir).lines.length > before + 3)
    expect(launchState(dir).state).toBe('running')
    expect(await exitOf(dir)).toMatchObject({ cause: 'abandoned' })
    expect(isGone(agent)).toBe(true)
    expect(carriers(marker)).toEqual([])
  })

  test('a new one that knows the folder alone can stop the program', async () => {
    const { dir } = await orphan(shell('exec sleep 300'), 30_000)
    const state = launchState(dir)
    if (state.state !== 'running') throw new Error(state.state)
    requestStop(state.shim, 'shutdown')
    expect(await exitOf(dir)).toMatchObject({ cause: 'shutdown', signal: 'SIGTERM' })
  })
})

describe('when the shim is killed', () => {
  test('the launch is lost and a sweep ends the tree', async () => {
    const spec = faultAgent('detach', '--stay')
    const shim = await bench.start(spec)
    openGate(shim.dir)
    const grandchild = Number(await firstLine(shim.dir))
    const agent = await agentOf(shim.dir)
    process.kill(shim.identity.pid, 'SIGKILL')
    expect((await waitForExit(shim.dir, { deadlineMs: 5000 })).state).toBe('lost')
    expect(isGone(agent)).toBe(false)
    const { marker } = JSON.parse(readFileSync(join(shim.dir, 'spec.json'), 'utf8')) as { marker: string }
    expect(await sweep(marker)).toBe(2)
    expect([isGone(agent), isGone(grandchild)]).toEqual([true, true])
    expect(await sweep(marker)).toBe(0)
  })

  test('before it wrote who it is, the launch is lost as well', async () => {
    const shim = await bench.start(shell('true'))
    process.kill(shim.identity.pid, 'SIGKILL')
    await until('lost', () => launchState(shim.dir).state === 'lost')
  })
})
