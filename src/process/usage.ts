/** What the tree of a launch uses: the sign of life of a program that prints nothing. */
import { processorUseOf, type ProcessorUse } from '../platform/process.ts'
import { createTree, type Member } from './find.ts'

export interface ProcessUsage extends Member, ProcessorUse {}

/** Each of these processes with what it used so far; one that ends while it is looked at is left out. */
export const usageOf = (members: readonly Member[]): ProcessUsage[] =>
  members.flatMap((member) => {
    const use = processorUseOf(member.pid)
    return use === undefined ? [] : [{ ...member, ...use }]
  })

/** The same for every live process of a launch. */
export const treeUsage = (marker: string): ProcessUsage[] => usageOf(createTree(marker)())
