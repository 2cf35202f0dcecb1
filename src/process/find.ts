/**
 * Who belongs to a launch. A process is a member when it is in the program's group or session, carries the marker in its environment
 * or the mark that is handed down without one, works without an owner in the launch's own folder, descends from a member, or was
 * a member before and is still the same process. Nobody else ever is: what this returns gets killed. The asking process itself is left out.
 */
import { processesMarked } from '../platform/mark.ts'
import {
  descendantsOf,
  processTable,
  processesWithEnvironment,
  startTimeOf,
  type ProcessRow,
} from '../platform/process.ts'
import { strayProcessesIn } from '../platform/stray.ts'

export const markerName = 'UNSTUCK_RUN'

/**
 * One launch of a marker. A shim of an engine that was killed may still be ending its tree when the next engine starts the same
 * command again with the same marker: by the marker alone it would end that one too.
 */
export const launchName = 'UNSTUCK_LAUNCH'

export interface Member {
  pid: number
  startTime: string
}

export const isAlive = ({ pid, startTime }: Member): boolean => startTimeOf(pid) === startTime

/** Signals a member if it is still the process that was found. */
export const signalMember = (member: Member, signal: NodeJS.Signals): void => {
  if (!isAlive(member)) return
  try {
    process.kill(member.pid, signal)
  } catch {
    // It ended in between, or changed its user; the next look at the tree tells.
  }
}

const closeOverDescendants = (seeds: Set<number>, table: ProcessRow[]): Set<number> => {
  const all = new Set(seeds)
  for (const seed of seeds) for (const pid of descendantsOf(seed, table)) all.add(pid)
  all.delete(process.pid)
  all.delete(1)
  return all
}

export interface TreeSigns {
  name?: string
  marks?: readonly string[]
  folder?: string | undefined
  since?: string | undefined
}

/**
 * A look at the tree, to be repeated. `leader` is the program's pid, whose number names its group and session; once no
 * process is left in them the number may be given to a stranger, so it is not used again. `name` is the variable that
 * holds the marker; `marks` are those of its programs (platform/mark.ts); `folder` is the launch's own, and
 * `since` when the first of its processes began.
 */
export const createTree = (
  marker: string,
  leader?: number,
  { name = markerName, marks = [], folder, since }: TreeSigns = {},
): (() => Member[]) => {
  const known = new Map<number, string>()
  let leaderIsOurs = leader !== undefined
  return () => {
    const table = processTable()
    const led = leaderIsOurs ? table.filter((row) => row.group === leader || row.session === leader) : []
    leaderIsOurs = led.length > 0
    const seeds = new Set([
      ...led.map(({ pid }) => pid),
      ...table.filter(({ pid, startTime }) => known.get(pid) === startTime).map(({ pid }) => pid),
      ...processesWithEnvironment(name, marker, table),
      ...marks.flatMap((mark) => processesMarked(mark, table)),
      ...(folder === undefined ? [] : strayProcessesIn({ folder, name: launchName, since }, table)),
    ])
    if (seeds.size === 0) return []
    const pids = closeOverDescendants(seeds, table)
    const members = table.filter(({ pid }) => pids.has(pid)).map(({ pid, startTime }) => ({ pid, startTime }))
    for (const { pid, startTime } of members) known.set(pid, startTime)
    return members
  }
}
