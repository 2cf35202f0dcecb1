/**
 * Measures the time to make a workspace with packages from a filled pool, compared with `git clone --shared` alone and with that
 * clone plus an install from npm's filled cache; filling an empty pool, compared with `cp -a`; and checking the packages of a
 * workspace that is used again. The project is this repository with all its packages.
 * `node bench/workspace.ts [rounds]`
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWorkspace } from '../src/workspace/clone.ts'
import { prepareDependencies } from '../src/workspace/dependencies.ts'
import { repairDependencies } from '../src/workspace/repair-dependencies.ts'
import { maintainPool } from '../src/workspace/package-pool.ts'
import { openRepository } from '../src/workspace/repository.ts'
import { alternate, printResult, runTimed } from './measure.ts'

const rounds = Number(process.argv[2] ?? 3)
const here = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-workspace-'))
const checkout = join(folder, 'checkout')
execFileSync('git', ['clone', '--quiet', '--no-hardlinks', here, checkout])
// npm recognises a tree only with its own list of installed packages, so that list is copied too.
cpSync(join(here, 'node_modules'), join(checkout, 'node_modules'), { recursive: true, verbatimSymlinks: true })
const repository = await openRepository(checkout)
const base = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: checkout, encoding: 'utf8' }).trim()
const warm = join(folder, 'cache')
let count = 0

const place = (): string => {
  count += 1
  return join(folder, String(count))
}

const took = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** Removes the folder outside the measured time. */
const measured = async (work: (dir: string) => Promise<number>): Promise<number> => {
  const dir = place()
  const ms = await work(dir)
  rmSync(dir, { recursive: true, force: true })
  return ms
}

const clone = async (dir: string): Promise<number> => {
  const { ms, code } = await runTimed(['git', 'clone', '--quiet', '--shared', checkout, dir])
  if (code !== 0) throw new Error('git clone failed')
  return ms
}

const packagesFrom = async (cacheDir: string, dir: string): Promise<void> => {
  const { kind, reason } = await prepareDependencies({ repository, workspace: dir, cacheDir })
  if (kind !== 'copied') throw new Error(`the packages were not copied: ${reason}`)
}

const cloned = (dir: string): Promise<unknown> => createWorkspace({ repository, base, dir, branch: `bench/${count}` })

/** Prepares the next trees, as the engine does while agents work. */
const fillPool = (): Promise<void> => maintainPool({ cacheDir: warm, signal: new AbortController().signal })

const workspace = async (dir: string): Promise<number> => {
  await fillPool()
  return took(async () => {
    await cloned(dir)
    await packagesFrom(warm, dir)
  })
}

const cold = async (dir: string): Promise<number> => {
  await cloned(dir)
  return took(() => packagesFrom(place(), dir))
}

const copy = async (dir: string): Promise<number> => {
  const { ms, code } = await runTimed(['cp', '-a', join(checkout, 'node_modules'), dir])
  if (code !== 0) throw new Error('cp -a failed')
  return ms
}

/** Without install scripts, because a copy runs none either. */
const install = ['npm', 'ci', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']

const fresh = async (dir: string): Promise<number> => {
  const cloneMs = await clone(dir)
  const { ms, code } = await runTimed(install, { cwd: dir })
  if (code !== 0) throw new Error('npm ci --offline failed. Run "npm ci" first to fill the cache.')
  return cloneMs + ms
}

const used = place()
await cloned(used)
await packagesFrom(warm, used)
const asideDir = join(folder, 'aside')
const { cloneMs, workspaceMs, coldMs, copyMs, freshMs, healthMs } = await alternate(rounds, {
  cloneMs: () => measured(clone),
  workspaceMs: () => measured(workspace),
  coldMs: () => measured(cold),
  copyMs: () => measured(copy),
  freshMs: () => measured(fresh),
  healthMs: () => took(() => repairDependencies({ repository, workspace: used, cacheDir: warm, asideDir })),
})
const lock = JSON.parse(readFileSync(join(checkout, 'node_modules', '.package-lock.json'), 'utf8')) as {
  packages: object
}
printResult('workspace', {
  packages: Object.keys(lock.packages).length,
  ...{ cloneMs, workspaceMs, coldMs, copyMs, freshMs, healthMs },
  warmToClone: workspaceMs / cloneMs,
  coldToCopy: coldMs / copyMs,
  freshToWarm: freshMs / workspaceMs,
})
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
