/**
 * Agents that leave a process without their mark, their session or their group behind: none is alive when the checks begin.
 * The oracle is the process itself, which writes down who it is, and /proc.
 */
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeGroup, removeGroup } from '../../src/platform/group.ts'
import { user } from '../workspace/scene.ts'
import { expectDone, fixture, openScene, type Scene } from './scene.ts'

const hows = ['working folder', 'open file', 'limit', 'forked twice']
/** Whose limit was set again, which leaves the folder alone to know them by. */
const unmarked = ['working folder alone', 'open file alone']
/** Who is known by nothing but the control group, where one can be made. */
const grouped = makeGroup('unstuck-probe') === undefined ? [] : ['control group alone']
removeGroup('unstuck-probe')
const every = [...hows, ...unmarked, ...grouped]
const root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-survivors-')))
const told = join(root, 'survivor')
const agentOf = (how: string): string[] => [process.execPath, fixture('survivor.mjs'), how, told]
const nameOf = (how: string): string => how.replaceAll(' ', '-')

/** Fails for as long as the process of that file lives; both its number and its start time count. */
const oracle = `
import { readFileSync } from 'node:fs'
const [pid, start] = readFileSync(process.argv[2], 'utf8').split(' ')
let stat = ') X'
try { stat = readFileSync('/proc/' + pid + '/stat', 'utf8') } catch {}
const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
if (!/[ZX]/.test(fields[0]) && fields[19] === start) throw new Error(pid + ' is alive')
`

const survivor = (): string => {
  const [pid = '', start] = readFileSync(told, 'utf8').split(' ')
  if (!existsSync(`/proc/${pid}/stat`)) return 'gone'
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return /[ZX]/.test(fields[0] ?? '') || fields[19] !== start ? 'gone' : 'alive'
}

beforeEach(() => rmSync(told, { force: true }))
afterEach(() => {
  if (existsSync(told) && survivor() === 'alive')
    process.kill(Number(readFileSync(told, 'utf8').split(' ')[0]), 'SIGKILL')
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

describe.runIf(process.platform === 'linux')('a run', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene(every.map(nameOf), {
      files: { 'work.txt': 'open\n', 'alive.mjs': oracle },
      commands: Object.fromEntries(every.map((how) => [nameOf(how), agentOf(how)])),
    })
  })
  beforeEach(async () => scene.begin())
  afterAll(async () => scene.clear())

  test.each(every)('leaves no process that is known by: %s when its checks begin', async (how) => {
    const goal = await scene.work([{ commands: [`node alive.mjs ${told}`] }], { harness: nameOf(how) })
    expect(survivor()).toBe('gone')
    expectDone(goal)
    expect(user(scene.root, 'show', `${goal.branch}:work.txt`)).toBe('done')
    await scene.expectUnharmed()
  })
})

describe.runIf(process.platform === 'linux')('exec', () => {
  test.each([...hows, ...grouped])('leaves no process that is known by: %s', async (how) => {
    const cwd = mkdtempSync(join(root, 'work-'))
    writeFileSync(join(cwd, 'README.md'), '')
    const entry = join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js')
    const { exitCode } = await execa(process.execPath, [entry, 'exec', '--', ...agentOf(how)], {
      ...{ cwd, env: { PATH: process.env.PATH ?? '', HOME: root }, extendEnv: false, reject: false },
    })
    expect([exitCode, survivor()]).toEqual([0, 'gone'])
    expect(readFileSync(join(cwd, 'work.txt'), 'utf8')).toMatch(/^(un)?done\n$/)
  })
})
