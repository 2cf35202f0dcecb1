/** CPU use of a launch's processes: the only sign that a program without output is still working. */
import { processorUseOf, type ProcessorUse } from '../platform/process.ts'
import { createTree, type TreeMember } from './find.ts'

export interface ProcessUsage extends TreeMember, ProcessorUse {}

/** CPU time and state of each process; a process that ends meanwhile is left out. */
export const processUsage = (members: readonly TreeMember[]): ProcessUsage[] =>
  members.flatMap((member) => {
    const use = processorUseOf(member.pid)
    return use === undefined ? [] : [{ ...member, ...use }]
  })

/** The same for every live process with this marker. */
export const treeUsage = (marker: string): ProcessUsage[] => processUsage(createTree(marker)())
