import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { followDiagnostics, openRooms } from '../../src/api/engine-log.ts'
import { gitDiagnostics, processDiagnostics } from '../../src/platform/diagnostics.ts'
import { runCommand } from '../../src/process/run-command.ts'
import { sql, type Db } from '../../src/store/db.ts'
import { withStatementLog, type Statement } from '../../src/store/statement-log.ts'
import { git } from '../../src/workspace/git.ts'

let folder = ''
let stopping: AbortController
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'unstuck-log-'))
  stopping = new AbortController()
})
afterEach(() => {
  stopping.abort()
  rmSync(folder, { recursive: true, force: true })
})

const open = (level: string | undefined, more: Record<string, string> = {}) => {
  const rooms = openRooms(folder, { ...more, UNSTUCK_LOG: level })
  followDiagnostics(rooms, stopping.signal)
  return rooms
}

const written = (): Record<string, unknown>[] =>
  readFileSync(join(folder, 'engine.log'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

const runTrue = () =>
  runCommand(join(folder, 'launch'), {
    ...{ argv: ['true'], cwd: folder, marker: 'log-test', environment: { PATH: process.env.PATH ?? '' } },
    ...{ timeoutMs: 60_000, graceMs: 1_000, keepAliveMs: 60_000 },
  })

test('a room below the common level is written, and the others are not', async () => {
  const log = open('warn,git=debug')
  log.engine.info({}, 'not written')
  log.engine.warn({}, 'written')
  await git(['version'], { cwd: folder })
  await runTrue()
  expect(written().map(({ room }) => room)).toEqual([undefined, 'git'])
  expect(written()[1]).toMatchObject({ command: 'git version', folder, status: 0 })
})

test('the room process has the start of a shim and the end of its program', async () => {
  open('error,process=debug')
  await runTrue()
  expect(written()).toMatchObject([
    { room: 'process', program: 'true', cwd: folder },
    { room: 'process', state: 'ended', exit: { code: 0 } },
  ])
})

test('without the variable nothing listens, and after the end of the engine nothing does either', () => {
  open(undefined)
  expect([gitDiagnostics.hasSubscribers, processDiagnostics.hasSubscribers]).toEqual([false, false])
  open('debug')
  expect([gitDiagnostics.hasSubscribers, processDiagnostics.hasSubscribers]).toEqual([true, true])
  stopping.abort()
  expect([gitDiagnostics.hasSubscribers, processDiagnostics.hasSubscribers]).toEqual([false, false])
})

test('no secret of the environment or of an address is written at any level', async () => {
  const environment: Record<string, string> = { SERVICE_TOKEN: 'a-value-of-the-user' }
  const log = open('trace', environment)
  environment.UNSTUCK_LOG = 'trace'
  log.engine.debug({ text: 'a-value-of-the-user' }, 'and here: a-value-of-the-user')
  await git(['ls-remote', 'https://me:another-value@localhost/a.git'], { cwd: folder }).catch(() => undefined)
  const text = readFileSync(join(folder, 'engine.log'), 'utf8')
  expect(written().map(({ room }) => room)).toEqual([undefined, 'git'])
  expect(text).not.toMatch(/a-value-of-the-user|another-value/)
})

test('credentials that a person gives while the engine runs are not written', () => {
  const environment: Record<string, string | undefined> = { UNSTUCK_LOG: 'debug' }
  const log = openRooms(folder, environment)
  environment.SERVICE_TOKEN = 'given-by-a-person'
  log.git.debug({ text: 'given-by-a-person' }, 'a line')
  expect(JSON.stringify(written())).not.toContain('given-by-a-person')
})

/** Answers one row, or fails for a statement with `fail`. */
const db = {
  query: (statement) =>
    statement.text.includes('fail')
      ? Promise.reject(Object.assign(new Error('the value is secret'), { code: '23505' }))
      : Promise.resolve([{}]),
  transaction: (work) => work({ query: () => Promise.resolve([]) }),
} as Pick<Db, 'query' | 'transaction'> as Db

test('statements are reported by their text, without values; failed ones also without the others', async () => {
  const notable: Statement[] = []
  const ordinary: Statement[] = []
  const all = withStatementLog(db, {
    notable: (statement) => void notable.push(statement),
    ordinary: (statement) => void ordinary.push(statement),
  })
  await all.query(sql`select *
    from task where id = ${'secret'}`)
  await all.transaction((tx) => tx.query(sql`select ${1}`))
  await expect(all.query(sql`fail ${'secret'}`)).rejects.toThrow('the value is secret')
  expect(ordinary.map(({ statement, rows }) => [statement, rows])).toEqual([
    ['select * from task where id = $1', 1],
    ['select $1', 0],
  ])
  expect(notable.map(({ statement, failed }) => [statement, failed])).toEqual([['fail $1', '23505']])
})
