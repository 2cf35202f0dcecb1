/** The owner lock and the first creation of a store, with real processes that are really killed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { firstRow, sql } from '../../src/store/db.ts'
import { ownerOf, takeOwnerLock } from '../../src/store/lock.ts'
import { migrations } from '../../src/store/migrate.ts'
import { lockForEngine, lockPathOf, openStore } from '../../src/store/open.ts'

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
let made = ''
beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), 'unstuck-lock-made-'))
  await (await openStore({ stateDir: made, cacheDir: inject('storeCache') })).close()
})
afterAll(() => rmSync(made, { recursive: true, force: true }))
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'unstuck-lock-'))
})
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()))
  rmSync(root, { recursive: true, force: true })
})

const owner = (cache: string = inject('storeCache')): Child => start('owner.mjs', join(root, 'state'), cache)
/** A store that was opened before; copying it is cheaper than making it. */
const existing = (): void => cpSync(made, join(root, 'state'), { recursive: true })
const open = () => openStore({ stateDir: join(root, 'state'), cacheDir: inject('storeCache') })

describe('the owner of a store', () => {
  it('is named by pid to a second opener, which opens nothing', async () => {
    existing()
    const first = owner()
    await first.line('row 1')
    await expect(open()).rejects.toMatchObject({
      code: 'STORE_LOCKED',
      message: expect.stringContaining(`process ${first.process.pid} uses this store`) as string,
    })
    // The refused one took nothing away: the first goes on writing.
    const before = first.lines.length
    await first.line(`row ${before + 5}`)
  })

  it('is succeeded after a SIGKILL, and every row that it reported is there', async () => {
    existing()
    const first = owner()
    await first.line('row 40')
    await first.kill()
    const reported = first.lines.filter((line) => line.startsWith('row ')).length
    const db = await open()
    const row = await firstRow<{ rows: number; top: number }>(
      db,
      sql`select count(*)::int as rows, max((payload->>'number')::int) as top from event`,
    )
    await db.close()
    expect(row?.rows).toBeGreaterThanOrEqual(reported)
    expect(row?.top).toBe(row?.rows)
    expect(existsSync(lockPathOf(join(root, 'state')))).toBe(false)
  })

  it('waits for a command that only reads and was faster at the lock of a killed owner', async () => {
    const path = lockPathOf(join(root, 'state'))
    const order: string[] = []
    const take: typeof takeOwnerLock = (at) => {
      if (order.length === 0) {
        const reader = takeOwnerLock(at, true)
        order.push('reading')
        setImmediate(() => {
          reader.release()
          order.push('read')
        })
      }
      const lock = takeOwnerLock(at)
      order.push('owner')
      return lock
    }
    const lock = await lockForEngine(path, take)
    expect(order).toEqual(['reading', 'read', 'owner'])
    lock.release()
  })

  it('reports any other error of the lock at once', async () => {
    let tries = 0
    const take = (): never => {
      tries += 1
      throw new Error('no permission')
    }
    await expect(lockForEngine(lockPathOf(join(root, 'state')), take)).rejects.toThrow('no permission')
    expect(tries).toBe(1)
  })

  it('gives the lock back when it closes, and when a newer version wrote the store', async () => {
    existing()
    const db = await open()
    await db.query(sql`insert into migration (number) values (${migrations.length + 1})`)
    await db.close()
    expect(ownerOf(lockPathOf(join(root, 'state')))).toBeUndefined()
    await expect(open()).rejects.toMatchObject({ code: 'STORE_VERSION' })
    expect(ownerOf(lockPathOf(join(root, 'state')))).toBeUndefined()
  })
})

