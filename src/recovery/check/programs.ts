/**
 * Detects programs that a change puts in front of a check's own: by a `bin` of a package, by a file in a folder where package
 * managers install programs, or by a hook of an install. Package managers put these folders first in PATH, so a `node` there
 * would run the tests.
 */
import type { Weakening } from '../../domain/run.ts'
import { scriptsIn, type ReadText } from './check-parts.ts'
import { joinInRepository, lastSegment, parentOf } from './shell-calls.ts'

export interface ProgramsRequest {
  paths: readonly string[]
  before: ReadText
  after: ReadText
  /** Every word of every call of the checks. */
  words: ReadonlySet<string>
}

/** Names of shells, runtimes and system tools. A package that provides one of them replaces it for the checks. */
const runtimes = new Set(
  `node nodejs npm npx corepack pnpm pnpx yarn yarnpkg bun bunx deno sh bash dash zsh ksh env make gmake git python python2
  python3 pip pip3 ruby perl php java go cargo rustc test [ true false cat cp mv rm ls ln mkdir echo printf grep sed awk find xargs
  diff cmp sort head tail timeout sleep`.split(/\s+/),
)

/** Scripts that an install of the package runs, including the install in our clone of the work. */
const hooks = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

const objectOf = (value: unknown): Json => (isObject(value) ? value : {})

const withoutMark = (text: string | undefined): string => text?.replace(/^\uFEFF/, '') ?? '{}'

/** undefined = not JSON. */
const parsed = (text: string | undefined): Json | undefined => {
  try {
    return objectOf(JSON.parse(withoutMark(text)))
  } catch {
    return undefined
  }
}

/** In lower case, because some file systems ignore case; the last segment, because package managers use that too. */
const programName = (name: string): string => lastSegment(name.replaceAll('\\', '/')).toLowerCase()

const binsOf = (manifest: Json, name: unknown): string[] => {
  const { bin } = manifest
  const names = typeof bin === 'string' ? [typeof name === 'string' ? name : ''] : Object.keys(objectOf(bin))
  return names.map(programName)
}

interface Brought {
  program: string
  by: string
  /** The code is part of the work, not from a registry. */
  local: boolean
}

const manifestPattern = /(?:^|\/)package\.json$/
const lockPattern = /(?:^|\/)(?:package-lock|npm-shrinkwrap)\.json$/
const nested = /node_modules\/.*node_modules\//

const inLock = (text: string | undefined): Brought[] =>
  Object.entries(objectOf(parsed(text)?.packages))
    // A nested dependency is linked only for the package above it.
    .filter(([place]) => place !== '' && !nested.test(place))
    .flatMap(([place, entry]) => {
      const { resolved, name = place } = objectOf(entry)
      const local = !place.includes('node_modules/') || !/^https?:/.test(String(resolved))
      return binsOf(objectOf(entry), name).map((program) => ({ program, by: place, local }))
    })

const inManifest = (text: string | undefined, path: string, paths: readonly string[]): Brought[] => {
  const manifest = parsed(text) ?? {}
  const { bin } = objectOf(manifest.directories)
  const folder = typeof bin === 'string' ? joinInRepository(parentOf(path), bin) : undefined
  const files = paths.filter((each) => folder !== undefined && each.startsWith(`${folder}/`)).map(programName)
  return [...binsOf(manifest, manifest.name), ...files].map((program) => ({ program, by: path, local: true }))
}

const finding = (path: string, detail: string): Weakening => ({
  ...{ kind: 'check redefined', path, count: 1, detail: detail.slice(0, 500), beyondProof: true },
})

const unique = (names: readonly string[]): string[] => [...new Set(names)]

/** Bytes. No manifest written by a person is longer. */
const mostRead = 512 * 1024

/** Whether the program replaces one that a check uses. A tool from a registry may be new, but may not replace another source. */
const takesPlace = ({ program, local }: Brought, words: ReadonlySet<string>, old: readonly Brought[]): boolean =>
  runtimes.has(program) || (words.has(program) && (local || old.some((other) => other.program === program)))

/** Program name to the package that provides it. */
export type InstalledPrograms = ReadonlyMap<string, string>

/** The programs of an install with the work that replace those of the install without it, or a runtime. */
export const shadowingPrograms = (
  laid: InstalledPrograms,
  old: InstalledPrograms,
  words: ReadonlySet<string>,
): string[] =>
  [...laid]
    .filter(
      ([program, by]) => (runtimes.has(program) || (words.has(program) && old.has(program))) && old.get(program) !== by,
    )
    .map(([program]) => program)
    .sort()

