/**
 * Packages that Unstuck installed itself, because the user's checkout has none. The tree of an install in a folder of a fresh clone, before
 * its agent began, joins the pool under a key of everything that the install read. So the checks of that run, and every later run, get
 * a copy instead of another install.
 */
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { foldersAbove } from '../domain/folders-above.ts'
import { readRegular, readRegularText } from '../platform/regular-file.ts'
import { copyInstalled } from './copy-installed.ts'
import { copyTree } from './copy-tree.ts'
import { parsedRecord, isFolder, recordAt } from './installed/bounded-read.ts'
import { wantedPackages } from './installed/unlocked.ts'
import { fieldsOf, git } from './git.ts'
import { installedFolders, lockfiles } from './package-kind.ts'
import { makingPrefix, markKindUsed, poolKindOf, takeReadyTree } from './package-pool.ts'
import { readTrees, recordTree } from './package-record.ts'
import { removeFolder } from './remove-folder.ts'
import type { Repository } from './repository-types.ts'

export interface OwnInstallRequest {
  repository: Repository
  workspace: string
  cacheDir: string
  signal?: AbortSignal
}

type Kind = ReturnType<typeof poolKindOf>

/** Copies a tree of the pool into a workspace. False = the pool has none of this kind yet. */
export const layFromPool = async (
  { workspace, signal }: Pick<OwnInstallRequest, 'workspace' | 'signal'>,
  folder: string,
  kind: Kind,
): Promise<boolean> => {
  const place = join(workspace, folder, 'node_modules')
  if (await takeReadyTree(kind, place)) return true
  if (!(await isFolder(kind.source))) return false
  const making = `${workspace}.dependencies`
  await removeFolder(making)
  await copyTree(kind.source, making, signal)
  await rename(making, place)
  return true
}

/** Files in the folder of an install, or above it, that change what it brings. */
const settings = [
  ...['.npmrc', '.yarnrc', '.yarnrc.yml', 'bunfig.toml', 'pnpm-workspace.yaml', '.pnpmfile.cjs'],
  ...lockfiles,
]

/** Scripts that run at an install. */
const installScripts = ['preinstall', 'install', 'postinstall', 'preprepare', 'prepare', 'postprepare', 'prepublish']

/** They set up git hooks and bring no file into the packages. */
const hookManagers = /^(?:husky(?: install)?|lefthook install|simple-git-hooks)(?: *\|\| *(?:true|:|exit 0))?$/

/** How deep manifests are searched, as `installedFolders` searches. */
const deepest = 4

/** The manifests of a workspace with what they ask for; undefined = an install runs scripts of the repository. */
const manifestsIn = async (workspace: string, folder = '', depth = deepest): Promise<object[] | undefined> => {
  const entries = await readdir(join(workspace, folder), { withFileTypes: true })
  const found: object[] = []
  if (entries.some((entry) => entry.isFile() && entry.name === 'package.json')) {
    const text = await readRegularText(join(workspace, folder, 'package.json'))
    const scripts = recordAt(parsedRecord(text), 'scripts') as Record<string, unknown>
    const isOther = (name: string): boolean => name in scripts && !hookManagers.test(String(scripts[name]))
    if (installScripts.some(isOther)) return undefined
    found.push({ folder, ...wantedPackages(text) })
  }
  const below = entries.filter((entry) => entry.isDirectory() && !['node_modules', '.git'].includes(entry.name))
  for (const { name } of depth === 0 ? [] : below) {
    const more = await manifestsIn(workspace, join(folder, name), depth - 1)
    if (more === undefined) return undefined
    found.push(...more)
  }
  return found
}

/** A package that lies beside the folder of an install, not below it. */
const besidePattern = /":"(?:(?:file|link|portal):)?(?:\.\/)*\.\.\//

/** The manifests that an install in a folder reads; undefined = it also runs scripts of the repository. */
const manifestsRead = async (workspace: string, at: string): Promise<object[] | undefined> => {
  const below = await manifestsIn(workspace, at)
  return at !== '' && besidePattern.test(JSON.stringify(below)) ? manifestsIn(workspace) : below
}

/**
 * What an install in a folder of a workspace reads, as a key; undefined = it also runs scripts of the repository, and what these write into
 * the packages may depend on any file.
 */
const inputKeyOf = async ({ repository, workspace }: OwnInstallRequest, at: string): Promise<string | undefined> => {
  const manifests = await manifestsRead(workspace, at)
  if (manifests === undefined) return undefined
  const system = [process.version, process.platform, process.arch]
  const hash = createHash('sha256').update(JSON.stringify([repository.root, system, at, manifests]))
  for (const folder of at === '' ? [''] : ['', ...foldersAbove(at), at])
    for (const name of settings)
      hash.update(`\0${name}\0`).update((await readRegular(join(workspace, folder, name)).catch(() => undefined)) ?? '')
  return hash.digest('hex')
}

const kindOf = (cacheDir: string, inputs: string, folder: string) => {
  const key = createHash('sha256').update(`${inputs}\0${folder}`).digest('hex').slice(0, 32)
  return { folder, key, kind: poolKindOf(cacheDir, key) }
}

/** Names the folders of one install. It lies with the tree of its own folder and is removed with it. */
const foldersFile = (kind: Kind): string => join(kind.dir, 'folders.json')

const foldersShape = z.array(z.string())

