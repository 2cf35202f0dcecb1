/**
 * A small process that starts git for a larger one (git-starter.ts). It ends with the channel and the commands that are running then, because
 * its parent is gone. Signals of the terminal are for the parent, which still needs git to stop in order.
 */
import { runGit, type GitCommand, type GitExit } from './run-git.ts'

/** `command` starts one; without it the command of this id is cancelled. */
export interface GitRequest {
  id: number
  command?: GitCommand
}

export interface GitReply {
  id: number
  exit: GitExit
}

if (process.send === undefined) throw new Error('git-process.ts is started by git-starter.ts only')

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined)

const running = new Map<number, AbortController>()

const run = async (id: number, command: GitCommand): Promise<void> => {
  const cancel = new AbortController()
  running.set(id, cancel)
  const exit = await runGit(command, cancel.signal)
  running.delete(id)
  process.send?.({ id, exit } satisfies GitReply)
}

process.on('message', ({ id, command }: GitRequest) => {
  if (command === undefined) running.get(id)?.abort()
  else void run(id, command)
})
