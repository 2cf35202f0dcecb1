import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { identityOf, processTable, type ProcessIdentity } from '../../src/platform/process.ts'
import { openGate } from '../../src/process/shim-client.ts'
import { keepSpare, readySpare } from '../../src/process/spare.ts'
import { allLines, createBench, exitOf, isGone, shell, until } from './bench.ts'

const bench = createBench()
afterEach(() => keepSpare(false))
afterAll(() => bench.clear())

const childrenOf = (pid: number): number[] => processTable().flatMap((row) => (row.parent === pid ? [row.pid] : []))
const theSpare = (): Promise<number> => until('a spare', readySpare)

const launch = async (): Promise<{ shim: ProcessIdentity; lines: string[]; code: number | null }> => {
  const { dir, identity } = await bench.start(shell('echo "$GREETING"'), {}, { GREETING: 'hello' })
  openGate(dir)
  const { code } = await exitOf(dir)
  return { shim: identity, lines: allLines(dir).lines, code }
}

describe('a spare shim', () => {
  test('takes the next launch, and another one is started', async () => {
    keepSpare(true)
    const spare = await theSpare()
    expect(await launch()).toMatchObject({ shim: { pid: spare }, lines: ['hello'], code: 0 })
    expect(await theSpare()).not.toBe(spare)
  })

  test('that was killed while it waited is replaced by a shim of the usual way', async () => {
    keepSpare(true)
    const spare = await theSpare()
    process.kill(spare, 'SIGKILL')
    const { shim, lines } = await launch()
    expect(shim.pid).not.toBe(spare)
    expect(lines).toEqual(['hello'])
  })

  test('that stopped itself is given up after its deadline', async () => {
    keepSpare(true)
    const spare = await theSpare()
    process.kill(spare, 'SIGSTOP')
    const { shim, lines } = await launch()
    expect(shim.pid).not.toBe(spare)
    expect(lines).toEqual(['hello'])
    await until('the stopped one is gone', () => isGone(spare))
  })

  test('ends when it is not wanted any more', async () => {
    keepSpare(true)
    const spare = await theSpare()
    keepSpare(false)
    await until('its end', () => isGone(spare))
  })

  test('stays while one of two engines of this process still wants it', async () => {
    keepSpare(true)
    keepSpare(true)
    const spare = await theSpare()
    keepSpare(false)
    expect(readySpare()).toBe(spare)
    keepSpare(false)
    await until('its end', () => isGone(spare))
  })

  test('ends with an engine that is killed', async () => {
    const url = new URL('../../src/process/spare.ts', import.meta.url).href
    const script = `import { keepSpare, readySpare } from '${url}'; keepSpare(true); setInterval(() => {}, 1000)`
    const engine = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore', cwd: join('/') })
    const spare = await until('its spare', () => childrenOf(engine.pid ?? 0)[0])
    expect(identityOf(spare)).toBeDefined()
    engine.kill('SIGKILL')
    await until('the end of its spare', () => isGone(spare))
  })
})
