/** Ends the processes that a run without shims left behind, and returns those that could not be ended. */
import { releaseMark, markOf } from '../platform/mark.ts'
import { isOfThisBoot, programNameOf, type ProcessIdentity } from '../platform/process.ts'
import { createTree, type TreeMember } from './find.ts'
import { endTree } from './end-tree.ts'

const graceMs = 5_000
/** A process that survives SIGKILL for this long belongs to another user or hangs in the kernel. */
const patienceMs = 5_000

/** How a run's processes are found besides their marker. */
export interface RunSigns {
  /** The shims of the run's launches, in order; the programs carry the marks of these shims. */
  shims?: readonly ProcessIdentity[]
  /** A folder that only the run uses. */
  folder?: string
}

/** Shims of another machine or boot have left no processes here. */
const shimsHere = ({ shims = [] }: RunSigns): ProcessIdentity[] => shims.filter(isOfThisBoot)

const treeOf = (marker: string, signs: RunSigns): (() => TreeMember[]) => {
  const here = shimsHere(signs)
  return createTree(marker, undefined, {
    ...{ marks: here.map(markOf), folder: signs.folder, since: here[0]?.startTime },
  })
}

const dropMarks = (signs: RunSigns): void => {
  for (const shim of shimsHere(signs)) releaseMark(markOf(shim))
}

/** Ends every process of a launch whose shim is lost, and returns how many there were. */
export const sweep = async (marker: string, options: RunSigns & { graceMs?: number } = {}): Promise<number> => {
  const scan = treeOf(marker, options)
  const found = new Set<string>()
  await endTree(() => {
    const members = scan()
    for (const { pid, startTime } of members) found.add(`${pid} ${startTime}`)
    return members
  }, options.graceMs ?? graceMs)
  dropMarks(options)
  return found.size
}

/** A process that could not be ended. */
export interface Survivor {
  pid: number
  name: string
}

export const survivorsIn = (members: readonly TreeMember[]): Survivor[] =>
  members.map(({ pid }) => ({ pid, name: programNameOf(pid) }))

/** Ends every remaining process of a run, and returns those that could not be ended. */
export const endRemaining = async (marker: string, signs: RunSigns): Promise<Survivor[]> => {
  const scan = treeOf(marker, signs)
  await endTree(scan, graceMs, patienceMs)
  dropMarks(signs)
  return survivorsIn(scan())
}
