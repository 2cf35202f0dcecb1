/** What the system says about disks, memory, ports and files, under conditions that are really made. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, rmdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { listenerOn, connectFailure } from '../../src/platform/tcp-ports.ts'
import { oomKills, diskSpaceAt } from '../../src/platform/machine.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const clean of cleanups.splice(0).toReversed()) clean()
})

const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'unstuck-platform-'))
  cleanups.push(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const root = process.getuid?.() === 0
const linux = process.platform === 'linux'

test.runIf(root && linux)('a small disk tells when its room and when its inodes are used up', (context) => {
  const path = folder()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,nr_inodes=20', 'tmpfs', path], { encoding: 'utf8' })
  // The root of a container may mount nothing, unless the container was started with that right.
  if (mounted.status !== 0) return context.skip(`no disk can be mounted here: ${mounted.stderr}`)
  cleanups.push(() => execFileSync('umount', [path]))
  expect(diskSpaceAt(path)).toMatchObject({ freeMb: 1, totalMb: 1, inodes: 20 })
  for (let file = 0; file < 15; file += 1) writeFileSync(join(path, String(file)), '')
  expect(diskSpaceAt(path)?.freeInodes).toBeLessThan(5)
  writeFileSync(join(path, '0'), Buffer.alloc(1024 * 1024 - 8192))
  expect(diskSpaceAt(path)?.freeMb).toBeLessThan(0.1)
})

test('a folder that is not there has no room to tell of', () => {
  expect(diskSpaceAt('/nowhere/at/all')).toBeUndefined()
})

const serving = `const server = require('node:net').createServer().listen(0, process.argv[1], () => console.log(server.address().port))`

const listen = async (
  host: string,
  environment: Record<string, string> = {},
): Promise<{ child: ChildProcess; port: number }> => {
  const child = spawn(process.execPath, ['-e', serving, host], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  cleanups.push(() => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, port: Number(line.toString()) }
}

test.runIf(linux)('the process that listens on a port is named, with the run that started it', async () => {
  const own = await listen('127.0.0.1', { UNSTUCK_RUN: 'r-1-check' })
  expect(listenerOn(own.port, 'UNSTUCK_RUN')).toEqual({
    pid: own.child.pid,
    program: expect.stringMatching(/node|Main/),
    marker: 'r-1-check',
  })
  const foreign = await listen('::')
  expect(listenerOn(foreign.port, 'UNSTUCK_RUN')).toEqual({ pid: foreign.child.pid, program: expect.any(String) })
  foreign.child.kill('SIGKILL')
  await once(foreign.child, 'exit')
  expect(listenerOn(foreign.port, 'UNSTUCK_RUN')).toBeUndefined()
})

// Node raises its own soft limit to the hard one, and what it starts inherits that.
test.runIf(linux)('the limit of open files is that of the process', () => {
  const module = join(import.meta.dirname, '..', '..', 'src', 'platform', 'machine.ts')
  const script = `import(${JSON.stringify(module)}).then(({ fileLimit }) => console.log(JSON.stringify(fileLimit())))`
  const { stdout } = spawnSync('bash', ['-c', 'ulimit -n 128; exec "$0" -e "$1"', process.execPath, script])
  expect(JSON.parse(stdout.toString())).toEqual({ soft: 128, hard: 128 })
})

test('a port answers, refuses, has no name, or says nothing in time', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  expect(await connectFailure('127.0.0.1', port, 10_000)).toBeUndefined()
  server.close()
  await once(server, 'close')
  expect(await connectFailure('127.0.0.1', port, 10_000)).toContain('ECONNREFUSED')
  expect(await connectFailure('nowhere.invalid', 443, 10_000)).toMatch(/ENOTFOUND|EAI_AGAIN|no answer/)
  // An address for documentation: nobody has it, and most networks drop what is sent there.
  expect(await connectFailure('192.0.2.1', 9, 300)).toMatch(
    /no answer within 0\.3 s|ENETUNREACH|EHOSTUNREACH|ECONNREFUSED|EACCES/,
  )
})

/** A control group of our own with a limit, where this user may make one: version 1 or 2. */
const limitedGroup = (): { path: string; limit: string; without: string } | undefined => {
  const own = readFileSync('/proc/self/cgroup', 'utf8')
  const first = /^\d+:memory:(.*)$/m.exec(own)?.[1]
  const second = /^0::(.*)$/m.exec(own)?.[1] ?? '/'
  const [top, limit, swap] =
    first === undefined
      ? ['/sys/fs/cgroup' + second, 'memory.max', 'memory.swap.max']
      : ['/sys/fs/cgroup/memory' + first, 'memory.limit_in_bytes', 'memory.swappiness']
  const path = join(top, `unstuck-test-${process.pid}`)
  try {
    mkdirSync(path)
    cleanups.push(() => rmdirSync(path))
    writeFileSync(join(path, limit), String(24 * 1024 * 1024))
    return { path, limit, without: join(path, swap) }
  } catch {
    return undefined // not root, or the groups are not ours to make
  }
}

test.runIf(root && linux)('the kernel counts the process that it ended for want of memory', (context) => {
  const group = limitedGroup()
  if (group === undefined) return context.skip('no control group can be made here')
  if (existsSync(group.without)) writeFileSync(group.without, '0')
  expect(oomKills([group.path])).toBe(0)
  const greedy = spawnSync('bash', ['-c', 'echo $$ > "$0/cgroup.procs"; exec tail /dev/zero', group.path])
  expect(greedy.signal).toBe('SIGKILL')
  expect(oomKills([group.path])).toBe(1)
})

test.runIf(linux)('without a group that tells, the whole system is asked', () => {
  expect(oomKills([])).toBeGreaterThanOrEqual(0)
})
