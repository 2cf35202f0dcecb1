/** Reads files of a commit or tree from its objects, never from the workspace, where an agent can write. */
import type { Repository } from './repository-types.ts'
import { fieldsOf, git, objectName, type GitOptions } from './git.ts'
import { gitOnObjects } from './object-cache.ts'
import { inRepository } from './refs.ts'
import { inShadow, type Shadow } from './shadow.ts'

/** Text of a file; undefined = no such file (also for a folder or a nested repository). */
export const fileTextAt = async (shadow: Shadow, treeish: string, path: string): Promise<string | undefined> => {
  const found = await gitOnObjects(['cat-file', 'blob', `${objectName(treeish)}:${path}`], {
    ...inShadow(shadow),
    okCodes: [0, 128],
  })
  return found.code === 0 ? found.stdout : undefined
}

/** Paths of all files of a commit or tree. */
export const filesOf = async (shadow: Shadow, treeish: string): Promise<string[]> =>
  fieldsOf(
    (await gitOnObjects(['ls-tree', '-r', '-z', '--name-only', '--full-tree', objectName(treeish)], inShadow(shadow)))
      .stdout,
  )

/** A patch between two commits for people, at most `mostChars` characters of it. */
export const diffText = async (
  shadow: Shadow,
  { from, to }: { from: string; to: string },
  mostChars: number,
): Promise<string> => {
  const args = ['diff-tree', '-p', '--no-renames', '--no-ext-diff', '--no-textconv', '--no-color']
  const { stdout } = await git([...args, objectName(from), objectName(to)], inShadow(shadow))
  return stdout.length <= mostChars ? stdout : `${stdout.slice(0, mostChars)}\n[cut here]\n`
}

export interface ObjectTexts {
  /** By object. */
  texts: Map<string, string>
  tooLarge: string[]
  /** Objects that were not read yet, to limit memory use. */
  left: string[]
}

const sizesIn = async (place: GitOptions, objects: readonly string[]): Promise<number[]> => {
  const input = objects.map((object) => `${objectName(object)}\n`).join('')
  const { stdout } = await git(['cat-file', '--batch-check=%(objectsize)'], { ...place, input })
  const sizes = stdout.trimEnd().split('\n').map(Number)
  if (sizes.length !== objects.length || sizes.some(Number.isNaN)) throw new Error(`objects are missing: ${stdout}`)
  return sizes
}

/** Decodes as UTF-8 without NUL bytes, so that ASCII text in UTF-16 is readable and a NUL cannot hide text. */
const asText = (bytes: string): string => Buffer.from(bytes.replaceAll('\0', ''), 'latin1').toString('utf8')

const readObjects = async (place: GitOptions, objects: readonly string[]): Promise<Map<string, string>> => {
  const input = objects.map((object) => `${object}\n`).join('')
  const { stdout } = await git(['cat-file', '--batch'], { ...place, input, encoding: 'latin1' })
  const texts = new Map<string, string>()
  let at = 0
  for (const object of objects) {
    const begin = stdout.indexOf('\n', at) + 1
    const size = Number(stdout.slice(at, begin).split(' ')[2])
    texts.set(object, asText(stdout.slice(begin, begin + size)))
    at = begin + size + 1
  }
  return texts
}

interface TextLimits {
  mostBytes: number
  mostBytesEach: number
}

const textsIn = async (
  place: GitOptions,
  objects: readonly string[],
  { mostBytes, mostBytesEach }: TextLimits,
): Promise<ObjectTexts> => {
  if (objects.length === 0) return { texts: new Map(), tooLarge: [], left: [] }
  const sizes = await sizesIn(place, objects)
  const sized = objects.map((object, index) => ({ object, size: sizes[index] ?? 0 }))
  const fitting = sized.filter(({ size }) => size <= mostBytesEach)
  let sum = 0
  const sums = fitting.map(({ size }) => (sum += size))
  const over = sums.findIndex((total, index) => index > 0 && total > mostBytes)
  const count = over === -1 ? fitting.length : over
  const names = fitting.map(({ object }) => object)
  return {
    texts: await readObjects(place, names.slice(0, count)),
    tooLarge: sized.filter(({ size }) => size > mostBytesEach).map(({ object }) => object),
    left: names.slice(count),
  }
}

export const sizesOf = (shadow: Shadow, objects: readonly string[]): Promise<number[]> =>
  sizesIn(inShadow(shadow), objects)

/** The texts of as many objects as fit into `mostBytes`, at least one. */
export const readTexts = (shadow: Shadow, objects: readonly string[], limits: TextLimits): Promise<ObjectTexts> =>
  textsIn(inShadow(shadow), objects, limits)

const mostTextBytes = 32 * 1024 * 1024
const largestText = 1024 * 1024

export interface FilesOfCommit {
  /** Paths of all files. */
  names: string[]
  /** Texts by path. A path that is no plain file, and a file of more than 1 MiB, is left out. */
  texts: Map<string, string>
}

/** With as few commands for many texts as for one. */
const filesIn = async (
  place: GitOptions,
  treeish: string,
  isWanted: (path: string) => boolean,
): Promise<FilesOfCommit> => {
  const args = ['ls-tree', '-r', '-z', '--full-tree', objectName(treeish)]
  const lines = fieldsOf((await gitOnObjects(args, place)).stdout)
  const entries = lines.flatMap((line) => {
    const [, object = '', path = ''] = /^100\d{3} blob ([0-9a-f]+)\t(.+)$/s.exec(line) ?? []
    return object !== '' && isWanted(path) ? [{ object, path }] : []
  })
  const objects = [...new Set(entries.map(({ object }) => object))]
  const { texts } = await textsIn(place, objects, { mostBytes: mostTextBytes, mostBytesEach: largestText })
  return {
    names: lines.map((line) => line.slice(line.indexOf('\t') + 1)),
    texts: new Map(
      entries.flatMap(({ object, path }) => {
        const text = texts.get(object)
        return text === undefined ? [] : [[path, text] as const]
      }),
    ),
  }
}

export const fileTextsAt = async (
  shadow: Shadow,
  treeish: string,
  paths: readonly string[],
): Promise<Map<string, string>> => {
  const wanted = new Set(paths)
  return (await filesIn(inShadow(shadow), treeish, (path) => wanted.has(path))).texts
}

/** From the objects of the repository itself, because one by URL has no checkout. */
export const filesOfCommit = (
  repository: Repository,
  commit: string,
  isWanted: (path: string) => boolean,
): Promise<FilesOfCommit> => filesIn(inRepository(repository), commit, isWanted)

/** The tree of a commit; a tree is returned as it is. */
export const treeOf = async (shadow: Shadow, commit: string): Promise<string> => {
  const args = ['rev-parse', '--verify', '--quiet', `${objectName(commit)}^{tree}`]
  return (await gitOnObjects(args, inShadow(shadow))).stdout.trim()
}
