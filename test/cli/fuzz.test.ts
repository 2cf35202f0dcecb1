/**
 * Argument lists that no person would type, from a fixed seed: what is answered while they are read never hangs, shows no
 * stack and ends with a status that the help names. UNSTUCK_FUZZ=1000 is the long form, in which each is a process; the
 * short form runs twenty.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { declaredProgram } from '../../src/cli/run-command-line.ts'
import { prepareEngineHome } from '../support/engine-home.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))
const count = Number(process.env.UNSTUCK_FUZZ ?? 20)
const documented = new Set([0, 1, 2, 3, 4, 5, 69, 75, 78])

let top = ''
beforeAll(() => {
  top = mkdtempSync(join(tmpdir(), 'unstuck-fuzz-'))
  for (const name of ['work', 'home']) mkdirSync(join(top, name))
  prepareEngineHome(join(top, 'state'))
})
afterAll(async () => {
  // A goal in a folder without git is a goal as well, and has an engine.
  await run(['stop'])
  rmSync(top, { recursive: true, force: true })
})

const run = (args: string[]) =>
  execa(process.execPath, [entry, ...args], {
    cwd: join(top, 'work'),
    env: { PATH: process.env.PATH ?? '', HOME: join(top, 'home'), UNSTUCK_HOME: join(top, 'state') },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    killSignal: 'SIGKILL',
    timeout: 60_000,
  })

/** A small generator of our own, so that a seed gives the same lists for ever. */
const generator = (seed: number) => {
  let state = seed
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  return { below, pick: <T>(all: readonly T[]): T => all[below(all.length)] as T }
}

/** Those that would begin something that lasts or is not about arguments are left out. */
const lasting = new Set(['demo', 'sim', 'exec', 'engine', 'home', 'up', 'worker', 'harness'])
const declared = (await declaredProgram('')).commands
const commands = declared.map((command) => command.name()).filter((name) => !lasting.has(name))
const flags = [
  ...new Set(
    [...declared, ...declared.flatMap((command) => command.commands)]
      .flatMap((command) => command.options)
      .flatMap(({ long }) => long ?? []),
  ),
]

const oddities = [
  '',
  ' ',
  '-',
  '--',
  '---',
  '-h-',
  '--=',
  '--json=1',
  '--no-json',
  '__proto__',
  'constructor',
  '--constructor',
  '--__proto__=1',
  '../../../etc/passwd',
  '/dev/null',
  '/proc/self/mem',
  '/proc/self/x',
  '-1',
  '1e999',
  'NaN',
  '\u001b[2J\u001b]0;x\u0007',
  '\u202etxt.exe',
  '\ud83d\ude00'.repeat(50),
  'x'.repeat(20_000),
  '$(id)',
  '`id`',
  ';id',
  'g-',
  'g-abcdefgh',
  't-abcdefgh',
  'r-abcdefgh',
  '--upload-pack=id',
  'ext::sh -c id',
  'file:///nowhere.git',
  '%00',
  'a\nb',
]

const listsOf = (seed: number, amount: number): string[][] => {
  const { below, pick } = generator(seed)
  const word = (): string => {
    const kind = below(6)
    if (kind < 2) return pick(flags)
    if (kind === 2) return pick(commands)
    return kind === 3 ? `${pick(flags)}=${pick(oddities)}` : pick(oddities)
  }
  return Array.from({ length: amount }, () => [
    ...(below(8) === 0 ? [] : [pick(commands)]),
    ...Array.from({ length: below(5) }, word),
  ])
}

test(`${count} argument lists end in time, without a stack, with a status that is documented`, async () => {
  expect([commands.length > 10, flags.length > 10]).toEqual([true, true])
  for (const args of listsOf(11, count)) {
    const { exitCode, timedOut, stderr } = await run(args)
    const shown = JSON.stringify(args).slice(0, 300)
    expect([shown, timedOut, stderr.slice(0, 500)]).toEqual([
      shown,
      false,
      expect.not.stringMatching(/\n\s+at |unexpected error/),
    ])
    expect([shown, documented.has(exitCode ?? -1), exitCode]).toEqual([shown, true, exitCode])
    expect([shown, stderr.replaceAll('\n', '')]).toEqual([shown, expect.not.stringMatching(/[\u001b\u0007\u202e]/)])
  }
})
