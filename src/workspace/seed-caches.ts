/**
 * Downloads of cargo and Go for caches of ours, so that checks need not fetch what the user has. Nothing in the user's
 * caches is believed: agents build with them. A package is taken from there as from a server, and only where the tool
 * (Go, by go.sum) or this file (for cargo, which trusts a file that it finds) holds it against the lockfile's checksum.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

export interface SeedRequest {
  /** Whose lockfiles say what is needed. */
  workspace: string
  /** The user's, as the tools would find them. */
  from: { goModules: string; cargoHome: string }
  to: { goModules: string; cargoHome: string }
}

const goSums = ['go.sum', 'go.work.sum']
const cargoLock = 'Cargo.lock'
const wanted = new Set([...goSums, cargoLock, 'go.mod', 'go.work', 'Cargo.toml', 'bun.lock', 'bun.lockb'])
/** Folders below the top that are looked into. */
const deepest = 4

/** Paths of manifests and lockfiles. Plain files alone: a check may have left a pipe there, and reading it would never end. */
const manifestsIn = async (folder: string, depth = deepest): Promise<string[]> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const here = entries.filter((entry) => entry.isFile() && wanted.has(entry.name))
  const below = entries.filter(
    (entry) => depth > 0 && entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules',
  )
  const found = await Promise.all(below.map(({ name }) => manifestsIn(join(folder, name), depth - 1)))
  return [...here.map(({ name }) => join(folder, name)), ...found.flat()]
}

/** What cannot be read is told by the tool. */
const textsOf = (paths: readonly string[], names: readonly string[]): Promise<string[]> =>
  Promise.all(
    paths.filter((path) => names.includes(basename(path))).map((path) => readFile(path, 'utf8').catch(() => '')),
  )

type Places = Omit<SeedRequest, 'workspace'>

const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined

/** Whole or not at all: a check of another run may look at the same moment. What cannot be read is fetched by the tool. */
const bring = async (from: string, to: string): Promise<void> => {
  if (await isThere(to)) return
  const part = `${to}.${process.pid}.part`
  try {
    await mkdir(dirname(to), { recursive: true, mode: 0o700 })
    await copyFile(from, part, constants.COPYFILE_FICLONE)
    await rename(part, to)
  } catch {
    await rm(part, { force: true })
  }
}

/** A capital letter as Go's cache writes it, which must not depend on case: go.dev/ref/mod, "Module cache". */
const escaped = (name: string): string => name.replace(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`)

/** Without the file of the archive's hash: Go computes it again and compares it with go.sum. */
const goFiles = (goSum: string): string[] => {
  const found = goSum.matchAll(/^(\S+) (v[^\s/]+)(?:\/go\.mod)? h1:/gm)
  return [...found].flatMap(([, module = '', version = '']) =>
    module.split('/').includes('..') || version.includes('..')
      ? []
      : ['info', 'mod', 'zip'].map((kind) => join(escaped(module), '@v', `${escaped(version)}.${kind}`)),
  )
}

const seedGo = async ({ from, to }: Places, sums: readonly string[]): Promise<void> => {
  const [there, here] = [from, to].map(({ goModules }) => join(goModules, 'cache', 'download'))
  for (const file of new Set(sums.flatMap(goFiles))) await bring(join(there ?? '', file), join(here ?? '', file))
}

/** Archives of registries, with the checksum that the lockfile has of them. */
const crates = (lock: string): { file: string; sha256: string }[] =>
  lock.split('[[package]]').flatMap((entry) => {
    const field = (name: string): string | undefined => new RegExp(`^${name} = "([^"/]*)"$`, 'm').exec(entry)?.[1]
    const [name, version, sha256] = [field('name'), field('version'), field('checksum')]
    return name === undefined || sha256 === undefined ? [] : [{ file: `${name}-${version}.crate`, sha256 }]
  })

const digestOf = async (path: string): Promise<string | undefined> => {
  const bytes = await readFile(path).catch(() => undefined)
  return bytes === undefined ? undefined : createHash('sha256').update(bytes).digest('hex')
}

/** The user's settings and logins, and two things whose content the lockfile pins: the index, by checksums, and git commits. */
const linked = ['config', 'config.toml', 'credentials', 'credentials.toml', 'registry/index', 'git/db']

const seedCargo = async ({ from, to }: Places, locks: readonly string[]): Promise<void> => {
  for (const name of linked) {
    const path = join(to.cargoHome, name)
    if ((await isThere(path)) || !(await isThere(join(from.cargoHome, name)))) continue
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await symlink(join(from.cargoHome, name), path).catch(() => undefined) // another run was first
  }
  const registries = await readdir(join(from.cargoHome, 'registry', 'cache')).catch(() => [])
  for (const { file, sha256 } of locks.flatMap(crates))
    for (const registry of registries) {
      const [there, here] = [from, to].map(({ cargoHome }) => join(cargoHome, 'registry', 'cache', registry, file))
      if (!(await isThere(here ?? '')) && (await digestOf(there ?? '')) === sha256) await bring(there ?? '', here ?? '')
    }
}

/** False = nothing in the workspace is a matter of these tools. */
export const seedCaches = async ({ workspace, ...places }: SeedRequest): Promise<boolean> => {
  const paths = await manifestsIn(workspace)
  if (paths.length === 0) return false
  await seedGo(places, await textsOf(paths, goSums))
  await seedCargo(places, await textsOf(paths, [cargoLock]))
  return true
}
