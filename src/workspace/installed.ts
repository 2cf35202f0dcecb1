/**
 * Inspects installed packages: whether each tree matches its lockfile and is complete. Reads names, sizes and the package
 * managers' own records, and at most the manifest of a package. An agent may have written the files, so no symlink is followed
 * and all reads are bounded.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { InstalledTree, TreeEcosystem } from '../recovery/probes/measurement.ts'
import { vendorDifferences } from './installed/go.ts'
import { lockNames, nodeTree } from './installed/node.ts'
import { declaresModule, pythonTree } from './installed/python.ts'
import {
  filterConcurrently,
  folderBelow,
  parsedRecord,
  recordAt,
  treeStateOf,
  boundedText,
} from './installed/bounded-read.ts'

const maxNamed = 20
/** The most folders that are searched for manifests. A larger project is inspected only in part. */
const maxFolders = 400
const maxDepth = 3

const dependencyKinds = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'] as const

interface Manifest {
  folder: string
  name: unknown
  declares: Set<string>
  forDevelopment: Set<string>
}

const manifestIn = async (root: string, folder: string): Promise<Manifest | undefined> => {
  const text = await boundedText(join(root, folder, 'package.json'))
  if (text === undefined) return undefined
  const manifest = parsedRecord(text)
  const declares = new Set(dependencyKinds.flatMap((kind) => Object.keys(recordAt(manifest, kind))))
  const forDevelopment = new Set(Object.keys(recordAt(manifest, 'devDependencies')))
  return { folder, name: manifest.name, declares, forDevelopment }
}

/** Folders of the project, the top one first. */
const foldersBelow = async (root: string): Promise<string[]> => {
  const found: string[] = []
  let layer = ['']
  for (let depth = 0; depth <= maxDepth && layer.length > 0; depth += 1) {
    const next: string[] = []
    for (const folder of layer) {
      if (found.length === maxFolders) return found
      found.push(folder)
      const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
      const inside = entries.filter(
        (entry) => entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'),
      )
      next.push(...inside.map((entry) => join(folder, entry.name)))
    }
    layer = next
  }
  return found
}

const nodeTrees = async (
  root: string,
  manifests: readonly Manifest[],
  beside: string | undefined,
): Promise<InstalledTree[]> => {
  const trees: InstalledTree[] = []
  const byFolder = new Map(manifests.map((manifest) => [manifest.folder, manifest]))
  for (const { folder, declares } of manifests) {
    const devNames = (inside: string): Set<string> | undefined =>
      byFolder.get(inside === '' ? folder : join(folder, inside))?.forDevelopment
    const tree = await nodeTree(root, folder, { beside, devNames })
    // In a workspace project, the packages are installed at the top.
    const counts = tree.state === 'absent' ? tree.lockfile !== null && declares.size > 0 : true
    if (counts) trees.push(tree)
  }
  return trees
}

/** Undefined = nothing is vendored, so the project contains no tree. */
const goTree = async (root: string, folder: string): Promise<InstalledTree | undefined> => {
  const goMod = await boundedText(join(root, folder, 'go.mod'))
  const vendor = goMod === undefined ? undefined : await folderBelow(join(root, folder), 'vendor')
  const list = vendor === undefined ? undefined : await boundedText(join(vendor, 'modules.txt'))
  if (goMod === undefined || list === undefined) return undefined
  const held = vendorDifferences(goMod, list)
  return {
    ecosystem: 'go',
    folder,
    lockfile: 'go.mod',
    state: treeStateOf(held),
    differences: held.differences,
    damage: [],
  }
}

const inLockfile = async (folder: string, name: string): Promise<boolean> => {
  const texts = await Promise.all(lockNames.map((lockfile) => boundedText(join(folder, lockfile))))
  const written = [`node_modules/${name}"`, `${name}@`, `'${name}':`]
  return texts.some((text) => text !== undefined && written.some((form) => text.includes(form)))
}

const declaresPackage = async (root: string, manifests: readonly Manifest[], name: string): Promise<boolean> => {
  if (manifests.some((manifest) => manifest.name === name || manifest.declares.has(name))) return true
  return (await filterConcurrently(manifests, async ({ folder }) => inLockfile(join(root, folder), name))).length > 0
}

export interface InstalledReport {
  trees: InstalledTree[]
  /** `declared` undefined = unknown. */
  asked: { name: string; declared: boolean | undefined } | undefined
}

/**
 * The installed packages below `root`: each folder with packages or with a lockfile for packages. `of`: only this ecosystem.
 * `name`: a missing package of Node or module of Python. `beside`: the checkout that the packages were copied from.
 */
export const inspectInstalled = async (
  root: string,
  options: { of?: TreeEcosystem; name?: string; beside?: string } = {},
): Promise<InstalledReport> => {
  const { of, name, beside } = options
  const asks = (ecosystem: TreeEcosystem): boolean => of === undefined || of === ecosystem
  const folders = await foldersBelow(root)
  const read = asks('node') ? await Promise.all(folders.map((folder) => manifestIn(root, folder))) : []
  const manifests = read.filter((manifest) => manifest !== undefined)
  const found: (InstalledTree | undefined)[] = await nodeTrees(root, manifests, beside)
  for (const folder of folders) {
    if (asks('python')) found.push(await pythonTree(root, folder))
    if (asks('go')) found.push(await goTree(root, folder))
  }
  const trees = found
    .filter((tree) => tree !== undefined)
    .map(({ differences, damage, ...tree }) => ({
      ...tree,
      differences: differences.slice(0, maxNamed),
      damage: damage.slice(0, maxNamed),
    }))
  if (name === undefined) return { trees, asked: undefined }
  const declared = of === 'python' ? await declaresModule(root, name) : await declaresPackage(root, manifests, name)
  return { trees, asked: { name, declared } }
}
