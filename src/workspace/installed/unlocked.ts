/** Packages of a project without a lockfile: what its manifest asks for, and whether the record of an install has all of it. */
import { isAbsolute, join } from 'node:path'
import { isInRange } from '../../recovery/version-range.ts'
import { boundedText, hasBytes, parsedRecord, recordAt } from './bounded-read.ts'

/** What `package.json` says about packages, as far as an install depends on it. */
export interface WantedPackages {
  dependencies: Record<string, unknown>
  devDependencies: Record<string, unknown>
  /** Fields that change what is installed, as they are. */
  more: Record<string, unknown>
}

const moreFields = ['optionalDependencies', 'peerDependencies', 'overrides', 'resolutions', 'workspaces', 'pnpm']

export const wantedPackages = (manifest: string): WantedPackages => {
  const fields = parsedRecord(manifest)
  return {
    dependencies: recordAt(fields, 'dependencies'),
    devDependencies: recordAt(fields, 'devDependencies'),
    more: Object.fromEntries(moreFields.flatMap((name) => (name in fields ? [[name, fields[name]]] : []))),
  }
}

/** Other managers keep no versions in their records, but each installed package has its own. */
const otherRecords = ['.modules.yaml', '.yarn-state.yml', '.yarn-integrity']

/** Whether an installed version is one that the manifest asks for. A range that is none (a URL, a tag, a link) says nothing. */
const serves = (version: unknown, range: unknown): boolean =>
  typeof version === 'string' && (typeof range !== 'string' || isInRange(version, range) !== false)

const versionIn = async (modules: string, name: string): Promise<unknown> =>
  parsedRecord(await boundedText(join(modules, name, 'package.json'))).version

/** The folders of the workspaces that npm linked at its last install, relative to `folder`. */
export const linkedFolders = async (folder: string): Promise<string[]> => {
  const record = await boundedText(join(folder, 'node_modules', '.package-lock.json'))
  return Object.values(recordAt(parsedRecord(record), 'packages')).flatMap(({ link, resolved }) =>
    link === true && typeof resolved === 'string' && !isAbsolute(resolved) ? [resolved] : [],
  )
}

/** Whether the packages in `folder` are a whole install by a package manager that has everything that the manifest asks for. */
export const holdsWanted = async (folder: string, wanted: WantedPackages): Promise<boolean> => {
  const modules = join(folder, 'node_modules')
  const asked = Object.entries({ ...wanted.dependencies, ...wanted.devDependencies })
  const record = await boundedText(join(modules, '.package-lock.json'))
  const packages = recordAt(parsedRecord(record), 'packages')
  // The root of workspaces often asks for nothing itself; npm links each of them.
  if (asked.length === 0)
    return 'workspaces' in wanted.more && Object.keys(packages).some((name) => packages[name]?.link === true)
  if (record !== undefined) {
    return asked.every(([name, range]) => {
      const found = packages[`node_modules/${name}`]
      return found !== undefined && (found.link === true || serves(found.version, range))
    })
  }
  const others = await Promise.all(otherRecords.map((name) => hasBytes(join(modules, name))))
  if (!others.includes(true)) return false
  const found = await Promise.all(asked.map(async ([name, range]) => serves(await versionIn(modules, name), range)))
  return found.every(Boolean)
}
