/** The lock under which the embedded server starts and stops, with real processes that are really killed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockHolderOf, takeFileLock } from '../../src/store/server/file-lock.ts'

const modules = new URL('../../src/store', import.meta.url).href
const fixture = (name: string): string => fileURLToPath(new URL(`../fixture/store/${name}`, import.meta.url))

interface Child {
  process: ChildProcess
  lines: string[]
  /** The first line that begins so; rejects when the child ends without it. */
  line(start: string): Promise<string>
  kill(): Promise<void>
}

const children: Child[] = []

const start = (script: string, ...args: string[]): Child => {
  const child = spawn(process.execPath, [fixture(script), modules, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines: string[] = []
  const waiters = new Set<() => void>()
  let rest = ''
  let ended = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    for (const look of waiters) look()
  })
  const closed = once(child, 'close').then(() => {
    ended = true
    for (const look of waiters) look()
  })
  const started: Child = {
    process: child,
    lines,
    line: (wanted) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.find((line) => line.startsWith(wanted))
          if (found === undefined && !ended) return
          waiters.delete(look)
          if (found === undefined) reject(new Error(`it ended after: ${lines.slice(-3).join(' | ')}`))
          else resolve(found)
        }
        waiters.add(look)
        look()
      }),
    kill: async () => {
      child.kill('SIGKILL')
      await closed
    },
  }
  children.push(started)
  return started
}

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'unstuck-lock-'))
})
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()))
  rmSync(root, { recursive: true, force: true })
})

