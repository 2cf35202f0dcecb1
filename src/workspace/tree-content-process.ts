/**
 * Reads a tree in a process of its own, so that the engine's thread does not stand still meanwhile. Ends with its answer, or
 * with the channel: nothing else keeps it.
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

const answer = (root: string): ContentReply => {
  try {
    return { content: contentOf(root) }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

if (process.send === undefined) throw new Error('tree-content-process.ts is started by package-pool.ts only')
process.once('message', ({ root, behind }: ContentRequest) => {
  // As a rule nobody waits for it: the work goes first.
  if (!behind) setPriority(10)
  // An engine that is gone needs no answer.
  process.send?.(answer(root), () => undefined)
})
