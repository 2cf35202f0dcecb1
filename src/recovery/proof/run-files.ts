/** Files that checks run or name: the programs of the checks themselves. */
import { withTargets } from '../check/changed-checks.ts'
import { partsOf, type ReadText } from '../check/check-parts.ts'

/**
 * Of commands, in any of the trees that `reads` read, with all words of the commands. `manifests`: changed package.json files, whose
 * scripts count as well.
 */
export const filesRunByChecks = async (
  reads: readonly ReadText[],
  commands: readonly string[],
  manifests: readonly string[] = [],
): Promise<{ run: Set<string>; words: Set<string> }> => {
  const [run, words] = [new Set<string>(), new Set<string>()]
  for (const read of reads) {
    const parts = await partsOf(commands, read, manifests)
    for (const word of parts.words) words.add(word)
    for (const path of await withTargets(read, new Set([...parts.files, ...parts.configurations]))) run.add(path)
  }
  return { run, words }
}