describe('racing successors of a killed owner', () => {
  it.each([2, 8])('of %i exactly one wins, and every other is told its pid', async (count) => {
    const path = join(root, 'server.lock')
    const first = start('taker.mjs', path, '0')
    await first.line('won')
    await first.kill()
    expect(lockHolderOf(path)?.liveness).toBe('dead')
    const at = String(Date.now() + 1500)
    const rivals = Array.from({ length: count }, () => start('taker.mjs', path, at))
    const said = await Promise.all(rivals.map((rival) => Promise.race([rival.line('won'), rival.line('lost')])))
    const winners = rivals.filter((rival) => rival.lines[0]?.startsWith('won') === true)
    expect(winners).toHaveLength(1)
    const told = `lost STORE_LOCKED process ${winners[0]?.process.pid} starts or stops`
    expect(said.filter((line) => !line.startsWith('won') && !line.startsWith(told))).toEqual([])
    expect(lockHolderOf(path)).toMatchObject({ holder: { pid: winners[0]?.process.pid }, liveness: 'alive' })
    expect(readdirSync(root)).toEqual(['server.lock'])
  })

  it('an heir that died before it took over is succeeded as well', async () => {
    const path = join(root, 'server.lock')
    const first = start('taker.mjs', path, '0')
    await first.line('won')
    await first.kill()
    // The right to succeed the dead one is held by another dead one: it ended between the two steps.
    const heir = start('taker.mjs', join(root, 'other.lock'), '0')
    await heir.line('won')
    await heir.kill()
    const dead = lockHolderOf(path)!.holder
    const heirLock = readFileSync(join(root, 'other.lock'), 'utf8')
    rmSync(join(root, 'other.lock'))
    writeFileSync(join(root, `server.lock.heir-${dead.pid}.${dead.startTime}`), heirLock)
    const lock = takeFileLock(path)
    expect(lockHolderOf(path)?.holder.pid).toBe(process.pid)
    expect(readdirSync(root)).toEqual(['server.lock'])
    lock.release()
    expect(readdirSync(root)).toEqual([])
  })

  it('an heir that loses its core in the middle is waited for, and not taken for a fight', async () => {
    const path = join(root, 'server.lock')
    const first = start('taker.mjs', path, '0')
    await first.line('won')
    await first.kill()
    const heir = start('taker.mjs', join(root, 'other.lock'), '0')
    await heir.line('won')
    const dead = lockHolderOf(path)!.holder
    renameSync(join(root, 'other.lock'), join(root, `server.lock.heir-${dead.pid}.${dead.startTime}`))
    const rival = start('taker.mjs', path, '0')
    const drafted = `server.lock.${rival.process.pid}.`
    const deadline = Date.now() + 30_000
    while (!readdirSync(root).some((name) => name.startsWith(drafted))) {
      if (Date.now() > deadline) throw new Error('the rival never tried')
    }
    // As long as the fault lasts: much longer than a rival needs for its attempts when it does not pause between them.
    await delay(500)
    expect(rival.lines).toEqual([])
    await heir.kill()
    await rival.line('won')
  })

  it.each([
    ['empty', ''],
    ['full of zeros', '\0'.repeat(80)],
    ['cut off', '{"host":"h","bootId'],
    ['of another shape', '"locked"'],
    ['with other values', '{"host":"h","bootId":"","pid":"../x","startTime":7}'],
  ])('a lock that a power failure left %s is taken over', (_what, content) => {
    const path = join(root, 'server.lock')
    writeFileSync(path, content)
    const lock = takeFileLock(path)
    expect(lockHolderOf(path)).toMatchObject({ holder: { pid: process.pid }, liveness: 'alive' })
    expect(readdirSync(root)).toEqual(['server.lock'])
    lock.release()
    expect(readdirSync(root)).toEqual([])
  })

  it('so is one whose heir lost its content as well', () => {
    const path = join(root, 'server.lock')
    writeFileSync(path, '')
    const { startTime } = lockHolderOf(path)!.holder
    writeFileSync(join(root, `server.lock.heir-0.${startTime.replace(/\W/g, '')}`), '')
    const lock = takeFileLock(path)
    expect(lockHolderOf(path)?.holder.pid).toBe(process.pid)
    expect(readdirSync(root)).toEqual(['server.lock'])
    lock.release()
  })

  it.each([
    ['the holder itself', (dead: string) => [dead]],
    ['each other', (dead: string) => ['{"host":"h","bootId":"","pid":7,"startTime":"7"}', dead]],
  ])('heirs that name %s, which no race leaves, do not keep the next one from the lock', async (_what, heirsOf) => {
    const path = join(root, 'server.lock')
    const first = start('taker.mjs', path, '0')
    await first.line('won')
    await first.kill()
    const text = readFileSync(path, 'utf8')
    let { pid, startTime } = lockHolderOf(path)!.holder
    for (const heir of heirsOf(text).map((each) => each.replace('"h"', JSON.stringify(hostname())))) {
      writeFileSync(join(root, `server.lock.heir-${pid}.${startTime}`), heir)
      ;({ pid, startTime } = JSON.parse(heir) as { pid: number; startTime: string })
    }
    // In a process of its own: one that never comes to an end would take the test with it.
    const at = String(Date.now() + 1500)
    const rivals = Array.from({ length: 4 }, () => start('taker.mjs', path, at))
    const said = Promise.all(rivals.map((rival) => Promise.race([rival.line('won'), rival.line('lost')])))
    const ends = await Promise.race([said, delay(30_000, 'it goes on for ever', { ref: false })])
    expect(ends).not.toBe('it goes on for ever')
    expect(rivals.filter((rival) => rival.lines[0]?.startsWith('won') === true)).toHaveLength(1)
    expect(readdirSync(root)).toEqual(['server.lock'])
  })

  it.each([2, 8])('of %i that find an empty lock at once exactly one wins', async (count) => {
    const path = join(root, 'server.lock')
    writeFileSync(path, '')
    const at = String(Date.now() + 1500)
    const rivals = Array.from({ length: count }, () => start('taker.mjs', path, at))
    await Promise.all(rivals.map((rival) => Promise.race([rival.line('won'), rival.line('lost')])))
    const winners = rivals.filter((rival) => rival.lines[0]?.startsWith('won') === true)
    expect(winners).toHaveLength(1)
    const told = `lost STORE_LOCKED process ${winners[0]?.process.pid} starts or stops`
    const losers = rivals.filter((rival) => !winners.includes(rival))
    expect(losers.filter((rival) => rival.lines[0]?.startsWith(told) !== true)).toEqual([])
    expect(readdirSync(root)).toEqual(['server.lock'])
  })

  it('an owner on another host is never taken for dead', () => {
    const path = join(root, 'server.lock')
    writeFileSync(path, JSON.stringify({ host: 'elsewhere.example', bootId: 'x', pid: 1, startTime: '1' }))
    expect(() => takeFileLock(path)).toThrow('process 1 on host elsewhere.example starts or stops')
  })

  it('a release after somebody else took over removes nothing', () => {
    const path = join(root, 'server.lock')
    const lock = takeFileLock(path)
    writeFileSync(path, JSON.stringify({ host: 'elsewhere.example', bootId: 'x', pid: 1, startTime: '1' }))
    lock.release()
    expect(existsSync(path)).toBe(true)
  })
})
