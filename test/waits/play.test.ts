/** `npm run play`, from its first line to Ctrl-C: each scenario ends as the list says, no secret is logged, and nothing stays. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { scenarios } from '../../scripts/play/scenarios.ts'
import { repositoryRoot } from '../../scripts/root.ts'
import type { StatusView } from '../../src/api/contract.ts'
import { processesWithEnvironment } from '../../src/platform/process.ts'
import { until } from '../hostile/scene.ts'

const secret = 'a-value-of-the-user'
/** Nothing else has it, and the play passes it on to its engine. */
const mark = ['PLAY_TEST_MARK', `${process.pid}`] as const

const startPlay = (folder: string) => {
  const child = spawn(process.execPath, [join(repositoryRoot, 'scripts', 'play.ts')], {
    // A group of its own, to which a terminal would send Ctrl-C.
    detached: true,
    env: {
      ...{ PATH: process.env.PATH, HOME: folder, TMPDIR: folder, UNSTUCK_LOG: 'trace' },
      ...{ SERVICE_TOKEN: secret, [mark[0]]: mark[1] },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const printed = (pattern: RegExp, what: string): Promise<string> =>
    until(async () => {
      if (child.exitCode !== null) throw new Error(`play ended with ${child.exitCode}: ${output}`)
      return pattern.exec(output)?.[1]
    }, what)
  return { child, printed }
}

const wanted = { done: 'done', question: 'blocked(awaiting_human)' } as const

test('plays its scenarios to their ends, and leaves no process and no folder', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'play-test-')))
  const { child, printed } = startPlay(folder)
  const home = await printed(/UNSTUCK_HOME=([^\s)]+)/, 'the home')
  const url = await printed(/(http:\/\/\S+)#login=/, 'the address')
  expect((await fetch(url, { headers: { accept: 'text/html' } })).status).toBe(200)

  const repository = join(home, '..', 'repository')
  const environment = { PATH: process.env.PATH ?? '', HOME: folder, UNSTUCK_HOME: home }
  const ends = scenarios.map((scenario) => [scenario.title, wanted[scenario.ends]])
  await until(async () => {
    const command = [join(repositoryRoot, 'bin', 'unstuck.js'), 'status', '--json']
    const { stdout } = await execa(process.execPath, command, {
      ...{ cwd: repository, env: environment, extendEnv: false },
      // It exits with 3 once a question waits.
      reject: false,
    })
    const tasks = (JSON.parse(stdout) as StatusView).goals[0]?.tasks ?? []
    const now = tasks.map(({ title, status }) => [title, status])
    return JSON.stringify(now) === JSON.stringify(ends) ? true : undefined
  }, 'the ends of all scenarios')

  const state = readdirSync(home).find((name) => name.startsWith('repository-')) ?? ''
  const log = readFileSync(join(home, state, 'engine.log'), 'utf8')
  for (const room of ['git', 'process', 'store']) expect(log).toContain(`"room":"${room}"`)
  expect(log).not.toContain(secret)

  const ended = once(child, 'exit')
  process.kill(-(child.pid ?? 0), 'SIGINT')
  expect(await ended).toEqual([0, null])
  expect(readdirSync(folder).filter((name) => name.startsWith('unstuck-play-'))).toEqual([])
  expect(processesWithEnvironment(...mark)).toEqual([])
  expect(processesWithEnvironment('TMPDIR', join(home, '..', 'tmp'))).toEqual([])
})
