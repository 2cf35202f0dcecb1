import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { createOutput } from './output.ts'
import { createRedactor } from './redact.ts'
import { createSegmentLog } from './segment-log.ts'
import { readSegments } from './tail.ts'
import { samples } from '../../test/support/samples.ts'

const root = mkdtempSync(join(tmpdir(), 'unstuck-output-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const write = (chunks: Buffer[], lineMaxBytes: number, secrets: string[] = [], secretMaxBytes = 32): string => {
  const written: Buffer[] = []
  const log = { append: (lines: Buffer) => void written.push(Buffer.from(lines)), close: () => {} }
  const output = createOutput({ log, redact: createRedactor(secrets), lineMaxBytes, secretMaxBytes })
  for (const chunk of chunks) output.push(chunk)
  output.end()
  return Buffer.concat(written).toString('utf8')
}

/** Splits text into chunks at the given places, inside characters too. */
const chop = (text: string, cuts: number[]): Buffer[] => {
  const bytes = Buffer.from(text)
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place))
}
const cuts = fc.array(fc.nat(), { maxLength: 12 })
const lines = fc.array(
  fc.string({ unit: 'grapheme', maxLength: 30 }).map((line) => line.replaceAll('\n', '')),
  { maxLength: 12 },
)

describe('lines', () => {
  test('come out as they went in, however they were chopped', () => {
    fc.assert(
      fc.property(lines, cuts, (all, places) => {
        const text = all.map((line) => `${line}\n`).join('')
        expect(write(chop(text, places), 1000)).toBe(text)
      }),
    )
  })

  test('are cut at the same place however they were chopped, never inside a character', () => {
    fc.assert(
      fc.property(lines, cuts, (all, places) => {
        const text = all.map((line) => `${line}\n`).join('')
        const once = write([Buffer.from(text)], 10)
        expect(write(chop(text, places), 10)).toBe(once)
        if (!text.includes('\uFFFD')) expect(once).not.toContain('\uFFFD')
      }),
    )
  })

  test('never show a part of a secret, wherever chunk and cut fall', () => {
    const secret = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
    fc.assert(
      fc.property(fc.nat(60), fc.nat(60), fc.integer({ min: 1, max: 3 }), cuts, (before, after, times, places) => {
        const text = `${'.'.repeat(before)}${secret.repeat(times)}${'.'.repeat(after)}\n`
        expect(write(chop(text, places), 40, [secret])).not.toMatch(/[A-Z]{2}/)
      }),
    )
  })
})

test('a log drops whole segments from the middle and stays within its bound', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 90 }), { maxLength: 300 }), (lengths) => {
      const dir = mkdtempSync(join(root, 'log-'))
      const log = createSegmentLog(dir, 'stdout', 1600)
      const all = lengths.map((length, index) => `${index}:`.padEnd(length, 'x'))
      for (const line of all) log.append(Buffer.from(`${line}\n`))
      log.close()
      const kept = readdirSync(dir).reduce((sum, name) => sum + readFileSync(join(dir, name)).length, 0)
      expect(kept).toBeLessThanOrEqual(1600 + 100)
      const seen: string[] = []
      let gaps = 0
      let offset = 0
      for (;;) {
        const part = readSegments(dir, 'stdout', offset)
        if (part.lines.length === 0) break
        seen.push(...part.lines)
        gaps += part.gapBytes
        offset = part.nextOffset
      }
      expect(offset).toBe(kept + gaps)
      expect(offset).toBe(all.reduce((sum, line) => sum + line.length + 1, 0))
      if (gaps === 0) expect(seen).toEqual(all)
      else expect([seen[0], seen.at(-1)]).toEqual([all[0], all.at(-1)])
    }),
    { numRuns: samples(40) },
  )
})
