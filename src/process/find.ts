/**
 * Finds the processes of a launch. A process is a member when it is in the program's group or session, carries the marker in its
 * environment or the inherited mark (platform/mark.ts), is an orphan that works in the launch's own folder, descends from a member,
 * or was a member before and is still the same process. Nothing else may be returned, because members are killed. The calling process is excluded.
 */
import { processesWithMark } from '../platform/mark.ts'
import {
  descendantsOf,
  processTable,
  processesWithEnvironment,
  startTimeOf,
  type ProcessRow,
} from '../platform/process.ts'
import { strayProcessesIn } from '../platform/stray.ts'

export const markerName = 'UNSTUCK_RUN'

/** The run that a marker names, alone or with a suffix. Undefined = it names another command. */
export const runIdIn = (marker: string | undefined): string | undefined => /^r-[a-z0-9]+/.exec(marker ?? '')?.[0]

/**
 * Distinguishes launches with the same marker. The shim of a killed engine may still be ending its tree when the next engine starts
 * the same command with the same marker; by the marker alone that shim would end the new command too.
 */
export const launchName = 'UNSTUCK_LAUNCH'

export interface TreeMember {
  pid: number
  startTime: string
}

export const isMemberAlive = ({ pid, startTime }: TreeMember): boolean => startTimeOf(pid) === startTime

/** Signals a member if it is still the process that was found. */
export const signalMember = (member: TreeMember, signal: NodeJS.Signals): void => {
  if (!isMemberAlive(member)) return
  try {
    process.kill(member.pid, signal)
  } catch {
    // It ended meanwhile, or changed its user; the next scan of the tree shows which.
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
 * Returns a function that scans the tree, to be called repeatedly. `leader` is the program's pid, which also names its group and
 * session; once both are empty the number may be reused, so it is no longer trusted. `name` is the variable that holds the marker,
 * `marks` are the inherited marks (platform/mark.ts), `folder` is the launch's own folder, and `since` the start time of its first process.
 */
export const createTree = (
  marker: string,
  leader?: number,
  { name = markerName, marks = [], folder, since }: TreeSigns = {},
): (() => TreeMember[]) => {
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
      ...marks.flatMap((mark) => processesWithMark(mark, table)),
      ...(folder === undefined ? [] : strayProcessesIn({ folder, name: launchName, since }, table)),
    ])
    if (seeds.size === 0) return []
    const pids = closeOverDescendants(seeds, table)
    const members = table.filter(({ pid }) => pids.has(pid)).map(({ pid, startTime }) => ({ pid, startTime }))
    for (const { pid, startTime } of members) known.set(pid, startTime)
    return members
  }
}
