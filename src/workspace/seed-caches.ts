/**
 * Copies downloads of cargo and Go from the user's caches to our own, so that checks do not download them again. The user's
 * caches are not trusted, because agents build with them. Every package is verified against the checksum of the lockfile: by the
 * tool itself (Go, with go.sum), or by this file (cargo trusts the files that it finds).
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, lstat, mkdir, readdir, rename, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { readRegular, readRegularText } from '../platform/regular-file.ts'

export interface SeedRequest {
  /** Its lockfiles say what is needed. */
  workspace: string
  /** The user's caches, where the tools would find them. */
  from: { goModules: string; cargoHome: string }
  to: { goModules: string; cargoHome: string }
}

const goSums = ['go.sum', 'go.work.sum']
const cargoLock = 'Cargo.lock'
const wanted = new Set([...goSums, cargoLock, 'go.mod', 'go.work', 'Cargo.toml', 'bun.lock', 'bun.lockb'])
/** How deep folders are searched. */
const deepest = 4

/** Paths of manifests and lockfiles. Plain files only, because reading a pipe that a check left there would never end. */
const manifestsIn = async (folder: string, depth = deepest): Promise<string[]> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const here = entries.filter((entry) => entry.isFile() && wanted.has(entry.name))
  const below = entries.filter(
    (entry) => depth > 0 && entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules',
  )
  const found = await Promise.all(below.map(({ name }) => manifestsIn(join(folder, name), depth - 1)))
  return [...here.map(({ name }) => join(folder, name)), ...found.flat()]
}

/** An unreadable file counts as empty, because the tool reports it anyway. */
const textsOf = (paths: readonly string[], names: readonly string[]): Promise<string[]> =>
  Promise.all(
    paths.filter((path) => names.includes(basename(path))).map((path) => readRegularText(path).catch(() => '')),
  )

type Places = Omit<SeedRequest, 'workspace'>

const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined

/** Copies atomically, because checks of other runs may read at the same time. The tool downloads what cannot be copied. */
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

/** Escapes capital letters as Go's module cache does, which must not depend on case (go.dev/ref/mod, "Module cache"). */
const escaped = (name: string): string => name.replace(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`)

/** Without the file with the archive's hash, so that Go computes the hash and compares it with go.sum. */
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

/** Archives from registries, with their checksums of the lockfile. */
const crates = (lock: string): { file: string; sha256: string }[] =>
  lock.split('[[package]]').flatMap((entry) => {
    const field = (name: string): string | undefined => new RegExp(`^${name} = "([^"/]*)"$`, 'm').exec(entry)?.[1]
    const [name, version, sha256] = [field('name'), field('version'), field('checksum')]
    return name === undefined || sha256 === undefined ? [] : [{ file: `${name}-${version}.crate`, sha256 }]
  })

const digestOf = async (path: string): Promise<string | undefined> => {
  const bytes = await readRegular(path).catch(() => undefined)
  return bytes === undefined ? undefined : createHash('sha256').update(bytes).digest('hex')
}

/** Linked: the user's settings and logins, and the index and git sources, whose content the lockfile pins. */
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

/** False = the workspace has no manifest of these tools. */
export const seedCaches = async ({ workspace, ...places }: SeedRequest): Promise<boolean> => {
  const paths = await manifestsIn(workspace)
  if (paths.length === 0) return false
  await seedGo(places, await textsOf(paths, goSums))
  await seedCargo(places, await textsOf(paths, [cargoLock]))
  return true
}
