/** The checks that the checkout of this command line declares, and what is said about those that are not run. */
import type { GoalView } from '../../api/contract.ts'
import { checksFor, type InferredChecks } from '../../runtime/checks/infer-below.ts'
import { filesOfFolder, inferChecks, isManifestOfChecks } from '../../runtime/checks/infer-from-files.ts'
import { programsOn, type HasProgram } from '../../runtime/core/find-program.ts'
import { realFiles } from '../../runtime/core/files.ts'
import type { Repository } from '../../workspace/repository-types.ts'
import { filesOfCommit, type FilesOfCommit } from '../../workspace/contents.ts'
import type { Home } from '../engine/home.ts'

const filesHere = async (repository: Repository): Promise<FilesOfCommit> => {
  const { head, commonDir, root } = repository
  const committed =
    head === null || commonDir === null
      ? { names: [], texts: new Map<string, string>() }
      : await filesOfCommit(repository, head, isManifestOfChecks)
  return filesOfFolder(realFiles, root, committed)
}

/** Those that this machine can start, as far as it can start one. */
export const inferHere = async (repository: Repository, path: string | undefined): Promise<InferredChecks> =>
  inferChecks(await filesHere(repository), programsOn(realFiles, path))

const commandsIn = ({ top, stacks }: InferredChecks): string[] => [
  ...top,
  ...stacks.flatMap(({ commands }) => commands),
]

const hasAll: HasProgram = () => true

/** What is inferred and not run is no secret: checks whose program is not here, and folders that no check covers. */
export const notRunLines = async (
  { repository, worktree }: Home,
  tasks: readonly Pick<GoalView['tasks'][number], 'allowedPaths' | 'commandSource'>[],
  path: string | undefined,
): Promise<string[]> => {
  const inferred = tasks.filter(({ commandSource }) => commandSource === 'inferred')
  if (repository.url !== undefined || inferred.length === 0) return []
  const found = await filesHere(worktree ?? repository)
  const here = await inferChecks(found, programsOn(realFiles, path))
  const started = commandsIn(here)
  const unstartable = commandsIn(await inferChecks(found, hasAll)).filter((command) => !started.includes(command))
  const plans = inferred.map(({ allowedPaths }) => checksFor(here, allowedPaths))
  const left = [...new Set(plans.flatMap((plan) => plan.left))]
  const all = new Set([...plans.flatMap(({ commands }) => commands), ...left.flatMap(({ commands }) => commands)])
  return [
    ...(unstartable.length === 0
      ? []
      : [`Not run, because its program is not on your PATH: ${unstartable.join(', ')}`]),
    ...(left.length === 0
      ? []
      : [
          `Not checked, because no check runs in it: ${left.map(({ folder }) => folder).join(', ')}. To check it as well: "verify": {"commands": ${JSON.stringify([...all])}} in .unstuck/config.json`,
        ]),
  ]
}
