/** What stands beside a workspace about its submodules: which commit was laid where, and whose objects it borrows. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'

const recordShape = z.array(z.object({ path: z.string(), commit: z.string(), objects: z.string().nullable() }))

/** `objects` null = it could not be laid, and its folder is empty. */
export type SubmoduleRecord = z.infer<typeof recordShape>[number]

export const recordOf = (workspace: string): string => `${workspace}.submodules.json`

/** None where the folder is no workspace of ours. */
export const readSubmodules = async (workspace: string): Promise<SubmoduleRecord[]> => {
  try {
    return recordShape.parse(JSON.parse(await readFile(recordOf(workspace), 'utf8')))
  } catch {
    return [] // there are none, or the workspace was not finished
  }
}
