import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { openGate, requestStop } from '../../src/process/shim-client.ts'
import { followStreams, readSegments, type TailItem } from '../../src/process/tail.ts'
import { allLines, createBench, exitOf, faultAgent, nodeProgram, shell, until } from './bench.ts'

const bench = createBench()
afterAll(() => bench.clear())

const itemsOf = async (items: AsyncIterable<TailItem>): Promise<TailItem[]> => {
  const all: TailItem[] = []
  for await (const item of items) all.push(item)
  return all
}
const hex = (text: string): string => Buffer.from(text).toString('hex')
const logBytes = (dir: string): number =>
  readdirSync(dir)
    .filter((name) => name.startsWith('stdout-'))
    .reduce((sum, name) => sum + statSync(join(dir, name)).size, 0)

/** Runs a program to its end while watching the shim's peak memory, where the system tells it. */
const runWatched = async (argv: string[]): Promise<{ dir: string; peakKb: number }> => {
  const { dir, identity } = await bench.start(argv)
  let peakKb = 0
  openGate(dir)
  await until(
    'the end of the program',
    () => {
      try {
        const status = readFileSync(`/proc/${identity.pid}/status`, 'utf8')
        peakKb = Math.max(peakKb, Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? 0))
      } catch {
        // no such system or no such process any more; the exit record decides
      }
      return readdirSync(dir).includes('exit.json')
    },
    40_000,
  )
  expect((await exitOf(dir)).code).toBe(0)
  return { dir, peakKb }
}

describe('output', () => {
  test('of 300 MB keeps head and tail in bounded files and bounded memory', async () => {
    const { dir, peakKb } = await runWatched(faultAgent('flood', '300', '0', '0'))
    const { lines, gapBytes } = allLines(dir)
    expect(lines[0]).toBe('first line')
    expect(lines.at(-1)).toBe('last line')
    const kept = logBytes(dir)
    expect(kept).toBeLessThanOrEqual(64 << 20)
    expect(kept).toBeGreaterThan(48 << 20)
    expect(kept + gapBytes).toBe(300_000_000 + 'first line\nlast line\n'.length)
    expect(new Set(lines.slice(1, -1))).toEqual(new Set(['x'.repeat(99)]))
    if (process.platform === 'linux') expect(peakKb).toBeGreaterThan(0)
    expect(peakKb).toBeLessThan(200_000)
  })

  test('in one line of 5 MB is cut, says so, and the next line is whole', async () => {
    const { dir } = await runWatched(nodeProgram('long-line.mjs', '5000000'))
    const { lines } = allLines(dir)
    expect([lines.length, lines[0], lines[2]]).toEqual([3, 'before', 'after'])
    const [, kept, cut] = /^(y+) \[line cut by unstuck: (\d+) more bytes\]$/.exec(lines[1] ?? '') ?? []
    expect((kept ?? '').length).toBe(1 << 20)
    expect((kept ?? '').length + Number(cut)).toBe(5_000_000)
  })

  test('of a program that dies in the middle of a line is kept', async () => {
    const { dir } = await bench.start(shell('echo whole; printf half; kill -9 $$'))
    openGate(dir)
    expect((await exitOf(dir)).signal).toBe('SIGKILL')
    expect(allLines(dir).lines).toEqual(['whole', 'half'])
  })

  test('keeps a character whose bytes arrive apart', async () => {
    const bytes = hex('grün 🙂')
    const { dir } = await bench.start(nodeProgram('pieces.mjs', bytes.slice(0, 6), bytes.slice(6, 16), bytes.slice(16)))
    openGate(dir)
    await exitOf(dir)
    expect(allLines(dir).lines).toEqual(['grün 🙂'])
  })

  test('loses secrets of the environment and token shapes, also when they arrive in pieces', async () => {
    const secret = 'correct horse "battery"'
    const token = `ghp_${'a1B2'.repeat(9)}`
    const pieces = [`a ${secret.slice(0, 9)}`, `${secret.slice(9)} b\n${token.slice(0, 7)}`, `${token.slice(7)}\n`]
    const argv = nodeProgram('pieces.mjs', ...[...pieces, JSON.stringify({ secret })].map(hex))
    const { dir } = await bench.start(argv, {}, { SERVICE_PASSWORD: secret })
    openGate(dir)
    await exitOf(dir)
    expect(allLines(dir).lines).toEqual(['a [redacted] b', '[redacted]', '{"secret":"[redacted]"}'])
    const everything = readdirSync(dir).map((name) => readFileSync(join(dir, name), 'utf8'))
    expect(everything.filter((text) => text.includes(secret) || text.includes(token))).toEqual([])
  })
})

describe('a reader', () => {
  test('goes on from any offset it was given', async () => {
    const { dir } = await bench.start(shell('for i in 1 2 3 4 5; do echo line $i; done'))
    openGate(dir)
    await exitOf(dir)
    const whole = readSegments(dir, 'stdout', 0)
    expect(whole.lines).toHaveLength(5)
    for (const [index, end] of whole.ends.entries()) {
      expect(readSegments(dir, 'stdout', end).lines).toEqual(whole.lines.slice(index + 1))
    }
    expect(readSegments(dir, 'stdout', whole.nextOffset)).toMatchObject({ lines: [], nextOffset: whole.nextOffset })
  })

  test('sees the dropped middle as one gap and can go on before, in and after it', async () => {
    const { dir } = await bench.start(
      shell('i=0; while [ $i -lt 2000 ]; do echo $((100000 + i)); i=$((i + 1)); done'),
      {
        logMaxBytes: 4096,
      },
    )
    openGate(dir)
    await exitOf(dir)
    const items = await itemsOf(followStreams(dir))
    const gaps = items.filter((item) => 'gap' in item)
    expect(gaps).toHaveLength(1)
    const numbers = items.flatMap((item) => ('line' in item ? [Number(item.line)] : []))
    expect(numbers[0]).toBe(100_000)
    expect(numbers.at(-1)).toBe(101_999)
    expect(numbers.length * 7 + (gaps[0]?.gap ?? 0)).toBe(14_000)
    const gapAt = items.findIndex((item) => 'gap' in item)
    const before = items[gapAt - 1]?.nextOffset ?? 0
    const rest = (from: number): Promise<TailItem[]> => itemsOf(followStreams(dir, { from: { stdout: from } }))
    expect(await rest(before)).toEqual(items.slice(gapAt))
    expect((await rest(before + 70)).slice(1)).toEqual(items.slice(gapAt + 1))
    expect(await rest(items[gapAt]?.nextOffset ?? 0)).toEqual(items.slice(gapAt + 1))
  })

  test('that follows gets lines while the program runs, and ends with it', async () => {
    const shim = await bench.start(shell('echo one; echo two >&2; exec sleep 300'))
    openGate(shim.dir)
    const seen: string[] = []
    for await (const item of followStreams(shim.dir)) {
      if ('line' in item) seen.push(`${item.stream} ${item.line}`)
      if (seen.length === 2) requestStop(shim, 'cancelled')
    }
    expect(seen.toSorted()).toEqual(['stderr two', 'stdout one'])
    expect((await exitOf(shim.dir)).cause).toBe('cancelled')
  })

  test('that follows ends when its signal aborts or the shim is lost', async () => {
    const shim = await bench.start(shell('echo one; exec sleep 300'))
    openGate(shim.dir)
    const controller = new AbortController()
    for await (const item of followStreams(shim.dir, { signal: controller.signal }))
      if ('line' in item) controller.abort()
    process.kill(shim.identity.pid, 'SIGKILL')
    expect(await itemsOf(followStreams(shim.dir))).toHaveLength(1)
  })
})
