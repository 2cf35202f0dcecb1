/** An engine whose event loop is blocked is killed and restarted by its watchdog. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { upCommand } from '../../src/cli/engine/up.ts'
import type { Io } from '../../src/cli/io.ts'
import { exitCodes } from '../../src/errors.ts'
import { user } from '../workspace/scene.ts'

let top: string
let ending: AbortController
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-standstill-')))
  user(top, 'init', '--quiet')
  ending = new AbortController()
})
afterEach(() => {
  // Also after a failure no engine may go on standing there with a processor of its own.
  ending.abort()
  rmSync(top, { recursive: true })
})

const bin = join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js')
const environment = { ...process.env, UNSTUCK_HOME: '', ANTHROPIC_API_KEY: undefined }

/** `unstuck up` with a stand-in for the engine: its status and what it told people. */
const up = async (program: string, readyMs = 400) => {
  let told = ''
  writeFileSync(join(top, 'engine.mjs'), program)
  const io = {
    ...{ cwd: top, environment: { ...environment, UNSTUCK_HOME: join(top, 'home') }, out: () => undefined },
    error: (text: string) => void (told += text),
    ...{ signal: ending.signal, self: [process.execPath, join(top, 'engine.mjs')] },
  } as unknown as Io
  const exit = await upCommand(io, {}, { everyMs: 20, startingMs: 60_000, readyMs })
  return { exit, told }
}

const stands = 'for (;;) {}'

test('it is killed and started again', async () => {
  const program = `import { existsSync, writeFileSync } from 'node:fs'
    if (existsSync('stood')) process.exit(0)
    writeFileSync('stood', '')
    process.send('ready', () => { ${stands} })`
  const { exit, told } = await up(program)
  expect(exit).toBe(exitCodes.ok)
  expect(told).toContain('SIGKILL')
  expect(told).toContain('(1 of 5)')
  expect(told.trim().split('\n')).toHaveLength(1)
})

test('it is not started again for ever', async () => {
  const { exit, told } = await up(`process.send('ready', () => { ${stands} })`)
  expect(exit).toBe(exitCodes.failed)
  expect(told.trim().split('\n')).toHaveLength(6)
})

test('a login that a person gave it goes to the next one, which no environment shows', async () => {
  const program = `import { existsSync, writeFileSync } from 'node:fs'
    if (!existsSync('fell')) {
      writeFileSync('fell', '')
      process.send({ login: { ANTHROPIC_API_KEY: 'given' } }, () => process.exit(1))
    } else process.on('message', ({ login }) => {
      writeFileSync('got', JSON.stringify([login, process.argv.includes('--await-login'), process.env.ANTHROPIC_API_KEY ?? null]))
      process.exit(0)
    })`
  const { exit } = await up(program, 10_000)
  expect(exit).toBe(exitCodes.ok)
  expect(JSON.parse(readFileSync(join(top, 'got'), 'utf8'))).toEqual([{ ANTHROPIC_API_KEY: 'given' }, true, null])
})

test('one that sends heartbeats is left alone, also when it waits longer than the limit', async () => {
  const { exit, told } = await up(
    `const timer = setInterval(() => process.send('ready'), 20)
    setTimeout(() => { clearInterval(timer); process.disconnect() }, 4000)`,
    1500,
  )
  expect([exit, told]).toEqual([exitCodes.ok, ''])
})

test('the engine sends its first heartbeat before it reads anything, and ends although somebody listens', async () => {
  mkdirSync(join(top, '.unstuck'))
  writeFileSync(join(top, '.unstuck', 'config.json'), '{')
  const child = spawn(process.execPath, [bin, 'engine'], {
    ...{ cwd: top, env: { ...environment, UNSTUCK_HOME: join(top, 'home') } },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const heartbeats: unknown[] = []
  child.on('message', (heartbeat) => heartbeats.push(heartbeat))
  const exit = await new Promise((resolve) => child.once('exit', resolve))
  expect(exit).toBe(exitCodes.config)
  expect(heartbeats[0]).toBe('starting')
})
