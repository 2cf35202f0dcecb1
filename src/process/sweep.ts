/** Ends what a run left running whose shims are gone, and tells what could not be ended. */
import { markOf } from '../platform/mark.ts'
import { isOfThisBoot, programNameOf, type ProcessIdentity } from '../platform/process.ts'
import { createTree, type Member } from './find.ts'
import { endTree } from './stop.ts'

const graceMs = 5_000
/** A process that SIGKILL did not end by then is another user's, or hangs in the kernel. */
const patienceMs = 5_000

/** What leads to the processes of a run besides its marker. */
export interface RunSigns {
  /** The shims of its launches, in order, whose marks their programs carry. */
  shims?: readonly ProcessIdentity[]
  /** A folder in which nothing but the run works. */
  folder?: string
}

const treeOf = (marker: string, { shims = [], folder }: RunSigns): (() => Member[]) => {
  // One of another machine or boot left nothing here.
  const here = shims.filter(isOfThisBoot)
  return createTree(marker, undefined, { marks: here.map(markOf), folder, since: here[0]?.startTime })
}

/** Ends every process of a launch whose shim is lost; gives how many there were. */
export const sweep = async (marker: string, options: RunSigns & { graceMs?: number } = {}): Promise<number> => {
  const look = treeOf(marker, options)
  const met = new Set<string>()
  await endTree(() => {
    const members = look()
    for (const { pid, startTime } of members) met.add(`${pid} ${startTime}`)
    return members
  }, options.graceMs ?? graceMs)
  return met.size
}

/** A process that goes on whatever is done about it. */
export interface Survivor {
  pid: number
  name: string
}

export const survivorsIn = (members: readonly Member[]): Survivor[] =>
  members.map(({ pid }) => ({ pid, name: programNameOf(pid) }))

/** Ends every process of a run that is still there; gives those that cannot be ended. */
export const endLeft = async (marker: string, signs: RunSigns): Promise<Survivor[]> => {
  const look = treeOf(marker, signs)
  await endTree(look, graceMs, patienceMs)
  return survivorsIn(look())
}
