/**
 * The shadow: Unstuck's own bare repository in the state folder, through which every workspace is read, snapshotted and committed.
 * It uses the user's objects through alternates but never writes them. It is created under a temporary name and then renamed, so
 * a crash cannot leave a half-finished shadow.
 */
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setAside } from '../platform/damaged-file.ts'
import { readRegularText } from '../platform/regular-file.ts'
import { filterConfig, readFilterDrivers, type FilterDriver } from './filters.ts'
import { contextExports, goalExports } from '../domain/export-folder.ts'
import type { Repository } from './repository-types.ts'
import { git, gitLine } from './git.ts'
import type { GitOptions } from './git.ts'
import { objectFormatOf } from './repository.ts'

export interface Shadow {
  gitDir: string
  /** Second git directory on the same objects. Its attributes switch off all conversion, so that snapshots keep exact bytes. */
  rawGitDir: string
  repository: Repository
  /** The content filters that the owner's git knows. */
  drivers: FilterDriver[]
  /** The settings of those that may run. */
  filters: [key: string, value: string][]
}

const rawAttributes = '* -text -ident !eol !filter !working-tree-encoding\n'

const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

const init = (folder: string, format: string) =>
  git(['init', '--quiet', '--bare', '--template=', '--initial-branch=none', `--object-format=${format}`, folder], {
    cwd: folder,
  })

const isSound = async (gitDir: string): Promise<boolean> =>
  (await gitLine(['rev-parse', '--is-bare-repository'], { cwd: gitDir, gitDir, okCodes: [0, 1, 128] })) === 'true'

const make = async (stateDir: string, gitDir: string, format: string): Promise<void> => {
  if (await exists(gitDir)) {
    if (await isSound(gitDir)) return
    // Both files say nothing that git does not write again; objects and refs stay.
    for (const name of ['HEAD', 'config']) if (await exists(join(gitDir, name))) setAside(stateDir, join(gitDir, name))
    return void (await init(gitDir, format))
  }
  const making = `${gitDir}.making`
  await rm(making, { recursive: true, force: true })
  await mkdir(making, { recursive: true, mode: 0o700 })
  await init(making, format)
  await mkdir(join(making, 'info'), { recursive: true })
  await rename(making, gitDir)
}

/** A path for the list of alternates; quoted as in C if it contains a separator. */
export const alternatePath = (path: string): string =>
  /["\n\\:]/.test(path) ? `"${path.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"` : path

const textOf = async (path: string): Promise<string> => readRegularText(path).catch(() => '') // absent = no patterns

/**
 * The owner's own ignore patterns, and the exports that the engine may write during a run. Files that git never shows to the user as untracked
 * do not count as an agent's changes.
 */
export const ownerExcludes = async (repository: Repository): Promise<string> => {
  if (repository.commonDir === null) return ''
  const place: GitOptions = { cwd: repository.root, owner: 'user', okCodes: [0, 1, 128] }
  const global = await gitLine(['config', '--type=path', '--get', 'core.excludesFile'], place)
  const local = await textOf(join(repository.commonDir, 'info', 'exclude'))
  return `${global === '' ? '' : await textOf(global)}\n${local}\n${goalExports.ignored}\n${contextExports.ignored}\n`
}

/** The paths of a repository's shadow, whether or not it exists. */
export const shadowAt = (stateDir: string, repository: Repository): Shadow => ({
  gitDir: join(stateDir, 'shadow.git'),
  rawGitDir: join(stateDir, 'shadow-raw.git'),
  repository,
  drivers: [],
  filters: [],
})

/** Opens the shadow of a repository in its state folder, and creates it if necessary. */
export const openShadow = async (stateDir: string, repository: Repository): Promise<Shadow> => {
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  const shadow = shadowAt(stateDir, repository)
  const format = await objectFormatOf(repository)
  await Promise.all([shadow.gitDir, shadow.rawGitDir].map((gitDir) => make(stateDir, gitDir, format)))
  const alternates = repository.commonDir === null ? '' : `${alternatePath(join(repository.commonDir, 'objects'))}\n`
  await mkdir(join(shadow.gitDir, 'objects', 'info'), { recursive: true })
  await writeFile(join(shadow.gitDir, 'objects', 'info', 'alternates'), alternates)
  const excludes = await ownerExcludes(repository)
  await writeFile(join(shadow.gitDir, 'info', 'exclude'), excludes)
  await writeFile(join(shadow.rawGitDir, 'info', 'exclude'), excludes)
  await writeFile(join(shadow.rawGitDir, 'info', 'attributes'), rawAttributes)
  if (repository.commonDir !== null) await shareShallow(repository.commonDir, shadow.gitDir)
  const drivers = await readFilterDrivers(repository)
  return {
    ...shadow,
    drivers,
    // Which drivers may run can change with the configuration.
    get filters() {
      return filterConfig(repository, drivers, repository.filters ?? [])
    },
  }
}

/** Copies the limit of a shallow history. Without this file git would report the missing parents as corruption. */
export const shareShallow = async (commonDir: string, gitDir: string): Promise<void> => {
  const shallow = await textOf(join(commonDir, 'shallow'))
  if (shallow !== '') await writeFile(join(gitDir, 'shallow'), shallow)
}

/** Options for commands on objects and refs of the shadow. */
export const inShadow = (shadow: Shadow): GitOptions => ({ cwd: shadow.gitDir, gitDir: shadow.gitDir })

/** Options for the shadow as git directory of a work tree. */
export const overFiles = (shadow: Shadow, workTree: string, indexFile: string): GitOptions => ({
  cwd: workTree,
  gitDir: shadow.gitDir,
  workTree,
  indexFile,
  config: shadow.filters,
})

/** Like `overFiles`, but without conversion of line endings or encodings. */
export const overRawFiles = (shadow: Shadow, workTree: string, indexFile: string): GitOptions => ({
  ...overFiles(shadow, workTree, indexFile),
  config: [],
  gitDir: shadow.rawGitDir,
  variables: { GIT_OBJECT_DIRECTORY: join(shadow.gitDir, 'objects') },
})

/** Calls `use` with the path of a private index file, and removes the file afterwards. */
export const withIndex = async <T>(shadow: Shadow, use: (indexFile: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(shadow.gitDir, 'index-'))
  try {
    return await use(join(folder, 'index'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