describe('racing successors of a killed owner', () => {
  it.each([2, 8])('of %i exactly one wins, and every other is told its pid', async (count) => {
    const path = join(root, 'store.lock')
    const first = start('taker.mjs', path, '0')
    await first.line('won')
    await first.kill()
    expect(ownerOf(path)?.liveness).toBe('dead')
    const at = String(Date.now() + 1500)
    const rivals = Array.from({ length: count }, () => start('taker.mjs', path, at))
    const said = await Promise.all(rivals.map((rival) => Promise.race([rival.line('won'), rival.line('lost')])))
    const winners = rivals.filter((rival) => rival.lines[0]?.startsWith('won') === true)
    expect(winners).toHaveLength(1)
    const told = `lost STORE_LOCKED process ${winners[0]?.process.pid} uses this store`
    expect(said.filter((line) => !line.startsWith('won') && !line.startsWith(told))).toEqual([])
    expect(ownerOf(path)).toMatchObject({ holder: { pid: winners[0]?.process.pid }, liveness: 'alive' })
    expect(readdirSync(root)).toEqual(['store.lock'])
  })

  it('an heir that died before it took over is succeeded as well', async () => {
    const path = join(root, 'store.lock')
    const first = start('taker.mjs', path, '0')
    await first.line('won')
    await first.kill()
    // The right to succeed the dead one is held by another dead one: it ended between the two steps.
    const heir = start('taker.mjs', join(root, 'other.lock'), '0')
    await heir.line('won')
    await heir.kill()
    const dead = ownerOf(path)!.holder
    const heirLock = readFileSync(join(root, 'other.lock'), 'utf8')
    rmSync(join(root, 'other.lock'))
    writeFileSync(join(root, `store.lock.heir-${dead.pid}.${dead.startTime}`), heirLock)
    const lock = takeOwnerLock(path)
    expect(ownerOf(path)?.holder.pid).toBe(process.pid)
    expect(readdirSync(root)).toEqual(['store.lock'])
    lock.release()
    expect(readdirSync(root)).toEqual([])
  })

  it('an heir that loses its core in the middle is waited for, and not taken for a fight', async () => {
    const path = join(root, 'store.lock')
    const first = start('taker.mjs', path, '0')
    await first.line('won')
    await first.kill()
    const heir = start('taker.mjs', join(root, 'other.lock'), '0')
    await heir.line('won')
    const dead = ownerOf(path)!.holder
    renameSync(join(root, 'other.lock'), join(root, `store.lock.heir-${dead.pid}.${dead.startTime}`))
    const rival = start('taker.mjs', path, '0')
    const drafted = `store.lock.${rival.process.pid}.`
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
    const path = join(root, 'store.lock')
    writeFileSync(path, content)
    const lock = takeOwnerLock(path)
    expect(ownerOf(path)).toMatchObject({ holder: { pid: process.pid }, liveness: 'alive' })
    expect(readdirSync(root)).toEqual(['store.lock'])
    lock.release()
    expect(readdirSync(root)).toEqual([])
  })

  it('so is one whose heir lost its content as well', () => {
    const path = join(root, 'store.lock')
    writeFileSync(path, '')
    const { startTime } = ownerOf(path)!.holder
    writeFileSync(join(root, `store.lock.heir-0.${startTime.replace(/\W/g, '')}`), '')
    const lock = takeOwnerLock(path)
    expect(ownerOf(path)?.holder.pid).toBe(process.pid)
    expect(readdirSync(root)).toEqual(['store.lock'])
    lock.release()
  })

  it.each([
    ['the holder itself', (dead: string) => [dead]],
    ['each other', (dead: string) => ['{"host":"h","bootId":"","pid":7,"startTime":"7"}', dead]],
  ])('heirs that name %s, which no race leaves, do not keep the next one from the lock', async (_what, heirsOf) => {
    const path = join(root, 'store.lock')
    const first = start('taker.mjs', path, '0')
    await first.line('won')
    await first.kill()
    const text = readFileSync(path, 'utf8')
    let { pid, startTime } = ownerOf(path)!.holder
    for (const heir of heirsOf(text).map((each) => each.replace('"h"', JSON.stringify(hostname())))) {
      writeFileSync(join(root, `store.lock.heir-${pid}.${startTime}`), heir)
      ;({ pid, startTime } = JSON.parse(heir) as { pid: number; startTime: string })
    }
    // In a process of its own: one that never comes to an end would take the test with it.
    const at = String(Date.now() + 1500)
    const rivals = Array.from({ length: 4 }, () => start('taker.mjs', path, at))
    const said = Promise.all(rivals.map((rival) => Promise.race([rival.line('won'), rival.line('lost')])))
    const ends = await Promise.race([said, delay(30_000, 'it goes on for ever', { ref: false })])
    expect(ends).not.toBe('it goes on for ever')
    expect(rivals.filter((rival) => rival.lines[0]?.startsWith('won') === true)).toHaveLength(1)
    expect(readdirSync(root)).toEqual(['store.lock'])
  })

  it.each([2, 8])('of %i that find an empty lock at once exactly one wins', async (count) => {
    const path = join(root, 'store.lock')
    writeFileSync(path, '')
    const at = String(Date.now() + 1500)
    const rivals = Array.from({ length: count }, () => start('taker.mjs', path, at))
    await Promise.all(rivals.map((rival) => Promise.race([rival.line('won'), rival.line('lost')])))
    const winners = rivals.filter((rival) => rival.lines[0]?.startsWith('won') === true)
    expect(winners).toHaveLength(1)
    const told = `lost STORE_LOCKED process ${winners[0]?.process.pid} uses this store`
    const losers = rivals.filter((rival) => !winners.includes(rival))
    expect(losers.filter((rival) => rival.lines[0]?.startsWith(told) !== true)).toEqual([])
    expect(readdirSync(root)).toEqual(['store.lock'])
  })

  it('an owner on another host is never taken for dead', () => {
    const path = join(root, 'store.lock')
    writeFileSync(path, JSON.stringify({ host: 'elsewhere.example', bootId: 'x', pid: 1, startTime: '1' }))
    expect(() => takeOwnerLock(path)).toThrow('process 1 on host elsewhere.example uses this store')
  })

  it('a release after somebody else took over removes nothing', () => {
    const path = join(root, 'store.lock')
    const lock = takeOwnerLock(path)
    writeFileSync(path, JSON.stringify({ host: 'elsewhere.example', bootId: 'x', pid: 1, startTime: '1' }))
    lock.release()
    expect(existsSync(path)).toBe(true)
  })
})

describe('a kill during the first creation', () => {
  it('leaves a store that opens whole', async () => {
    const first = owner()
    const draft = join(root, 'state', 'store')
    const deadline = Date.now() + 30_000
    while (!existsSync(draft)) {
      if (Date.now() > deadline) throw new Error('the draft never appeared')
      await new Promise((resolve) => setImmediate(resolve))
    }
    await first.kill()
    expect(existsSync(join(root, 'state', 'store.complete'))).toBe(false)
    const db = await open()
    expect(await db.query(sql`select number from migration`)).toHaveLength(migrations.length)
    await db.close()
    expect(readdirSync(join(root, 'state')).sort()).toEqual(['store', 'store.complete'])
  })
})
