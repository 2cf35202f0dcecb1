/**
 * Time until `unstuck up` is ready: the first start of a home, which makes the server's data, and later ones, beside the bare server. Targets:
 * 1.5 s and 0.8 s on two quiet cores.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverOf } from '../src/store/server/embedded-server.ts'
import { alternate, median, printResult } from './measure.ts'

const root = join(import.meta.dirname, '..')
const entry = join(root, 'bin', 'unstuck.js')
const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-up-'))
const repo = join(folder, 'repo')

execFileSync('git', ['init', '-q', repo])

const environmentIn = (home: string) => ({ ...process.env, UNSTUCK_HOME: home, XDG_CACHE_HOME: join(folder, 'cache') })

/** The time from the start of `unstuck up` to its ready line. The engine is then stopped. */
const up = async (home: string): Promise<number> => {
  const begun = performance.now()
  const child = spawn(process.execPath, [entry, 'up'], {
    cwd: repo,
    env: environmentIn(home),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ready = await new Promise<number>((resolve) =>
    child.stdout.once('data', () => resolve(performance.now() - begun)),
  )
  child.kill('SIGTERM')
  await new Promise((resolve) => child.once('exit', resolve))
  return ready
}

let homes = 0
const newHome = (): string => {
  const home = join(folder, `home-${(homes += 1)}`)
  mkdirSync(home)
  return home
}

/** Start and stop of the server alone. */
const bare = async (home: string): Promise<number> => {
  const server = serverOf({ home, environment: process.env })
  const begun = performance.now()
  await server.start()
  const took = performance.now() - begun
  await server.stop()
  return took
}

await up(newHome()) // fills the cache of compiled modules
const first = [await up(newHome()), await up(newHome()), await up(newHome())]
const home = newHome()
const firstServerMs = await bare(home)
await up(home)
const { serverMs, upMs } = await alternate(7, { serverMs: () => bare(home), upMs: () => up(home) })
printResult('up', {
  ...{ firstMs: median(first), firstServerMs, upMs, serverMs, ratio: upMs / serverMs },
  ...{ targetFirstMs: 1500, targetMs: 800 },
})
rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
