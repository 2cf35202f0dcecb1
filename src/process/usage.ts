/** What the tree of a launch uses: the sign of life of a program that prints nothing. */
import { cpuMsOf } from '../platform.ts'
import { createTree, type Member } from './find.ts'

export interface ProcessUsage extends Member {
  /** With that of its children that ended, so that short-lived ones count. */
  cpuMs: number
}

/** Each of these processes with its CPU time so far; one that ends while it is looked at is left out. */
export const usageOf = (members: readonly Member[]): ProcessUsage[] =>
  members.flatMap((member) => {
    const cpuMs = cpuMsOf(member.pid)
    return cpuMs === undefined ? [] : [{ ...member, cpuMs }]
  })

/** The same for every live process of a launch. */
export const treeUsage = (marker: string): ProcessUsage[] => usageOf(createTree(marker)())