const foldersOf = async (kind: Kind): Promise<string[] | undefined> => {
  try {
    return foldersShape.parse(JSON.parse(await readRegularText(foldersFile(kind))))
  } catch {
    return undefined // never installed, or a crash came before the last step: it is installed again
  }
}

type LayRequest = OwnInstallRequest & { anew?: true }

/** Lays the packages of an earlier install in this folder with the same inputs. False = there is none. */
const layInstallOf = async (request: LayRequest, at: string): Promise<boolean> => {
  const { workspace, cacheDir } = request
  const inputs = await inputKeyOf(request, at)
  if (inputs === undefined) return false
  const first = kindOf(cacheDir, inputs, at)
  // Its trees are damaged. Without a record the next run installs again.
  if (request.anew === true) await removeFolder(first.kind.dir)
  const trees = ((await foldersOf(first.kind)) ?? []).map((folder) => kindOf(cacheDir, inputs, folder))
  const there = await Promise.all(trees.map(({ kind }) => isFolder(kind.source)))
  if (trees.length === 0 || there.includes(false)) return false
  for (const { folder, key, kind } of trees) {
    if (await isFolder(join(workspace, folder, 'node_modules'))) continue
    await markKindUsed(kind)
    await recordTree(request, { folder, key, own: true })
    await layFromPool(request, folder, kind)
  }
  return true
}

/**
 * The folders of a workspace that an install may have filled and that have no packages, the top first. One without a lockfile below another
 * manifest is a part of that, and is not asked about: a large repository has hundreds.
 */
const foldersWithout = async (workspace: string, folder = '', depth = deepest, isPart = false): Promise<string[]> => {
  const entries = await readdir(join(workspace, folder), { withFileTypes: true })
  const names = new Set(entries.map(({ name }) => name))
  const isPackage = names.has('package.json')
  const isOwn = isPackage && (!isPart || lockfiles.some((name) => names.has(name)))
  const here = isOwn && !names.has('node_modules') ? [folder] : []
  const below = entries.filter((entry) => entry.isDirectory() && !['node_modules', '.git'].includes(entry.name))
  const more = (depth === 0 ? [] : below).map(({ name }) =>
    foldersWithout(workspace, join(folder, name), depth - 1, isPart || isPackage),
  )
  return [...here, ...(await Promise.all(more)).flat()]
}

/** Those of the folders whose packages git ignores, with the top. */
const ignoringPackages = async (workspace: string, folders: readonly string[]): Promise<string[]> => {
  const below = folders.filter((folder) => folder !== '')
  if (below.length === 0) return [...folders]
  const input = below.map((folder) => `./${folder}/node_modules/\0`).join('')
  // This command refuses literal paths; after "./" nothing in the name is special.
  const variables = { GIT_LITERAL_PATHSPECS: '0' }
  const { stdout } = await git(['check-ignore', '-z', '--stdin'], {
    ...{ cwd: workspace, variables, input, okCodes: [0, 1, 128] },
  })
  const ignored = new Set(fieldsOf(stdout).map((path) => path.replace(/^\.\//, '').replace(/\/node_modules\/$/, '')))
  return folders.filter((folder) => folder === '' || ignored.has(folder))
}

/**
 * Lays what earlier installs brought to folders that have no packages. False = nothing. Packages below the top that git does not ignore would be
 * work of a run whose checks do not need them, so such a run installs them itself.
 */
export const layOwnInstalls = async (request: LayRequest): Promise<boolean> => {
  let isLaid = false
  // The install of a folder may bring packages to those below it.
  for (const folder of await ignoringPackages(request.workspace, await foldersWithout(request.workspace)))
    if (!(await isFolder(join(request.workspace, folder, 'node_modules'))))
      isLaid = (await layInstallOf(request, folder)) || isLaid
  return isLaid
}

/** Whether the packages in a folder of a workspace are those of an install by Unstuck. */
export const hasOwnInstall = async (workspace: string, at = ''): Promise<boolean> =>
  (await readTrees(workspace))?.trees.some(({ folder, own }) => folder === at && own === true) === true &&
  isFolder(join(workspace, at, 'node_modules'))

/** The folders of a workspace that have packages. */
export const packageFolders = (workspace: string): Promise<string[]> => installedFolders({ root: workspace, workspace })

/**
 * Takes what an install in `folder` brought into the pool: the packages in all folders but those of `before`. Only for a clone in which no agent has
 * worked. False = these packages serve this workspace alone.
 */
export const keepOwnInstall = async (
  request: OwnInstallRequest & { folder?: string; before: readonly string[] },
): Promise<boolean> => {
  const { workspace, cacheDir, folder: at = '', before, signal } = request
  const folders = (await packageFolders(workspace)).filter((folder) => !before.includes(folder))
  const inputs = await inputKeyOf(request, at)
  if (inputs === undefined || !folders.includes(at)) return false
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })
  for (const folder of folders) {
    const { key, kind } = kindOf(cacheDir, inputs, folder)
    await mkdir(kind.dir, { recursive: true, mode: 0o700 })
    await markKindUsed(kind)
    await recordTree(request, { folder, key, own: true })
    if (await isFolder(kind.source)) continue
    const making = await mkdtemp(join(cacheDir, makingPrefix()))
    await copyInstalled({ root: workspace, folder }, join(making, 'node_modules'), signal)
    await rename(join(making, 'node_modules'), kind.source)
    await removeFolder(making)
  }
  // Last: with it the install is whole.
  await writeFile(foldersFile(kindOf(cacheDir, inputs, at).kind), JSON.stringify(folders), { mode: 0o600 })
  return true
}
