/** The record of a workspace's submodules, stored next to it: which commit was checked out where, and whose objects it borrows. */
import { z } from 'zod'
import { readRegularText } from '../platform/regular-file.ts'

const recordShape = z.array(z.object({ path: z.string(), commit: z.string(), objects: z.string().nullable() }))

/** `objects` null = the submodule could not be checked out, so its folder is empty. */
export type SubmoduleRecord = z.infer<typeof recordShape>[number]

export const submoduleRecordPath = (workspace: string): string => `${workspace}.submodules.json`

/** Empty if the folder is not a workspace of Unstuck. */
export const readSubmodules = async (workspace: string): Promise<SubmoduleRecord[]> => {
  try {
    return recordShape.parse(JSON.parse(await readRegularText(submoduleRecordPath(workspace))))
  } catch {
    return [] // there are none, or the workspace was not finished
  }
}
