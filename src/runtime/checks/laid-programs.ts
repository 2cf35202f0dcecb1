/**
 * Programs that package managers laid for the checks, where only those of npm say in their lockfile which ones they are:
 * the entries of `node_modules/.bin` in the clean clone, beside those of the owner's checkout.
 */
import { basename, dirname, join } from 'node:path'
import type { Weakening } from '../../domain/run.ts'
import { takenPrograms, type Laid } from '../../recovery/check/programs.ts'
import { readOr, type Files } from '../core/files.ts'

interface Look {
  files: Files
  /** Where the checks run. */
  clean: string
  checkout: string
  /** Changed paths. */
  paths: readonly string[]
  /** Every word of every call of the checks. */
  words: ReadonlySet<string>
}

const silentLocks = ['yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb']
const npmLocks = ['package-lock.json', 'npm-shrinkwrap.json']

/** In the place that an entry leads to, or in the text of one that is a script (pnpm). */
const packages = /(?:node_modules|\$basedir\/\.\.)\/((?:@[^/"\s]+\/)?[^/"\s.@][^/"\s]*)\//g

/** The package that an entry comes from; empty = it cannot be told, so it is no other's. */
const packageOf = (files: Files, path: string): string => {
  try {
    const real = files.realpathSync(path)
    const text = basename(dirname(real)) === '.bin' ? (readOr(files, real) ?? '') : real
    return [...text.slice(0, 64 * 1024).matchAll(packages)].at(-1)?.[1] ?? ''
  } catch {
    return '' // it leads nowhere
  }
}

const laidIn = (files: Files, folder: string): Laid => {
  const bin = join(folder, 'node_modules', '.bin')
  const names = files.existsSync(bin) ? files.readdirSync(bin) : []
  return new Map(names.map((name) => [name.toLowerCase(), packageOf(files, join(bin, name))]))
}

const folderOf = (path: string): string => (dirname(path) === '.' ? '' : dirname(path))

/** Folders whose packages the work may have changed, with what says so. */
const changedFolders = ({ files, clean, paths }: Look): Map<string, string> => {
  const has = (names: readonly string[]): boolean => names.some((name) => files.existsSync(join(clean, name)))
  const locks = paths.filter((path) => silentLocks.includes(basename(path)))
  const isUnlocked = !has(silentLocks) && !has(npmLocks)
  const manifests = paths.filter((path) => basename(path) === 'package.json')
  // A manifest is what people read, so it is named where both changed.
  const all = [...locks, ...(locks.length > 0 || isUnlocked ? manifests : [])]
  return new Map(all.map((path) => [folderOf(path), path]))
}

export const laidPrograms = (look: Look): Weakening[] => {
  const { files, clean, checkout, words } = look
  return [...changedFolders(look)].flatMap(([folder, path]) => {
    const taken = takenPrograms(laidIn(files, join(clean, folder)), laidIn(files, join(checkout, folder)), words)
    const detail = `brings programs called ${taken.join(', ')}`.slice(0, 500)
    return taken.length === 0 ? [] : [{ kind: 'check redefined', path, count: 1, detail }]
  })
}
