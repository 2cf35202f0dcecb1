import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { livenessOf } from '../../src/platform/process.ts'
import { type CommandRequest, type CommandResult, runCommand } from '../../src/process/run-command.ts'
import { launchState } from '../../src/process/shim-client.ts'
import { allLines, baseEnvironment, createBench, faultAgent, isGone, shell, until } from './bench.ts'

const bench = createBench()
afterAll(() => bench.clear())

const run = (argv: string[], changes: Partial<CommandRequest> = {}): Promise<CommandResult> => {
  const { marker } = bench.spec(argv)
  const times = { timeoutMs: 60_000, graceMs: 300, keepAliveMs: 1000 }
  return runCommand(bench.folder(), {
    argv,
    cwd: bench.root,
    environment: baseEnvironment,
    marker,
    ...times,
    ...changes,
  })
}

describe('a command', () => {
  test('gives exit code and both streams', async () => {
    const result = await run(shell('echo out; echo err >&2; exit 4'))
    expect(result).toMatchObject({ exitCode: 4, signal: null, timedOut: false, stdout: 'out\n', stderr: 'err\n' })
    expect([result.stdoutTruncated, result.stderrTruncated, result.spawnError]).toEqual([false, false, undefined])
  })

  test('outlasts its keep-alive because the engine touches it', async () => {
    expect(await run(shell('sleep 2.5; echo done'), { keepAliveMs: 1000 })).toMatchObject({
      exitCode: 0,
      stdout: 'done\n',
    })
  })

  test('that takes too long is ended with its grandchild, and says that it timed out', async () => {
    const result = await run(faultAgent('detach', '--hold-pipe', '--stay'), { timeoutMs: 2000 })
    expect(result).toMatchObject({ timedOut: true, exitCode: null, signal: 'SIGTERM' })
    expect(isGone(Number(result.stdout.trim()))).toBe(true)
  })

  test('shows head and tail of long output and keeps all of it in its files', async () => {
    const result = await run(shell('i=0; while [ $i -lt 1000 ]; do echo $((10000 + i)); i=$((i + 1)); done'), {
      headBytes: 12,
      tailBytes: 12,
    })
    expect(result.stdoutTruncated).toBe(true)
    expect(result.stdout).toBe('10000\n10001\n\n[5976 bytes left out by unstuck]\n10998\n10999\n')
    expect(allLines(bench.folder()).lines).toHaveLength(1000)
  })

  test('succeeds with far more output than any argument list could carry', async () => {
    const result = await run(faultAgent('flood', '2', '0', '0'))
    expect(result).toMatchObject({ exitCode: 0, stdoutTruncated: true })
    expect(result.stdout.startsWith('first line\n')).toBe(true)
    expect(result.stdout.endsWith('last line\n')).toBe(true)
    expect(result.stdout.length).toBeLessThan(66 * 1024)
  })

  test('is ended by an abort, before and after its start', async () => {
    expect(await run(shell('touch ran'), { signal: AbortSignal.abort() })).toMatchObject({
      exitCode: null,
      timedOut: false,
    })
    expect(existsSync(join(bench.root, 'ran'))).toBe(false)
    const controller = new AbortController()
    const result = run(shell('touch begun; exec sleep 300'), { signal: controller.signal })
    await until('the command began', () => existsSync(join(bench.root, 'begun')))
    controller.abort()
    expect(await result).toMatchObject({ exitCode: null, signal: 'SIGTERM', timedOut: false })
  })

  test('does not start before its identity is taken', async () => {
    const seen: unknown[] = []
    const result = await run(shell('touch proof'), {
      async onIdentity(identity) {
        seen.push(livenessOf(identity), existsSync(join(bench.folder(), 'gate')))
        await Promise.resolve()
        seen.push(launchState(bench.folder()).state)
      },
    })
    expect(seen).toEqual(['alive', false, 'at-gate'])
    expect([result.exitCode, existsSync(join(bench.root, 'proof'))]).toEqual([0, true])
  })

  test('does not start when its identity is refused', async () => {
    const onIdentity = (): never => {
      throw new Error('the lease is gone')
    }
    await expect(run(shell('touch unwanted'), { onIdentity })).rejects.toThrow('the lease is gone')
    await until('the end of the shim', () => existsSync(join(bench.folder(), 'exit.json')))
    expect(existsSync(join(bench.root, 'unwanted'))).toBe(false)
  })

  test('that cannot be started says why', async () => {
    expect((await run(['no-such-command'])).spawnError).toContain('no-such-command')
  })

  test('whose shim is killed leaves no process and says so', async () => {
    let shim = 0
    const lost = process.platform === 'linux' ? `env -i setsid -f sh -c 'echo $$; exec sleep 300'; ` : ''
    const result = run(shell(`${lost}echo $$; exec sleep 300`), { onIdentity: ({ pid }) => void (shim = pid) })
    const lines = await until('every line', () => {
      const found = allLines(bench.folder()).lines
      return found.length === (lost === '' ? 1 : 2) && found
    })
    process.kill(shim, 'SIGKILL')
    expect((await result).spawnError).toContain('shim')
    expect(lines.map(Number).filter((pid) => !isGone(pid))).toEqual([])
  })
})
