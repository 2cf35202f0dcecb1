/** Reads files of a commit or tree through the shadow, never from the workspace, where an agent can write. */
import { fieldsOf, git, objectName } from './git.ts'
import { gitOnObjects } from './object-cache.ts'
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

export const sizesOf = async (shadow: Shadow, objects: readonly string[]): Promise<number[]> => {
  const input = objects.map((object) => `${objectName(object)}\n`).join('')
  const { stdout } = await git(['cat-file', '--batch-check=%(objectsize)'], { ...inShadow(shadow), input })
  const sizes = stdout.trimEnd().split('\n').map(Number)
  if (sizes.length !== objects.length || sizes.some(Number.isNaN)) throw new Error(`objects are missing: ${stdout}`)
  return sizes
}

/** Decodes as UTF-8 without NUL bytes, so that ASCII text in UTF-16 is readable and a NUL cannot hide text. */
const asText = (bytes: string): string => Buffer.from(bytes.replaceAll('\0', ''), 'latin1').toString('utf8')

const readObjects = async (shadow: Shadow, objects: readonly string[]): Promise<Map<string, string>> => {
  const input = objects.map((object) => `${object}\n`).join('')
  const { stdout } = await git(['cat-file', '--batch'], { ...inShadow(shadow), input, encoding: 'latin1' })
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

/** The texts of as many objects as fit into `mostBytes`, at least one. */
export const readTexts = async (
  shadow: Shadow,
  objects: readonly string[],
  { mostBytes, mostBytesEach }: { mostBytes: number; mostBytesEach: number },
): Promise<ObjectTexts> => {
  if (objects.length === 0) return { texts: new Map(), tooLarge: [], left: [] }
  const sizes = await sizesOf(shadow, objects)
  const sized = objects.map((object, index) => ({ object, size: sizes[index] ?? 0 }))
  const fitting = sized.filter(({ size }) => size <= mostBytesEach)
  let sum = 0
  const sums = fitting.map(({ size }) => (sum += size))
  const over = sums.findIndex((total, index) => index > 0 && total > mostBytes)
  const count = over === -1 ? fitting.length : over
  const names = fitting.map(({ object }) => object)
  return {
    texts: await readObjects(shadow, names.slice(0, count)),
    tooLarge: sized.filter(({ size }) => size > mostBytesEach).map(({ object }) => object),
    left: names.slice(count),
  }
}

const mostTextBytes = 32 * 1024 * 1024
const largestText = 1024 * 1024

/** Texts of many files by path, with as few commands as for one. A path that is no plain file, and a file of more than 1 MiB, is left out. */
export const fileTextsAt = async (
  shadow: Shadow,
  treeish: string,
  paths: readonly string[],
): Promise<Map<string, string>> => {
  const wanted = new Set(paths)
  const args = ['ls-tree', '-r', '-z', '--full-tree', objectName(treeish)]
  const entries = fieldsOf((await gitOnObjects(args, inShadow(shadow))).stdout).flatMap((line) => {
    const [, object = '', path = ''] = /^100\d{3} blob ([0-9a-f]+)\t(.+)$/s.exec(line) ?? []
    return wanted.has(path) ? [{ object, path }] : []
  })
  const objects = [...new Set(entries.map(({ object }) => object))]
  const { texts } = await readTexts(shadow, objects, { mostBytes: mostTextBytes, mostBytesEach: largestText })
  return new Map(
    entries.flatMap(({ object, path }) => {
      const text = texts.get(object)
      return text === undefined ? [] : [[path, text] as const]
    }),
  )
}
