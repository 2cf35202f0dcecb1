/** Strips a tree in a separate process, so that the engine's thread is not blocked. The process ends after its reply, or when the channel closes. */
import { setPriority } from 'node:os'
import { messageOf } from '../errors.ts'
import { stripTree, type TreeModes } from './strip-tree.ts'

export interface StripRequest {
  root: string
  modes: TreeModes
  umask: number
}

export interface StripReply {
  error?: string
}

const strip = ({ root, modes, umask }: StripRequest): StripReply => {
  try {
    stripTree(root, modes, umask)
    return {}
  } catch (error) {
    return { error: messageOf(error) }
  }
}

if (process.send === undefined) throw new Error('strip-tree-process.ts is started by tree-pool.ts only')
process.once('message', (request: StripRequest) => {
  // No run waits for the result.
  setPriority(10)
  // The callback ignores errors, because the engine may have ended meanwhile.
  process.send?.(strip(request), () => undefined)
})
