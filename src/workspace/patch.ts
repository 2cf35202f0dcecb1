/** The difference between two states of the files, for people: every path, and as much of the patch as is readable. */
import { changesBetween, captureTree, type CaptureRequest } from './changes.ts'
import type { ChangeKind, ChangeList } from './repository-types.ts'
import { sizesOf } from './contents.ts'
import { git, objectName } from './git.ts'
import { inShadow, withIndex, type Shadow } from './shadow.ts'

export interface Patch {
  files: { path: string; kind: ChangeKind }[]
  text: string
  /** Paths of `files` that are missing in `text`, because they are too large or too many. */
  leftOut: string[]
}

export interface PatchLimits {
  /** For one file, before and after together. */
  mostBytesEach: number
  /** For all files together. */
  mostBytes: number
  /** Limited, because the names are arguments of git. */
  mostFiles: number
}

const gitlink = '160000'
const absent = '000000'

type RawChange = Awaited<ReturnType<typeof changesBetween>>[number]

const objectsOf = ({ oldMode, newMode, oldObject, newObject }: RawChange): string[] => [
  ...(oldMode === absent || oldMode === gitlink ? [] : [oldObject]),
  ...(newMode === absent || newMode === gitlink ? [] : [newObject]),
]

/** Sizes are read first, because a generated file of gigabytes must not be loaded into the engine's memory. */
const bytesByObject = async (shadow: Shadow, changes: RawChange[]): Promise<Map<string, number>> => {
  const objects = [...new Set(changes.flatMap(objectsOf))]
  const sizes = objects.length === 0 ? [] : await sizesOf(shadow, objects)
  return new Map(objects.map((object, index) => [object, sizes[index] ?? 0]))
}

export const readPatch = async (
  shadow: Shadow,
  { from, to }: { from: string; to: string },
  limits: PatchLimits,
): Promise<Patch> => {
  const changes = await changesBetween(shadow, from, to)
  const bytes = await bytesByObject(shadow, changes)
  const shown: string[] = []
  let total = 0
  for (const change of changes) {
    const size = objectsOf(change).reduce((sum, object) => sum + (bytes.get(object) ?? 0), 0)
    if (size > limits.mostBytesEach || total + size > limits.mostBytes || shown.length >= limits.mostFiles) continue
    total += size
    shown.push(change.path)
  }
  const inText = new Set(shown)
  const files = changes.map(({ path, kind }) => ({ path, kind }))
  return {
    files,
    text: shown.length === 0 ? '' : await patchText(shadow, { from, to, paths: shown }),
    leftOut: files.map(({ path }) => path).filter((path) => !inText.has(path)),
  }
}

const patchText = async (
  shadow: Shadow,
  { from, to, paths }: { from: string; to: string; paths: string[] },
): Promise<string> => {
  const args = ['diff-tree', '-r', '-p', '--no-renames', '--no-ext-diff', '--no-textconv', '--no-color']
  return (await git([...args, objectName(from), objectName(to), '--', ...paths], inShadow(shadow))).stdout
}

/** Like `captureTree`, but with its own index, so that it can run concurrently with the owner of the run. */
export const captureConcurrently = (shadow: Shadow, request: Omit<CaptureRequest, 'indexFile'>): Promise<ChangeList> =>
  withIndex(shadow, (indexFile) => captureTree(shadow, { ...request, indexFile }))
