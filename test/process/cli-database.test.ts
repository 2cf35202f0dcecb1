/** The command line with a database: one path from `unstuck run` to a landed goal, and a password that nobody gets to see. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'
import { startServer, type Server } from '../support/server.ts'
import { isLongForm } from '../support/form.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

/** It looks for the password in what every program of the machine shows, as any user could. */
const curious = `
  const seen = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).filter((name) => {
    try { return readFileSync('/proc/' + name + '/cmdline', 'utf8').includes('geheim') } catch { return false }
  })
  put('made.txt', JSON.stringify({ seen, environment: Object.values(process.env).some((value) => value.includes('geheim')) }))`

/** A person's server: its password is what nobody gets to see. */
let database: Server
let scene: Scene
beforeAll(async () => {
  database = await startServer()
  const none = { url: '', stop: async () => undefined, stopped: Promise.resolve() }
  const program = `import { readdirSync } from 'node:fs'\n${curious}`
  scene = await openScene({ command: { driver: 'command', program } }, {}, { start: async () => none })
})
afterAll(async () => {
  await cli(['stop'])
  await scene?.clear()
  await database?.clear()
})

interface Ending {
  code: number
  output: string
}

const cli = async (args: string[], more: Record<string, string> = {}): Promise<Ending> => {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  const env = { PATH, HOME, XDG_CACHE_HOME, UNSTUCK_HOME: join(scene.top, 'home'), ...more }
  const child = spawn(process.execPath, [entry, ...args], { cwd: scene.root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}

const enginesIn = async (url: string): Promise<unknown[]> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ schema: string }>(
      `select schemaname as schema from pg_tables where tablename = 'engine' and schemaname like 'unstuck%'`,
    )
    return (await client.query(`select * from "${rows[0]?.schema}".engine`)).rows
  } finally {
    await client.end()
  }
}

/** The server replaces files of its own while they are looked at. */
const bytesOf = (path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

const secretFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => join(found.parentPath, found.name))
    .filter((path) => bytesOf(path).includes('geheim'))
    .filter((path) => !path.endsWith('command.mjs'))

it('run --database-url lands a goal, and the password is in no arguments, agent, file or output', async () => {
  const { code, output } = await cli(['run', '--database-url', database.url, 'Make made.txt'])
  expect(output).not.toContain('geheim')
  expect(code).toBe(0)
  const branch = execFileSync('git', ['branch', '--list', '--format=%(refname:short)', 'unstuck/goal/*'], {
    cwd: scene.root,
    encoding: 'utf8',
  }).trim()
  const made = execFileSync('git', ['show', `${branch}:made.txt`], { cwd: scene.root, encoding: 'utf8' })
  expect(JSON.parse(made)).toEqual({ seen: [], environment: false })
  expect(secretFiles(join(scene.top, 'home'))).toEqual([])
})

it('a running engine on another store than the one asked for is not used', async () => {
  const other = database.url.replace(/[^/]*$/, 'template1')
  const asked = await cli(['status'], { UNSTUCK_DATABASE_URL: other })
  expect(asked).toMatchObject({ code: 5, output: expect.stringContaining('uses another store') })
  expect((await cli(['status'], { UNSTUCK_DATABASE_URL: database.url })).code).toBe(0)
})

it.runIf(isLongForm)(
  'after a stop, a start without the URL says what is missing instead of showing an empty store',
  async () => {
    expect((await cli(['stop'])).code).toBe(0)
    const without = await cli(['doctor'])
    expect(without).toMatchObject({ code: 78, output: expect.stringContaining('UNSTUCK_DATABASE_URL') })
    expect((await cli(['doctor'], { UNSTUCK_DATABASE_URL: database.url })).code).toBe(0)
    const before = await enginesIn(database.url)
    const status = await cli(['status'], { UNSTUCK_DATABASE_URL: database.url })
    expect(status).toMatchObject({ code: 0, output: expect.stringContaining('Make made.txt') })
    expect(await enginesIn(database.url)).toEqual(before)
    expect((await cli(['stop'])).output).toContain('No engine is running')
    const wrong = await cli(['doctor'], { UNSTUCK_DATABASE_URL: database.url.replace('geheim', 'anders') })
    expect(wrong.code).toBe(78)
    expect(wrong.output).not.toContain('anders')
  },
)
