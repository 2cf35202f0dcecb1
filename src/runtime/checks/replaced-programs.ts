/**
 * Finds programs that the work's packages put in the place of programs that the checks call. The lockfiles of npm list the programs of a
 * package; those of other managers do not. So `node_modules/.bin` of the clean clone is compared with that of the owner's checkout.
 */
import { basename, dirname, join } from 'node:path'
import type { Weakening } from '../../domain/run.ts'
import { shadowingPrograms, type InstalledPrograms } from '../../recovery/check/programs.ts'
import { readIfFile, type Files } from '../core/files.ts'

interface Comparison {
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

/** Package names in the real path of an entry, or in the text of an entry that is a script (pnpm). */
const packages = /(?:node_modules|\$basedir\/\.\.)\/((?:@[^/"\s]+\/)?[^/"\s.@][^/"\s]*)\//g

/** The package of an entry; empty = unknown. */
const packageOf = (files: Files, path: string): string => {
  try {
    const real = files.realpathSync(path)
    const text = basename(dirname(real)) === '.bin' ? (readIfFile(files, real) ?? '') : real
    return [...text.slice(0, 64 * 1024).matchAll(packages)].at(-1)?.[1] ?? ''
  } catch {
    return '' // a broken link
  }
}

const laidIn = (files: Files, folder: string): InstalledPrograms => {
  const bin = join(folder, 'node_modules', '.bin')
  const names = files.existsSync(bin) ? files.readdirSync(bin) : []
  return new Map(names.map((name) => [name.toLowerCase(), packageOf(files, join(bin, name))]))
}

const folderOf = (path: string): string => (dirname(path) === '.' ? '' : dirname(path))

/** Folders whose packages the work may have changed, with the changed file that shows it. */
const changedFolders = ({ files, clean, paths }: Comparison): Map<string, string> => {
  const has = (names: readonly string[]): boolean => names.some((name) => files.existsSync(join(clean, name)))
  const locks = paths.filter((path) => silentLocks.includes(basename(path)))
  const isUnlocked = !has(silentLocks) && !has(npmLocks)
  const manifests = paths.filter((path) => basename(path) === 'package.json')
  // If both changed, the manifest is named: people read it rather than the lockfile.
  const all = [...locks, ...(locks.length > 0 || isUnlocked ? manifests : [])]
  return new Map(all.map((path) => [folderOf(path), path]))
}

export const replacedPrograms = (comparison: Comparison): Weakening[] => {
  const { files, clean, checkout, words } = comparison
  return [...changedFolders(comparison)].flatMap(([folder, path]) => {
    const taken = shadowingPrograms(laidIn(files, join(clean, folder)), laidIn(files, join(checkout, folder)), words)
    const detail = `brings programs called ${taken.join(', ')}`.slice(0, 500)
    return taken.length === 0 ? [] : [{ kind: 'check redefined', path, count: 1, detail, beyondProof: true }]
  })
}
