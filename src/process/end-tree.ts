/**
 * Ends a whole process tree: SIGTERM, a grace period, then SIGKILL until no process is left. The tree is scanned again after every
 * step, because it may keep forking meanwhile.
 */
import { isMemberAlive, signalMember, type TreeMember } from './find.ts'

export interface TreeEnd {
  /** SIGKILL was needed. */
  forced: boolean
  /** Processes that even SIGKILL did not end in time (uninterruptible in the kernel). */
  survivors: number
}

const killPatienceMs = 30_000
const rescanMs = 250
const pollMs = 10

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits for known processes by their own entries, which costs far less than scanning all processes. */
const untilGone = async (members: TreeMember[], limitMs: number): Promise<void> => {
  const deadline = performance.now() + limitMs
  let left = members.filter(isMemberAlive)
  while (left.length > 0 && performance.now() < deadline) {
    await sleep(pollMs)
    left = left.filter(isMemberAlive)
  }
}

const terminate = (member: TreeMember): void => {
  signalMember(member, 'SIGTERM')
  signalMember(member, 'SIGCONT') // a stopped process receives SIGTERM only when it runs again
}

/** `scan` returns the processes that are left. `patienceMs`: time that a process may take to end after its first SIGKILL. */
export const endTree = async (
  scan: () => TreeMember[],
  graceMs: number,
  patienceMs = killPatienceMs,
): Promise<TreeEnd> => {
  const begun = performance.now()
  const signalled = new Set<string>()
  let forced = false
  let cleanScans = 0
  for (;;) {
    const members = scan()
    // A scan can miss a process that forks while the list is read, so once a process was signalled it takes two empty scans.
    if (members.length === 0 && (signalled.size === 0 || ++cleanScans === 2)) return { forced, survivors: 0 }
    if (members.length > 0) cleanScans = 0
    const graceLeft = begun + graceMs - performance.now()
    if (graceLeft < -patienceMs) return { forced, survivors: members.length }
    for (const member of members) {
      const name = `${member.pid} ${member.startTime}`
      if (graceLeft <= 0) {
        forced = true
        signalMember(member, 'SIGKILL')
      } else if (!signalled.has(name)) terminate(member)
      signalled.add(name)
    }
    await untilGone(members, Math.min(rescanMs, graceLeft > 0 ? graceLeft : rescanMs))
  }
}
