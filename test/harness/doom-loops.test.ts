/** Circles in the calls of the real CLIs: found where a recording holds one, at no moment of any other. */
import { describe, expect, it } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import { claude } from '../../src/harness/claude.ts'
import { codex } from '../../src/harness/codex.ts'
import type { Driver, Transcript } from '../../src/harness/driver.ts'
import { gemini } from '../../src/harness/gemini.ts'
import { opencode } from '../../src/harness/opencode.ts'
import { isRepeating, loopLimits, loopOf } from '../../src/recovery/doom-loop.ts'
import { scenarios, transcript, type Cli, type Line } from './replay.ts'

const limits = loopLimits(configSchema.parse({}).doomLoop)
const drivers: Record<Cli, Driver> = { claude, codex, gemini, opencode }
const clis: readonly Cli[] = ['claude', 'codex', 'gemini', 'opencode']

/** What is found first, looking after every line as the supervisor does. */
const firstLoop = (driver: Driver, lines: Line[]): { text: string; calls: number } | undefined => {
  let reading: Transcript = driver.emptyTranscript()
  for (const line of lines) {
    reading = driver.read(reading, line.stream, line.text).transcript
    const loop = loopOf(reading.calls, limits)
    if (loop !== undefined) return { text: loop.text, calls: reading.toolCalls }
    if (isRepeating(reading.calls) || (reading.retry?.attempt ?? 0) >= limits.ownRetries)
      return { text: 'circling or retrying', calls: reading.toolCalls }
  }
  return undefined
}

/** Recorded with a model that makes one call again and again. */
const loops = ['loop-50', 'max-turns']

describe('the calls of a real CLI', () => {
  it.each(clis)('%s: no recording but that of a loop holds one', (cli) => {
    const found = scenarios(cli)
      .filter((name) => !loops.includes(name))
      .map((name) => [name, firstLoop(drivers[cli], transcript(cli, name).lines)])
      .filter(([, loop]) => loop !== undefined)
    expect(found).toEqual([])
  })

  it('gemini: the recorded loop was ended by the CLI itself, before', () => {
    expect(firstLoop(gemini, transcript('gemini', 'loop-50').lines)).toBeUndefined()
  })

  it.each(clis.filter((cli) => cli !== 'gemini'))('%s: the recorded loop is found at the fifth equal call', (cli) => {
    const found = firstLoop(drivers[cli], transcript(cli, 'loop-50').lines)
    expect(found?.text).toMatch(/^it made the same call 5 times in a row and got the same result: /)
    expect(found?.calls).toBe(5)
  })
})
