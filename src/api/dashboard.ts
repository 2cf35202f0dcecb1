/**
 * Finds the files of the dashboard. A published package contains them built. In a checkout the first request builds them, with
 * vite in its own process, into a cache folder named after the hash of all inputs, so that a changed source never gets an old
 * build. No request waits for a build.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { execa } from 'execa'
import { messageOf } from '../errors.ts'
import { defined } from '../domain/defined.ts'

export type DashboardState =
  | { state: 'ready'; dir: string }
  | { state: 'building' }
  | { state: 'failed'; reason: string }

export interface Dashboard {
  /** Starts a build where one is needed. A failure is reported once; the next call tries again. */
  locate(): Promise<DashboardState>
  /** A file of the build that `look` found last; undefined for any other name. */
  asset(name: string): Promise<{ type: string; bytes: Buffer<ArrayBuffer> } | undefined>
}

export interface DashboardParts {
  /** The folder `dashboard` of a checkout, or its built files. */
  place: string
  cacheDir: string
  environment: Record<string, string | undefined>
  /** Aborts a running build. */
  stopping: AbortSignal
}

const buildDeadlineMs = 180_000

/** In a checkout the sources, in the package the built files; both are two folders above this one. */
export const dashboardPlace = (): string => fileURLToPath(new URL('../../dashboard/', import.meta.url))

const filesOf = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()

/** Covers everything that the build reads: the sources, the files of the engine that they import, and the locked packages. */
const hashOf = async (place: string): Promise<string> => {
  const root = join(place, '..')
  const read = [
    ...(await filesOf(place)),
    ...(await filesOf(join(root, 'src', 'domain'))),
    join(root, 'src', 'api', 'contract.ts'),
    join(root, 'package-lock.json'),
  ]
  const hash = createHash('sha256')
  for (const path of read)
    hash
      .update(path.slice(root.length))
      .update('\0')
      .update(await readFile(path))
      .update('\0')
  return hash.digest('hex').slice(0, 16)
}

/** Undefined on success; otherwise how vite ended, with the end of its output. */
const runVite = async (
  { place, environment, stopping }: DashboardParts,
  outDir: string,
): Promise<string | undefined> => {
  const root = join(place, '..')
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  if (!existsSync(vite)) return `vite is not installed in ${root}; run "npm ci" there`
  const { PATH, HOME } = environment
  const args = ['build', '--config', join(place, 'vite.config.ts'), '--configLoader', 'native', '--outDir', outDir]
  const { exitCode, all, timedOut } = await execa(process.execPath, [vite, ...args, '--logLevel', 'warn'], {
    cwd: root,
    env: { ...defined({ PATH, HOME }) },
    extendEnv: false,
    reject: false,
    all: true,
    cancelSignal: stopping,
    timeout: buildDeadlineMs,
  })
  if (exitCode === 0) return undefined
  const how = timedOut ? `vite did not finish within ${buildDeadlineMs / 1000} s` : `vite exited with ${exitCode}`
  return `${how}\n${stripVTControlCharacters(all).slice(-4000)}`.trim()
}

const build = async (parts: DashboardParts, into: string): Promise<void> => {
  const partial = `${into}.${process.pid}.partial`
  try {
    const fault = await runVite(parts, partial)
    if (fault !== undefined) throw new Error(fault)
    await mkdir(join(into, '..'), { recursive: true })
    // The rename makes the build visible at once. If another engine of this checkout was faster, its build is used.
    await rename(partial, into).catch((error: unknown) => {
      if (!existsSync(into)) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const assetOf = async (dir: string | undefined, name: string) => {
  const type = types[extname(name)]
  if (dir === undefined || type === undefined || !/^[\w-]+(\.[\w-]+)+$/.test(name)) return undefined
  try {
    return { type, bytes: await readFile(join(dir, 'assets', name)) }
  } catch {
    return undefined // a file of an older build, or no file at all
  }
}

const buildFolder = async ({ place, cacheDir }: DashboardParts): Promise<string> =>
  existsSync(join(place, 'vite.config.ts')) ? join(cacheDir, `dashboard-${await hashOf(place)}`) : place

/** One build at a time. */
const createBuilder = (parts: DashboardParts) => {
  let building = false
  let failed: string | undefined
  return (into: string): DashboardState => {
    if (building) return { state: 'building' }
    if (failed !== undefined) {
      const reason = failed
      failed = undefined
      return { state: 'failed', reason }
    }
    building = true
    build(parts, into)
      .catch((error: unknown) => (failed = messageOf(error)))
      .finally(() => (building = false))
    return { state: 'building' }
  }
}

export const createDashboard = (parts: DashboardParts): Dashboard => {
  const lookAtBuild = createBuilder(parts)
  let dir: string | undefined
  const look = async (): Promise<DashboardState> => {
    const wanted = await buildFolder(parts)
    if (!existsSync(join(wanted, 'index.html'))) return lookAtBuild(wanted)
    dir = wanted
    return { state: 'ready', dir }
  }
  return {
    locate: look,
    asset: async (name) => {
      if (dir === undefined) await look()
      return assetOf(dir, name)
    },
  }
}
