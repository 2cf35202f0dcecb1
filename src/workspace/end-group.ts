/**
 * Ends a git process that talks to a remote, together with the helpers that it started. A helper that waits for the network does
 * not notice that git has ended and keeps git's output open, so waiting for the end of the output would never return.
 */
import type { ChildProcess } from 'node:child_process'
import { processTable, startTimeOf, type ProcessRow } from '../platform/process.ts'

const gracePeriodMs = 3_000

const signal = ({ pid, startTime }: ProcessRow, name: NodeJS.Signals): void => {
  if (startTimeOf(pid) !== startTime) return
  try {
    process.kill(pid, name)
  } catch {
    // it ended between listing and signalling
  }
}

/** SIGTERM first, so that git removes its lock files and half-written packs. */
const endGroup = (leader: number): void => {
  const members = processTable().filter(({ group }) => group === leader)
  for (const member of members) signal(member, 'SIGTERM')
  const force = (): void => members.forEach((member) => signal(member, 'SIGKILL'))
  if (members.length > 0) setTimeout(force, gracePeriodMs)
}

interface Running<T> extends PromiseLike<T> {
  nodeChildProcess: Pick<ChildProcess, 'pid' | 'once'>
}

/**
 * `running` must lead its own process group. The group is only ended after a timeout or a signal, because a successful git may
 * leave processes that are meant to stay: a credential cache, or a background hook of a local remote.
 */
export const endWithGroup = async <T>(running: Running<T>, timeoutMs: number): Promise<T> => {
  const { nodeChildProcess } = running
  const { pid } = nodeChildProcess
  if (pid === undefined) return running
  const timer = setTimeout(endGroup, timeoutMs, pid)
  nodeChildProcess.once('exit', (_code, signalName) => {
    if (signalName !== null) endGroup(pid)
  })
  try {
    return await running
  } finally {
    clearTimeout(timer)
  }
}
