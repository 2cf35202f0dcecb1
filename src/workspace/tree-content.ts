/**
 * The content of a folder, entry by entry, to compare two states of it: type, mode, number of hard links, digest of the bytes or
 * target of the symlink. Times are ignored, because a program can reset them.
 */
import { createHash } from 'node:crypto'
import { closeSync, lstatSync, readSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { openRegularSync } from '../platform/regular-file.ts'

/** By path relative to the folder, '' = the folder itself. */
export type TreeContent = Record<string, string>

const blockBytes = 1024 * 1024

const digestOf = (path: string, block: Buffer): string => {
  const hash = createHash('sha256')
  const file = openRegularSync(path)
  try {
    for (let read = readSync(file, block); read > 0; read = readSync(file, block)) hash.update(block.subarray(0, read))
  } finally {
    closeSync(file)
  }
  return hash.digest('base64url')
}

const described = (path: string, found: Stats, block: Buffer): string => {
  const mode = (found.mode & 0o7777).toString(8)
  if (found.isSymbolicLink()) return `link ${readlinkSync(path)}`
  if (found.isDirectory()) return `folder ${mode}`
  // The link count matters, because a hard link elsewhere would allow changing the file later.
  return found.isFile() ? `file ${mode} ${found.nlink} ${digestOf(path, block)}` : `other ${mode}`
}

/** Reads the whole tree synchronously. Call it in a separate process, because a large tree takes seconds. */
export const contentOf = (root: string): TreeContent => {
  const content: TreeContent = {}
  const block = Buffer.allocUnsafe(blockBytes)
  const visit = (inside: string): void => {
    const path = join(root, inside)
    const found = lstatSync(path)
    content[inside] = described(path, found, block)
    if (found.isDirectory()) for (const name of readdirSync(path)) visit(join(inside, name))
  }
  visit('')
  return content
}

export interface TreeDifference {
  added: string[]
  changed: string[]
  removed: string[]
}

/** Compares two states. For an added or removed folder, only the folder itself is listed. */
export const differenceOf = (before: TreeContent, after: TreeContent): TreeDifference => {
  const isTop = (path: string, others: TreeContent): boolean => {
    const end = path.lastIndexOf('/')
    return end === -1 ? true : others[path.slice(0, end)] !== undefined
  }
  const paths = Object.keys(after)
  return {
    added: paths.filter((path) => before[path] === undefined && isTop(path, before)),
    changed: paths.filter((path) => before[path] !== undefined && before[path] !== after[path]),
    removed: Object.keys(before).filter((path) => after[path] === undefined && isTop(path, after)),
  }
}
