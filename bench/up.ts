/** Time until `unstuck up` is ready, compared with opening the same store in PGlite alone. Target: at most 400 ms more. */
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { alternate, printResult, runTimed } from './measure.ts'

const root = join(import.meta.dirname, '..')
const entry = join(root, 'bin', 'unstuck.js')
const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-up-'))
const repo = join(folder, 'repo')
const env = { ...process.env, UNSTUCK_HOME: join(folder, 'home'), XDG_CACHE_HOME: join(folder, 'cache') }

execFileSync('git', ['init', '-q', repo])

/** The time from the start of `unstuck up` to its ready line. The engine is then stopped. */
const up = async (): Promise<number> => {
  const begun = performance.now()
  const child = spawn(process.execPath, [entry, 'up'], { cwd: repo, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ready = await new Promise<number>((resolve) =>
    child.stdout.once('data', () => resolve(performance.now() - begun)),
  )
  child.kill('SIGTERM')
  await new Promise((resolve) => child.once('exit', resolve))
  return ready
}

await up() // the first start makes the store
const state = join(folder, 'home', readdirSync(join(folder, 'home'))[0] ?? '')
const copy = join(folder, 'copy')
const opener = join(folder, 'open.mjs')
const pglite = join(root, 'node_modules', '@electric-sql', 'pglite', 'dist', 'index.js')
writeFileSync(
  opener,
  `import { PGlite } from ${JSON.stringify(pglite)}\nconst db = await PGlite.create(process.argv[2])\nawait db.query('select 1')\nprocess.exit(0)\n`,
)

/** Node, PGlite on a copy of the same store, and one query: the lower bound for every engine. */
const bare = async (): Promise<number> => {
  rmSync(copy, { recursive: true, force: true })
  cpSync(join(state, 'store'), copy, { recursive: true })
  return (await runTimed([process.execPath, opener, copy])).ms
}

const { pgliteMs, upMs } = await alternate(7, { pgliteMs: bare, upMs: up })
printResult('up', { pgliteMs, upMs, overMs: upMs - pgliteMs, ratio: upMs / pgliteMs, targetOverMs: 400 })
while (existsSync(folder)) {
  rmSync(folder, { recursive: true, force: true })
  await delay(10)
}
