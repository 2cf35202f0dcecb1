/** Bun's text lockfile. Bun keeps no list of its installed packages, so versions are read from the packages themselves. */
import { lstat, readlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  filterConcurrently,
  folderBelow,
  isFolder,
  wasLeftOut,
  parsedRecord,
  recordAt,
  boundedText,
  type TreeComparison,
} from './bounded-read.ts'

const maxManifestBytes = 1024 * 1024
/** More than any project has. */
const maxPackages = 20_000

const blank = new Set([' ', '\n', '\r', '\t'])

/** Index of the end of the string that starts at `from`. */
const endOfString = (text: string, from: number): number => {
  let at = from + 1
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1
  return at + 1
}

/** Removes commas before closing brackets. Not by a regular expression, which would overflow the stack on a long string. */
const withoutLooseCommas = (text: string): string => {
  const kept: string[] = []
  let from = 0
  let comma: number | undefined
  for (let at = 0; at < text.length;) {
    const character = text.charAt(at)
    if (comma !== undefined && (character === '}' || character === ']')) {
      kept.push(text.slice(from, comma))
      from = comma + 1
    }
    if (!blank.has(character)) comma = character === ',' ? at : undefined
    at = character === '"' ? endOfString(text, at) : at + 1
  }
  kept.push(text.slice(from))
  return kept.join('')
}

interface Wanted {
  name: string
  version: string
  /** Names from the top of the tree down, as `a/@s/b`. */
  key: string
}

/** A registry package for every machine; undefined for a file, a repository, a workspace or a package of another system. */
const wantedAt = (packages: Record<string, Record<string, unknown>>, key: string): Wanted | undefined => {
  const { [key]: entry } = packages
  const [identity, , about]: unknown[] = Array.isArray(entry) ? entry : []
  if (typeof identity !== 'string') return undefined
  const at = identity.lastIndexOf('@')
  const version = identity.slice(at + 1)
  if (at < 1 || !/^\d+\.\d+\.\d+/.test(version)) return undefined
  if (typeof about === 'object' && about !== null && ('os' in about || 'cpu' in about || 'libc' in about))
    return undefined
  return { name: identity.slice(0, at), version, key }
}

const placeOf = (key: string): string =>
  `node_modules/${(key.match(/@[^/]+\/[^/]+|[^/]+/g) ?? []).join('/node_modules/')}`

/** The version installed at a place: null = nothing is installed, undefined = unknown. */
const versionAt = async (root: string, place: string, wanted: string): Promise<string | null | undefined> => {
  const path = join(root, place)
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return null
  if (found.isSymbolicLink()) {
    // The isolated layout: the link names the package in its store, `@s+name@1.0.0+digest`.
    const target = await readlink(path).catch(() => '')
    const [, store = ''] = /(?:^|\/)\.bun\/([^/]+)\/node_modules\//.exec(target) ?? []
    const version = store.slice(store.lastIndexOf('@') + 1)
    if (!/^\d/.test(version)) return undefined
    if (!(await isFolder(join(dirname(path), target)))) return null
    return version === wanted || version.startsWith(`${wanted}+`) ? wanted : version
  }
  const folder = await folderBelow(root, place)
  if (folder === undefined) return undefined
  const { version } = parsedRecord(await boundedText(join(folder, 'package.json'), maxManifestBytes))
  // The registry normalises other forms of versions, so they would differ from the manifest.
  return typeof version === 'string' && /^\d+\.\d+\.\d+/.test(version) ? version : undefined
}

interface Walk {
  root: string
  packages: Record<string, Record<string, unknown>>
  held: { differences: string[]; unclear: boolean }
}

const named = (value: Record<string, unknown>, kind: string): string[] => Object.keys(recordAt(value, kind))

/** Compares the direct dependencies of one kind of one workspace. */
const holdDirect = async (walk: Walk, folder: string, workspace: Record<string, unknown>, kind: string) => {
  const { root, packages, held } = walk
  const missing: string[] = []
  const different: string[] = []
  let all = 0
  for (const name of named(workspace, kind)) {
    const own = `${String(workspace.name)}/${name}`
    const wanted = wantedAt(packages, Object.hasOwn(packages, own) ? own : name)
    if (wanted === undefined) continue
    all += 1
    const below = folder === '' ? null : await versionAt(root, `${folder}/${placeOf(name)}`, wanted.version)
    const found = below === null ? await versionAt(root, placeOf(name), wanted.version) : below
    if (found === null) missing.push(`${name} is missing`)
    else if (found === undefined) held.unclear = true
    else if (found !== wanted.version) different.push(`${name} is ${found} instead of ${wanted.version}`)
  }
  if (missing.length > 0 && wasLeftOut(all, missing.length, different.length)) held.unclear = true
  else held.differences.push(...missing)
  held.differences.push(...different)
}

/** Compares all other installed packages. A missing one may be optional on this machine, so it is no difference. */
const holdOthers = async ({ root, packages, held }: Walk, direct: ReadonlySet<string>): Promise<void> => {
  const workspaces = Object.keys(packages).filter((key) => String(packages[key]?.[0]).includes('@workspace:'))
  const inWorkspace = new Set(workspaces)
  const firstOf = (key: string): string => /^@[^/]+\/[^/]+|^[^/]+/.exec(key)?.[0] ?? key
  const wanted = Object.keys(packages)
    .filter((key) => !direct.has(key) && !inWorkspace.has(firstOf(key)))
    .flatMap((key) => wantedAt(packages, key) ?? [])
  await filterConcurrently(wanted, async ({ key, version }) => {
    const found = await versionAt(root, placeOf(key), version)
    if (typeof found !== 'string' || found === version) return false
    held.differences.push(`${key} is ${found} instead of ${version}`)
    return true
  })
}

const kinds = ['dependencies', 'devDependencies']

export const bunDifferences = async (root: string, lockfile: string): Promise<TreeComparison> => {
  const lock = parsedRecord(withoutLooseCommas(lockfile))
  const packages = recordAt(lock, 'packages')
  // The paths of the lockfile must not lead out of the project.
  const workspaces = Object.entries(recordAt(lock, 'workspaces')).filter(
    ([folder]) => !folder.split('/').includes('..'),
  )
  const asked = workspaces.flatMap(([, workspace]) => kinds.flatMap((kind) => named(workspace, kind)))
  const many = Math.max(Object.keys(packages).length, asked.length) > maxPackages
  if (many || workspaces.length === 0 || typeof lock.lockfileVersion !== 'number')
    return { differences: [], unclear: true }
  const walk: Walk = { root, packages, held: { differences: [], unclear: false } }
  for (const [folder, workspace] of workspaces)
    for (const kind of kinds) await holdDirect(walk, folder, workspace, kind)
  await holdOthers(walk, new Set(asked))
  return { ...walk.held, differences: [...new Set(walk.held.differences)] }
}
