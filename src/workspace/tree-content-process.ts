/**
 * Reads a tree in a separate process, so that the engine's thread is not blocked. The process ends after its reply, or when the
 * channel closes.
 */
import { setPriority } from 'node:os'
import { messageOf } from '../errors.ts'
import { contentOf, type TreeContent } from './tree-content.ts'

export interface ContentRequest {
  root: string
  behind: boolean
}

export interface ContentReply {
  content?: TreeContent
  error?: string
}

const readTree = (root: string): ContentReply => {
  try {
    return { content: contentOf(root) }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

if (process.send === undefined) throw new Error('tree-content-process.ts is started by package-pool.ts only')
process.once('message', ({ root, behind }: ContentRequest) => {
  // Usually no run waits for the result, so runs get priority.
  if (!behind) setPriority(10)
  // The callback ignores errors, because the engine may have ended meanwhile.
  process.send?.(readTree(root), () => undefined)
})
