/** What a path would be in the proof of a change: its subject, or an instrument of the checks. */
import { listsDependencies } from '../recovery/proof/manifests.ts'
import { filesRunByChecks } from '../recovery/proof/run-files.ts'
import { partOf, type ChangePart } from '../recovery/proof/split.ts'
import { lastCommitOf } from '../workspace/path-facts.ts'
import type { Repository } from '../workspace/repository-types.ts'

const meanings: Record<ChangePart, string> = {
  subject: 'subject: what the work is about; a check must fail without its change',
  instrument: 'instrument: what the checks measure with; its change proves nothing by itself',
  documentation: 'documentation: takes no part',
}

/** By the owner's last commit and the commands of a task, if one is named. */
export const proofPartOf = async (
  repository: Repository,
  path: string,
  commands: readonly string[],
): Promise<{ part: ChangePart; meaning: string }> => {
  const { paths, read } = await lastCommitOf(repository)
  const added = !paths.includes(path)
  const request = {
    changed: [{ path, added }],
    base: paths,
    run: await filesRunByChecks([read], commands),
    dependencies: new Set<string>(),
  }
  const part = partOf(request, path, added)
  const but = part === 'instrument' && listsDependencies(path) ? ' (a change of its dependencies alone is subject)' : ''
  return { part, meaning: `${meanings[part]}${but}` }
}