const broughtBy = async (request: ProgramsRequest, path: string): Promise<Weakening[]> => {
  const { paths, words } = request
  const [before, after] = [await request.before(path), await request.after(path)]
  const isLock = lockPattern.test(path)
  if (after !== undefined && parsed(after) === undefined)
    return isLock || after.length > mostRead ? [finding(path, 'it cannot be read')] : []
  const read = (text: string | undefined): Brought[] => (isLock ? inLock(text) : inManifest(text, path, paths))
  const old = read(before)
  const added = read(after).filter(({ program, by }) => !old.some((one) => one.program === program && one.by === by))
  const names = added.filter((each) => takesPlace(each, words, old)).map(({ program }) => program)
  if (names.length === 0) return []
  // Reported for the manifest, because a task that names the manifest also means its lockfile.
  const manifest = joinInRepository(parentOf(path), 'package.json')
  return [
    finding(isLock && paths.includes(manifest) ? manifest : path, `brings programs called ${unique(names).join(', ')}`),
  ]
}

const changedHooks = async ({ before, after }: ProgramsRequest, path: string): Promise<Weakening[]> => {
  const [old, now] = [scriptsIn(withoutMark(await before(path))), scriptsIn(withoutMark(await after(path)))]
  return hooks
    .filter((hook) => now[hook] !== undefined && now[hook] !== old[hook])
    .map((hook) => finding(path, `${hook}: ${old[hook] ?? 'none'} -> ${now[hook] ?? ''}`))
}

const programPlace = /(?:^|\/)(?:node_modules\/\.bin|\.?venv\/bin)\/([^/]+)$/i
/** Normally folders. A link or a file at such a path is a change that matters. */
const linkedPlace = /(?:^|\/)(?:node_modules(?:\/\.bin)?|\.?venv(?:\/bin)?)$/i

const inPlace = async ({ after, words }: ProgramsRequest, path: string): Promise<Weakening[]> => {
  const program = programPlace.exec(path)?.[1]?.toLowerCase()
  const isMeant = program === undefined ? linkedPlace.test(path) : runtimes.has(program) || words.has(program)
  return isMeant && (await after(path)) !== undefined
    ? [finding(path, 'takes precedence over the programs of the system')]
    : []
}

/** Files in which a Python project names the programs that its install creates. */
const entryPoints = /(?:^|\/)(?:pyproject\.toml|setup\.cfg|setup\.py)$/
const entryPoint = /(?:^[ \t]*["']?|["'][ \t]*)([\w.-]{1,100})["']?[ \t]*=[ \t]*["']?[\w.]+:/gm

const entriesIn = (text: string | undefined): string[] =>
  [...(text ?? '').matchAll(entryPoint)].map((match) => programName(match[1] ?? ''))

const pythonPrograms = async ({ before, after, words }: ProgramsRequest, path: string): Promise<Weakening[]> => {
  const old = entriesIn(await before(path))
  const names = entriesIn(await after(path)).filter((name) => !old.includes(name))
  const taken = unique(names.filter((name) => runtimes.has(name) || words.has(name)))
  return taken.length === 0 ? [] : [finding(path, `brings programs called ${taken.join(', ')}`)]
}

const addedBuild = async ({ before, after }: ProgramsRequest, path: string): Promise<Weakening[]> =>
  (await before(path)) === undefined && (await after(path)) !== undefined
    ? [finding(path, 'an install of the package runs its commands')]
    : []

const inspections: readonly [RegExp, (request: ProgramsRequest, path: string) => Promise<Weakening[]>][] = [
  [manifestPattern, broughtBy],
  [manifestPattern, changedHooks],
  [lockPattern, broughtBy],
  [entryPoints, pythonPrograms],
  // pnpm also reads these two forms of a manifest.
  [/(?:^|\/)(?:binding\.gyp|package\.(?:yaml|json5))$/, addedBuild],
  [/./s, inPlace],
]

export const changedPrograms = async (request: ProgramsRequest): Promise<Weakening[]> => {
  const found: Weakening[] = []
  for (const path of request.paths)
    for (const [pattern, inspect] of inspections) if (pattern.test(path)) found.push(...(await inspect(request, path)))
  return [...new Map(found.map((each) => [`${each.path}\0${each.detail}`, each])).values()]
}
