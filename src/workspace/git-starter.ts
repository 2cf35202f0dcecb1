/**
 * Starts git through a small process. To start a program the kernel copies the page tables of its parent, and nothing else happens in the
 * parent meanwhile: 1.4 ms of CPU in a process of 50 MB, 5 ms in one of 150 MB and 12 ms in one of 350 MB (100 starts of `true` each). An
 * engine starts about a hundred git commands per attempt.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { noOutput, runGit, type GitCommand, type GitExit } from './run-git.ts'
import type { GitReply, GitRequest } from './git-process.ts'

const program = fileURLToPath(new URL(`./git-process${extname(import.meta.url)}`, import.meta.url))

/** Most commands of the CLI need fewer, and starting the process costs as much as about fifteen of them. */
const directCommands = 20

/** Without them V8 leaves more garbage of the outputs lying around: 110 MB instead of 80 after 600 commands, so each start takes longer. */
const smallHeap = ['--max-semi-space-size=1', '--optimize-for-size']

interface Starter {
  child: ChildProcess
  waiting: Map<number, (exit: GitExit) => void>
}

let count = 0
let starter: Starter | undefined

const lost = (signal?: NodeJS.Signals | null): GitExit => ({
  ...noOutput,
  ...(signal == null ? { reason: 'the process that starts git has ended' } : { signal }),
})

/** It keeps its parent running only while a command does. */
const open = (): Starter => {
  const child = fork(program, {
    execArgv: smallHeap,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const opened: Starter = { child, waiting: new Map() }
  const end = (signal?: NodeJS.Signals | null): void => {
    if (starter === opened) starter = undefined
    for (const settle of opened.waiting.values()) settle(lost(signal))
  }
  child.on('message', ({ id, exit }: GitReply) => opened.waiting.get(id)?.(exit))
  child.on('exit', (_code, signal) => end(signal))
  child.on('error', () => end())
  child.unref()
  child.channel?.unref()
  return opened
}

const through = ({ child, waiting }: Starter, command: GitCommand, signal?: AbortSignal): Promise<GitExit> =>
  new Promise((resolve) => {
    const id = (count += 1)
    const send = (request: GitRequest): void => {
      child.send(request, (error) => error !== null && waiting.get(id)?.(lost()))
    }
    const cancel = (): void => send({ id })
    waiting.set(id, (exit) => {
      waiting.delete(id)
      if (waiting.size === 0) child.channel?.unref()
      signal?.removeEventListener('abort', cancel)
      resolve(exit)
    })
    child.channel?.ref()
    signal?.addEventListener('abort', cancel, { once: true })
    send({ id, command })
  })

export const startGit = (command: GitCommand, signal?: AbortSignal): Promise<GitExit> => {
  if (count < directCommands || signal?.aborted === true) {
    count += 1
    return runGit(command, signal)
  }
  starter ??= open()
  return through(starter, command, signal)
}
