/**
 * Ends a whole tree: SIGTERM, grace, SIGKILL until nobody is left. Looks again after every step, because a tree goes on
 * forking while it is being ended.
 */
import { isAlive, signalMember, type Member } from './find.ts'

export interface Ending {
  /** SIGKILL was needed. */
  forced: boolean
  /** Processes that even SIGKILL did not end in time (uninterruptible in the kernel). */
  survivors: number
}

const killPatienceMs = 30_000
const lookAgainMs = 250
const pollMs = 10

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits for known processes by their own entries, which costs far less than a look at all processes. */
const untilGone = async (members: Member[], limitMs: number): Promise<void> => {
  const deadline = performance.now() + limitMs
  let left = members.filter(isAlive)
  while (left.length > 0 && performance.now() < deadline) {
    await sleep(pollMs)
    left = left.filter(isAlive)
  }
}

const terminate = (member: Member): void => {
  signalMember(member, 'SIGTERM')
  signalMember(member, 'SIGCONT') // a stopped process receives SIGTERM only when it runs again
}

/** `patienceMs`: how long after its first SIGKILL a process may take to be gone. */
export const endTree = async (look: () => Member[], graceMs: number, patienceMs = killPatienceMs): Promise<Ending> => {
  const begun = performance.now()
  const told = new Set<string>()
  let forced = false
  let cleanLooks = 0
  for (;;) {
    const members = look()
    // One clean look can miss a process that forked while the list was read; after a fight it takes two.
    if (members.length === 0 && (told.size === 0 || ++cleanLooks === 2)) return { forced, survivors: 0 }
    if (members.length > 0) cleanLooks = 0
    const graceLeft = begun + graceMs - performance.now()
    if (graceLeft < -patienceMs) return { forced, survivors: members.length }
    for (const member of members) {
      const name = `${member.pid} ${member.startTime}`
      if (graceLeft <= 0) {
        forced = true
        signalMember(member, 'SIGKILL')
      } else if (!told.has(name)) terminate(member)
      told.add(name)
    }
    await untilGone(members, Math.min(lookAgainMs, graceLeft > 0 ? graceLeft : lookAgainMs))
  }
}
