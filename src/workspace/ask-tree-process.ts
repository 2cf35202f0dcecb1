/** Starts the process that reads or strips a tree (tree-process.ts), and waits for its reply. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TreeReply, TreeRequest } from './tree-process.ts'

const program = fileURLToPath(new URL(`./tree-process${extname(import.meta.url)}`, import.meta.url))

/** `behind`: trees pile up and delay runs, so the process gets normal priority. Throws what the process could not do. */
export const askTreeProcess = async (request: TreeRequest, signal: AbortSignal): Promise<TreeReply> => {
  const child = fork(program, [], { cwd: '/', env: {}, execArgv: [], serialization: 'advanced', signal })
  // An error while nothing waits for the child, for example after its reply, does not matter.
  child.on('error', () => undefined)
  try {
    // An exit without a reply also ends the wait.
    const answered = Promise.race([once(child, 'message', { signal }), once(child, 'exit', { signal })])
    child.send(request)
    const [reply] = (await answered) as [TreeReply | number | null]
    const error = typeof reply === 'object' ? reply?.error : 'the process ended'
    if (error === undefined) return reply as TreeReply
    throw new Error(`${request.root}: ${error}`)
  } finally {
    if (child.connected) child.disconnect()
  }
}
