import { chmodSync, existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { livenessOf, type ProcessIdentity } from '../../src/platform/process.ts'
import type { LaunchSpec } from '../../src/process/shim-protocol.ts'
import {
  launchState,
  openGate,
  requestStop,
  startShim,
  touchKeepAlive,
  waitForExit,
} from '../../src/process/shim-client.ts'
import { allLines, baseEnvironment, createBench, exitOf, faultAgent, isGone, shell, until } from './bench.ts'

const bench = createBench()
afterAll(() => bench.clear())

describe('a launch', () => {
  test('gives the exit code, both streams and complete files', async () => {
    const { dir, identity } = await bench.start(shell('echo out; echo err >&2; exit 7'))
    expect(launchState(dir).state).toBe('at-gate')
    expect(existsSync(join(dir, 'agent.json'))).toBe(false)
    openGate(dir)
    const exit = await exitOf(dir)
    expect(exit).toMatchObject({ code: 7, signal: null, forced: false })
    expect(exit.cause).toBeUndefined()
    expect(allLines(dir).lines).toEqual(['out'])
    expect(allLines(dir, 'stderr').lines).toEqual(['err'])
    await until('the shim is gone', () => livenessOf(identity) === 'dead')
  })

  test('gives the signal that ended the program', async () => {
    const { dir } = await bench.start(shell('kill -9 $$'))
    openGate(dir)
    expect(await exitOf(dir)).toMatchObject({ code: null, signal: 'SIGKILL', forced: false })
  })

  test('hands over standard input, the marker and the environment, and nothing of the shim itself', async () => {
    const steering = { NODE_OPTIONS: '--require ./no-such-file.js', LD_PRELOAD_NOTE: 'x', NODE_TOKEN: 'n0de-t0ken' }
    const input = join(bench.root, 'input')
    writeFileSync(input, 'from the file\n')
    const spec = bench.spec(shell('cat; env'), { stdinFile: input })
    const { dir } = await startShim(bench.folder(), spec, {
      ...baseEnvironment,
      GREETING: 'hello',
      UNSTUCK_RUN: 'outer',
      ...steering,
    })
    openGate(dir)
    await exitOf(dir)
    const { lines } = allLines(dir)
    expect(lines).toEqual(expect.arrayContaining(['LD_PRELOAD_NOTE=x', 'NODE_TOKEN=[redacted]']))
    expect(lines).toContain('NODE_OPTIONS=--require ./no-such-file.js')
    expect(lines).toEqual(expect.arrayContaining(['from the file', 'GREETING=hello', `UNSTUCK_RUN=${spec.marker}`]))
    expect(lines.filter((line) => /COMPILE_CACHE|CARRIED/.test(line))).toEqual([])
  })

  test('hands over a variable whose name no shell could give', async () => {
    const spec = bench.spec([process.execPath, '-p', 'process.env["BASH_FUNC_f%%"]'])
    const { dir } = await startShim(bench.folder(), spec, { ...baseEnvironment, 'BASH_FUNC_f%%': '() { :; }' })
    openGate(dir)
    await exitOf(dir)
    expect(allLines(dir).lines).toEqual(['() { :; }'])
  })

  test('gives a program without an input file an empty one, not an open pipe', async () => {
    const { dir } = await bench.start(shell('cat; echo over'))
    openGate(dir)
    expect((await exitOf(dir)).code).toBe(0)
    expect(allLines(dir).lines).toEqual(['over'])
  })

  test('keeps its files from other users', async () => {
    const { dir } = await bench.start(shell('echo x'))
    openGate(dir)
    await exitOf(dir)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    expect(readdirSync(dir).filter((name) => (statSync(join(dir, name)).mode & 0o077) !== 0)).toEqual([])
    expect(readFileSync(join(dir, 'shim.log'), 'utf8')).toBe('')
  })

  test('names what keeps a shim from starting', async () => {
    const spec = bench.spec(shell('true'))
    await expect(startShim(bench.folder(), { ...spec, limitMs: Number.NaN }, {})).rejects.toThrow('limitMs')
    await expect(startShim(bench.folder(), { ...spec, graceMs: -5 }, {})).rejects.toThrow('graceMs')
    await expect(startShim(bench.folder(), { ...spec, logMaxBytes: 1.5 }, {})).rejects.toThrow('logMaxBytes')
    await expect(startShim(bench.folder(), { ...spec, argv: ['a\0b'] }, {})).rejects.toThrow('argv')
    await expect(startShim(bench.folder(), { ...spec, cwd: 'here' }, {})).rejects.toThrow('cwd')
    expect(launchState(bench.folder()).state).toBe('absent')
    const shim = await startShim(bench.folder(), spec, baseEnvironment)
    await expect(startShim(shim.dir, spec, baseEnvironment)).rejects.toThrow('was used before')
    requestStop(shim, 'cancelled')
    await exitOf(shim.dir)
  })

  test('takes a limit beyond what timers can hold', async () => {
    const { dir } = await bench.start(shell('echo x'), { limitMs: 1e20, keepAliveMs: 99_999_999_999 })
    openGate(dir)
    expect(await exitOf(dir)).toMatchObject({ code: 0, forced: false })
    const spec = JSON.parse(readFileSync(join(dir, 'spec.json'), 'utf8')) as LaunchSpec
    expect([spec.limitMs, spec.keepAliveMs]).toEqual([2 ** 31 - 1, 2 ** 31 - 1])
  })
})

describe('the gate', () => {
  test('that is never opened ends the shim without starting the program', async () => {
    const { dir } = await bench.start(shell('touch started'), { keepAliveMs: 300 })
    expect(await exitOf(dir)).toMatchObject({ code: null, signal: null, cause: 'gate', startedAt: null })
    expect(existsSync(join(bench.root, 'started'))).toBe(false)
  })

  test('stays open to an engine that keeps touching', async () => {
    const { dir } = await bench.start(shell('true'), { keepAliveMs: 1000 })
    const begun = performance.now()
    await until('twice the keep-alive passed', () => touchKeepAlive(dir) && performance.now() - begun > 2000)
    openGate(dir)
    expect((await exitOf(dir)).code).toBe(0)
  })

  test('is not passed after a stop request', async () => {
    const shim = await bench.start(shell('touch started-too'))
    requestStop(shim, 'cancelled')
    openGate(shim.dir)
    expect(await exitOf(shim.dir)).toMatchObject({ cause: 'gate', startedAt: null })
    expect(existsSync(join(bench.root, 'started-too'))).toBe(false)
  })
})

describe('a program that cannot be started', () => {
  const faultOf = async (argv: string[], changes = {}): Promise<string | undefined> => {
    const { dir } = await bench.start(argv, changes)
    openGate(dir)
    const exit = await exitOf(dir)
    expect(exit).toMatchObject({ code: null, signal: null, startedAt: null })
    return exit.spawnError
  }

  test('is named when it does not exist', async () => {
    expect(await faultOf(['no-such-program-here'])).toContain('no-such-program-here was not found on PATH')
    expect(await faultOf(['/no/such/program'])).toContain('/no/such/program was not found')
  })

  test('is named when it is not executable or its interpreter is missing', async () => {
    const script = join(bench.root, 'script')
    writeFileSync(script, '#!/no/such/interpreter\n', { mode: 0o644 })
    expect(await faultOf([script])).toContain(`${script} is not executable`)
    chmodSync(script, 0o755)
    expect(await faultOf([script])).toContain(`${script} names an interpreter`)
  })

  test('has its working folder named when that is the fault', async () => {
    const missing = join(bench.root, 'missing')
    expect(await faultOf(['/bin/true'], { cwd: missing })).toContain(`${missing} does not exist`)
    writeFileSync(join(bench.root, 'file'), '')
    expect(await faultOf(['/bin/true'], { cwd: join(bench.root, 'file') })).toContain('is not a folder')
  })

  test('has its input file named when that is the fault', async () => {
    expect(await faultOf(['/bin/cat'], { stdinFile: join(bench.root, 'no-input') })).toContain('no-input')
  })

  test('is a value even when its argument list is too long', async () => {
    expect(await faultOf(['/bin/true', 'x'.repeat(3_000_000)])).toContain('/bin/true could not be started (E2BIG)')
  })
})

describe('the keep-alive', () => {
  test('counts by change alone: times far in the past and future keep the program, standing still ends it', async () => {
    const { dir } = await bench.start(faultAgent('deaf'), { keepAliveMs: 1000, graceMs: 100 })
    touchKeepAlive(dir)
    openGate(dir)
    const begun = performance.now()
    await until('the keep-alive jumped about for twice its time', () => {
      const at = new Date(Math.round(performance.now()) % 2 === 0 ? 1000 * performance.now() : 4e12 + performance.now())
      utimesSync(join(dir, 'keepalive'), at, at)
      return performance.now() - begun > 2000
    })
    expect(launchState(dir).state).toBe('running')
    expect(await exitOf(dir)).toMatchObject({ cause: 'abandoned', forced: true })
  })

  test('cannot be touched in a folder that is gone, and says so', () => {
    expect(touchKeepAlive(join(bench.root, 'nowhere'))).toBe(false)
  })
})

test('a wait ends at its deadline and on abort, with the state as it is', async () => {
  const shim = await bench.start(shell('exec sleep 300'))
  openGate(shim.dir)
  expect((await waitForExit(shim.dir, { deadlineMs: 60 })).state).toBe('running')
  expect((await waitForExit(shim.dir, { signal: AbortSignal.abort() })).state).toBe('running')
  const agent = await until(
    'agent.json',
    () => existsSync(join(shim.dir, 'agent.json')) && readFileSync(join(shim.dir, 'agent.json'), 'utf8'),
  )
  requestStop(shim, 'shutdown')
  await exitOf(shim.dir)
  expect(isGone((JSON.parse(agent) as ProcessIdentity).pid)).toBe(true)
})
