/** Ends what a run left running whose shims are gone, and tells what could not be ended. */
import { dropMark, markOf } from '../platform/mark.ts'
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

/** Those of another machine or boot left nothing here. */
const shimsHere = ({ shims = [] }: RunSigns): ProcessIdentity[] => shims.filter(isOfThisBoot)

const treeOf = (marker: string, signs: RunSigns): (() => Member[]) => {
  const here = shimsHere(signs)
  return createTree(marker, undefined, {
    ...{ marks: here.map(markOf), folder: signs.folder, since: here[0]?.startTime },
  })
}

const dropMarks = (signs: RunSigns): void => {
  for (const shim of shimsHere(signs)) dropMark(markOf(shim))
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
  dropMarks(options)
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
  dropMarks(signs)
  return survivorsIn(look())
}
