/** The disk of the state folders fills up while agents work at night: what runs ends well, and the commands still answer. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { descendantsOf, identityOf, livenessOf, parentPidOf, type ProcessIdentity } from '../../src/platform/process.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { runHere, type Ended } from '../cli/in-process.ts'

const top = realpathSync(mkdtempSync(join(tmpdir(), 'full-')))
const disk = join(top, 'disk')
const root = join(top, 'repository')
const { PATH } = process.env
const place = { cwd: root, environment: { PATH, HOME: top, UNSTUCK_HOME: join(disk, 'home') } }
const cli = (...args: string[]): Promise<Ended> => runHere(args, place)

/** Bytes until the disk takes none. */
const fill = (name: string): void => {
  spawnSync('sh', ['-c', `cat /dev/zero > ${join(disk, name)}`])
}

afterEach(async () => {
  rmSync(join(disk, 'second'), { force: true })
  // Also the server, which a killed engine leaves running.
  if (existsSync(join(disk, 'home'))) await cli('stop', '--all')
  spawnSync('umount', ['-l', disk])
  rmSync(top, { recursive: true, force: true })
})

const makeRepository = (): void => {
  const program = join(top, 'agent.sh')
  writeFileSync(program, '#!/bin/sh\necho made >> made.js\n', { mode: 0o755 })
  mkdirSync(join(root, '.unstuck'), { recursive: true })
  writeFileSync(join(root, 'package.json'), '{"scripts":{"test":"node -e 0"}}')
  const harness = { default: 'mine', mine: { command: [program], promptMode: 'argument' } }
  const config = { harness, admission: { minFreeDiskMb: 1 }, verify: { proof: 'off' } }
  writeFileSync(join(root, '.unstuck/config.json'), JSON.stringify(config))
  const git = (...args: string[]): unknown =>
    execFileSync('git', ['-c', 'user.name=o', '-c', 'user.email=o@o', ...args], { cwd: root })
  git('init', '-q', '-b', 'main')
  git('add', 'package.json')
  git('commit', '-qm', 'base')
}

test.runIf(process.getuid?.() === 0)(
  'the reserve is given up and the work ends; once that is used up too, one sentence says where and by what',
  { timeout: 300_000 },
  async ({ skip }) => {
    mkdirSync(disk)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400m', 'tmpfs', disk])
    if (mounted.status !== 0) skip('this root may not mount')
    makeRepository()
    const reserve = join(disk, 'home', 'reserve')
    expect(await cli('run', 'first')).toMatchObject({ exitCode: 0 })
    await expect.poll(() => existsSync(reserve), { timeout: 60_000 }).toBe(true)

    fill('first')
    await expect.poll(() => existsSync(reserve), { timeout: 60_000 }).toBe(false)
    expect(await cli('run', 'second')).toMatchObject({ exitCode: 0 })
    const stateDir = stateDirOf(place.environment, (await openRepository(root)).id)
    expect(readFileSync(join(stateDir, 'engine.log'), 'utf8')).toContain('"largest":{"run":"r-')
    expect(await cli('stop')).toMatchObject({ exitCode: 0 })

    fill('second')
    for (const command of [['status'], ['run', 'third'], ['up']]) {
      const refused = await cli(...command)
      expect(refused, command.join(' ')).toMatchObject({ exitCode: 69 })
      expect(refused.stderr).toContain(
        `the disk of ${join(disk, 'home')} is full; the largest run there is ${stateDir}/runs/r-`,
      )
    }

    rmSync(join(disk, 'second'))
    rmSync(join(disk, 'first'))
    expect(await cli('status')).toMatchObject({ exitCode: 0 })
    expect(await cli('run', 'third')).toMatchObject({ exitCode: 0 })
    // Enough room again: the next full disk is survived as well.
    await expect.poll(() => existsSync(reserve), { timeout: 60_000 }).toBe(true)

    // The engine is killed on a disk without any room: what restarts it waits, and `stop` ends that as well.
    fill('first')
    await expect.poll(() => existsSync(reserve), { timeout: 60_000 }).toBe(false)
    fill('second')
    const { identity } = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as {
      identity: ProcessIdentity
    }
    const parent = parentPidOf(identity.pid) ?? 0
    const restarter = identityOf(parent)
    expect(restarter).toBeDefined()
    process.kill(identity.pid, 'SIGKILL')
    const engines = (): number => descendantsOf(parent).length
    await expect.poll(engines, { timeout: 60_000 }).toBe(0)
    await cli('stop')
    await expect.poll(() => restarter && livenessOf(restarter), { timeout: 120_000 }).toBe('dead')
  },
)
