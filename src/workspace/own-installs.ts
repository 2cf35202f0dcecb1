/**
 * Packages that Unstuck installed itself, because the user's checkout has none. The tree of an install at the top of a fresh clone, before
 * its agent began, joins the pool under a key of everything that the install read. So the checks of that run, and every later run, get
 * a copy instead of another install.
 */
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { readRegular, readRegularText } from '../platform/regular-file.ts'
import { copyInstalled } from './copy-installed.ts'
import { copyTree } from './copy-tree.ts'
import { parsedRecord, isFolder, recordAt } from './installed/bounded-read.ts'
import { wantedPackages } from './installed/unlocked.ts'
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

/** Files at the top that change what an install brings. */
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

/**
 * What an install at the top of a workspace reads, as a key; undefined = it also runs scripts of the repository, and what these write into
 * the packages may depend on any file.
 */
const inputKeyOf = async ({ repository, workspace }: OwnInstallRequest): Promise<string | undefined> => {
  const manifests = await manifestsIn(workspace)
  if (manifests === undefined) return undefined
  const system = [process.version, process.platform, process.arch]
  const hash = createHash('sha256').update(JSON.stringify([repository.root, system, manifests]))
  for (const name of settings)
    hash.update(`\0${name}\0`).update((await readRegular(join(workspace, name)).catch(() => undefined)) ?? '')
  return hash.digest('hex')
}

const kindOf = (cacheDir: string, inputs: string, folder: string) => {
  const key = createHash('sha256').update(`${inputs}\0${folder}`).digest('hex').slice(0, 32)
  return { folder, key, kind: poolKindOf(cacheDir, key) }
}

/** Names the folders of one install. It lies with the tree of the top folder and is removed with it. */
const foldersFile = (kind: Kind): string => join(kind.dir, 'folders.json')

const foldersShape = z.array(z.string())

const foldersOf = async (kind: Kind): Promise<string[] | undefined> => {
  try {
    return foldersShape.parse(JSON.parse(await readRegularText(foldersFile(kind))))
  } catch {
    return undefined // never installed, or a crash came before the last step: it is installed again
  }
}

/** Lays the packages of an earlier install with the same inputs. False = there is none, or the workspace has packages. */
export const layOwnInstall = async (request: OwnInstallRequest & { anew?: true }): Promise<boolean> => {
  const { workspace, cacheDir } = request
  if (await isFolder(join(workspace, 'node_modules'))) return false
  const inputs = await inputKeyOf(request)
  if (inputs === undefined) return false
  const top = kindOf(cacheDir, inputs, '')
  // Its trees are damaged. Without a record the next run installs again.
  if (request.anew === true) await removeFolder(top.kind.dir)
  const trees = ((await foldersOf(top.kind)) ?? []).map((folder) => kindOf(cacheDir, inputs, folder))
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

/** Whether the packages at the top of a workspace are those of an install by Unstuck. */
export const hasOwnInstall = async (workspace: string): Promise<boolean> =>
  (await readTrees(workspace))?.trees.some(({ folder, own }) => folder === '' && own === true) === true &&
  isFolder(join(workspace, 'node_modules'))

/** The folders of a workspace that have packages. */
export const packageFolders = (workspace: string): Promise<string[]> => installedFolders({ root: workspace, workspace })

/**
 * Takes what an install brought into the pool: the packages in all folders but those of `before`. Only for a clone in which no agent has
 * worked. False = these packages serve this workspace alone.
 */
export const keepOwnInstall = async (request: OwnInstallRequest & { before: readonly string[] }): Promise<boolean> => {
  const { workspace, cacheDir, before, signal } = request
  const folders = (await packageFolders(workspace)).filter((folder) => !before.includes(folder))
  const inputs = await inputKeyOf(request)
  if (inputs === undefined || !folders.includes('')) return false
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
  await writeFile(foldersFile(kindOf(cacheDir, inputs, '').kind), JSON.stringify(folders), { mode: 0o600 })
  return true
}
