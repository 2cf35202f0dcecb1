/** Files that checks run or name: the programs of the checks themselves. */
import { withTargets } from '../check/changed-checks.ts'
import { partsOf, type ReadText } from '../check/check-parts.ts'

/** Of commands, in any of the trees that `reads` read. `manifests`: changed package.json files, whose scripts count as well. */
export const filesRunByChecks = async (
  reads: readonly ReadText[],
  commands: readonly string[],
  manifests: readonly string[] = [],
): Promise<Set<string>> => {
  const all = new Set<string>()
  for (const read of reads) {
    const { files, configurations } = await partsOf(commands, read, manifests)
    for (const path of await withTargets(read, new Set([...files, ...configurations]))) all.add(path)
  }
  return all
}
