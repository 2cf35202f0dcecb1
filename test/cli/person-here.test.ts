/** What needs no engine, or would start one, is refused by the command line itself inside a run. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { commandWithMark, markOf } from '../../src/platform/mark.ts'
import { openRepository } from '../../src/workspace/repository.ts'

const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-person-here-')))
afterAll(() => rmSync(top, { recursive: true, force: true }))
const environment = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: top, UNSTUCK_HOME: join(top, 'state') }
const cli = join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js')
/** No process has it: the mark of a shim is its pid and its start time. */
const shim = { pid: 4_000_000, startTime: '123456789' }

const emptyRepository = async (name: string): Promise<{ root: string; stateDir: string }> => {
  const root = join(top, name)
  execFileSync('git', ['init', '-q', root])
  const stateDir = stateDirOf(environment, (await openRepository(root)).id)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  // As if something had been run here, so that a command that changes something would start an engine.
  writeFileSync(join(stateDir, 'store.complete'), '')
  return { root, stateDir }
}

const told = (root: string, args: string[], { run, mark = '' }: { run?: string; mark?: string }): string => {
  const [program = '', ...words] = commandWithMark([process.execPath, cli, ...args], mark, [])
  const env = { ...environment, ...(run === undefined ? {} : { UNSTUCK_RUN: run }) }
  const { status, stderr } = spawnSync(program, words, { cwd: root, env, encoding: 'utf8' })
  return `${status} ${stderr}`
}

const commands = [['init'], ['store', 'new'], ['up'], ['engine'], ['pause', 'g-1'], ['login-url']]

describe('a command that an agent starts', () => {
  test.each(commands)('%s is refused, and neither a file nor an engine appears', async (...args) => {
    const { root, stateDir } = await emptyRepository(args.join('-'))
    expect(told(root, args, { run: 'r-aaaa' })).toMatch(/^1 .*only a person may do this.*the agent of run r-aaaa/s)
    expect(existsSync(join(root, '.unstuck'))).toBe(false)
    expect(existsSync(join(stateDir, 'engine.json'))).toBe(false)
  })

  test.runIf(process.platform === 'linux')('is known without its environment by the inherited limit', async () => {
    const { root } = await emptyRepository('marked')
    expect(told(root, ['init'], { mark: markOf(shim) })).toMatch(/^1 .*started by an agent;/s)
    expect(existsSync(join(root, '.unstuck'))).toBe(false)
  })

  test('is refused in another repository too, and a person is not', async () => {
    const { root } = await emptyRepository('other')
    expect(told(root, ['init'], { run: 'r-bbbb' })).toMatch(/^1 .*the agent of run r-bbbb/s)
    expect(existsSync(join(root, '.unstuck'))).toBe(false)
    expect(told(root, ['init'], {})).toBe('0 ')
    expect(existsSync(join(root, '.unstuck', 'config.json'))).toBe(true)
  })
})
