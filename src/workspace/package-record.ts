/** Record of the pool trees in a workspace. Stored next to it, because an agent may change everything inside. */
import { writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { readRegularText } from '../platform/regular-file.ts'

export const treesFile = (workspace: string): string => `${workspace}.dependencies.json`

const recordShape = z.object({
  cacheDir: z.string(),
  trees: z.array(z.object({ folder: z.string(), key: z.string(), own: z.literal(true).optional() })),
})

type PoolRecord = z.infer<typeof recordShape>

/** `own`: an install of Unstuck made it; absent = it comes from the user's checkout. */
type PoolTree = PoolRecord['trees'][number]

export const readTrees = async (workspace: string): Promise<PoolRecord | undefined> => {
  try {
    return recordShape.parse(JSON.parse(await readRegularText(treesFile(workspace))))
  } catch {
    return undefined // no pool tree, or a crash left half of the record: then the tree does not return to the pool
  }
}

export const recordTree = async (
  { workspace, cacheDir }: { workspace: string; cacheDir: string },
  tree: PoolTree,
): Promise<void> => {
  const earlier = (await readTrees(workspace))?.trees ?? []
  const trees = [...earlier.filter(({ folder }) => folder !== tree.folder), tree]
  await writeFile(treesFile(workspace), JSON.stringify({ cacheDir, trees }), { mode: 0o600 })
}
