/**
 * Reads or strips a tree in a separate process, so that the engine's thread is not blocked. The process ends after its reply, or when the
 * channel closes.
 */
import { setPriority } from 'node:os'
import { messageOf } from '../errors.ts'
import { stripTree, type TreeModes } from './strip-tree.ts'
import { contentOf, type TreeContent } from './tree-content.ts'

export type TreeRequest = { root: string; behind: boolean } & (
  | { work: 'read' }
  | { work: 'strip'; modes: TreeModes; umask: number }
)

export interface TreeReply {
  /** Of `read`. */
  content?: TreeContent
  error?: string
}

const carryOut = (request: TreeRequest): TreeReply => {
  try {
    if (request.work === 'read') return { content: contentOf(request.root) }
    stripTree(request.root, request.modes, request.umask)
    return {}
  } catch (error) {
    return { error: messageOf(error) }
  }
}

if (process.send === undefined) throw new Error('tree-process.ts is started by ask-tree-process.ts only')
process.once('message', (request: TreeRequest) => {
  // Usually no run waits for the result, so runs get priority.
  if (!request.behind) setPriority(10)
  // The callback ignores errors, because the engine may have ended meanwhile.
  process.send?.(carryOut(request), () => undefined)
})
