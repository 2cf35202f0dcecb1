/**
 * Ends a git that talks to a remote, together with the helpers that it started. A helper that waits for the network does not
 * notice that git is gone, and keeps git's output open: waiting for the end of that output would never end.
 */
import type { ChildProcess } from 'node:child_process'
import { processTable, startTimeOf, type ProcessRow } from '../platform/process.ts'

const graceMs = 3_000

const signal = ({ pid, startTime }: ProcessRow, name: NodeJS.Signals): void => {
  if (startTimeOf(pid) !== startTime) return
  try {
    process.kill(pid, name)
  } catch {
    // it ended between the look and the signal
  }
}

/** SIGTERM first: git takes its lock files and half-written packs along. */
const endGroup = (leader: number): void => {
  const members = processTable().filter(({ group }) => group === leader)
  for (const member of members) signal(member, 'SIGTERM')
  const force = (): void => members.forEach((member) => signal(member, 'SIGKILL'))
  if (members.length > 0) setTimeout(force, graceMs)
}

interface Running<T> extends PromiseLike<T> {
  nodeChildProcess: Pick<ChildProcess, 'pid' | 'once'>
}

/**
 * `running` leads a group of its own. What ends by itself is left alone: a helper that keeps a login for a while, a hook of
 * a remote on this disk that goes on in the background.
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
