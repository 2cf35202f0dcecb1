/** Whom a launch's own folder makes its own, and whom it does not, although they are at work there. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTimeOf } from '../../src/platform/process.ts'
import { strayProcessesIn } from '../../src/platform/stray.ts'
import { until } from './bench.ts'

let folder: string
let started: number[]
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-stray-')))
  writeFileSync(join(folder, 'file'), '')
  started = []
})
afterEach(() => {
  for (const pid of started) process.kill(pid, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** As an agent leaves it: without environment, parent and session of ours. */
const orphan = async (cwd: string, script: string): Promise<number> => {
  const told = join(folder, `pid-${started.length}`)
  const line = `${script}; echo $$ >${told}.new; mv ${told}.new ${told}; exec sleep 300`
  spawnSync('env', ['-i', 'setsid', '-f', 'sh', '-c', line], { cwd, stdio: 'ignore' })
  await until('its pid', () => existsSync(told))
  const pid = Number(readFileSync(told, 'utf8'))
  started.push(pid)
  return pid
}

const now = (): string => {
  const probe = spawn('sleep', ['300'], { stdio: 'ignore' })
  const at = startTimeOf(probe.pid!)!
  probe.kill('SIGKILL')
  return at
}

const strays = (since?: string): number[] => strayProcessesIn({ folder, name: 'UNSTUCK_LAUNCH', since })

describe.runIf(process.platform === 'linux')('an orphan', () => {
  test('that works in the folder is one', async () => {
    expect(strays()).toEqual([])
    const pid = await orphan(folder, ':')
    expect(strays()).toEqual([pid])
  })

  test('that works elsewhere and holds a file of it open is one', async () => {
    const since = now()
    const pid = await orphan('/', `exec 9<${folder}/file`)
    expect([strays(since), strays()]).toEqual([[pid], []])
  })

  test('that holds a file open which is gone by now is one', async () => {
    const since = now()
    const pid = await orphan('/', `exec 9>${folder}/other; rm ${folder}/other`)
    expect(strays(since)).toEqual([pid])
  })

  test('is none when it began before the launch', async () => {
    await orphan('/', `exec 9<${folder}/file`)
    const at = String(BigInt(startTimeOf(started[0]!)!) + 1n)
    expect(strays(at)).toEqual([])
  })

  test('is none beside the folder', async () => {
    const since = now()
    await orphan('/', `exec 9>${folder}-beside`)
    rmSync(`${folder}-beside`)
    expect(strays(since)).toEqual([])
  })
})

test.runIf(process.platform === 'linux')('a daemon that opens a file of it is none: it has a parent', async () => {
  const since = now()
  const script = `setsid sh -c 'exec 9<${folder}/file; echo $$ >${folder}/pid; exec sleep 300' & wait`
  const parent = spawn('sh', ['-c', script], { cwd: '/', stdio: 'ignore', detached: true })
  started.push(parent.pid!)
  await until('its pid', () => existsSync(join(folder, 'pid')) && readFileSync(join(folder, 'pid'), 'utf8') !== '')
  started.push(Number(readFileSync(join(folder, 'pid'), 'utf8')))
  expect(strays(since)).toEqual([])
})
