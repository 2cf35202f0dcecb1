/**
 * Finds whether the collected work weakened its own tests or changed what its checks do, by comparing texts of the base commit with
 * texts of the collected tree.
 */
import type { Weakening } from '../../domain/run.ts'
import { changedChecks } from '../../recovery/check/changed-checks.ts'
import { partsOf, type ReadText } from '../../recovery/check/check-parts.ts'
import { mayHoldTests, weakeningsIn, type TextChange } from '../../recovery/weakened.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import type { RunContext } from '../core/run-context.ts'
import { replacedPrograms } from './replaced-programs.ts'

/** Files that are compared at most: each costs two reads from the object store. */
const maxFiles = 200

/** Characters read of a file. The rest is ignored, so that a huge file costs no time; removed lines before it are found anyway. */
const maxText = 512 * 1024
/** Characters of a lockfile, which can only be parsed as a whole. */
const maxLockfile = 16 * 1024 * 1024
const lockfile = /(?:^|\/)(?:package|package-lock|npm-shrinkwrap)\.json$/
const mostOf = (path: string): number => (lockfile.test(path) ? maxLockfile : maxText)

/** Reads each file once, although several checks may call it. */
const readerOf = ({ context }: RunContext, commit: string): ReadText => {
  const read = new Map<string, Promise<string | undefined>>()
  return (path) => {
    const text =
      read.get(path) ??
      context.ports.git.textAt(context.shadow, commit, path).then((whole) => whole?.slice(0, mostOf(path)))
    read.set(path, text)
    return text
  }
}

export const weakenedIn = async (
  runContext: RunContext,
  found: ChangeList,
  commands: readonly string[],
): Promise<Weakening[]> => {
  const [before, after] = [readerOf(runContext, found.base), readerOf(runContext, found.tree)]
  const paths = found.changes.map(({ path }) => path)
  const checks = await changedChecks({ commands, paths, before, after })
  const counted = paths.filter((path) => mayHoldTests(path) || checks.asserting.has(path))
  const texts: TextChange[] = []
  for (const path of counted.slice(0, maxFiles))
    texts.push({ path, before: await before(path), after: await after(path) })
  return [...checks.found, ...weakeningsIn(texts, checks.asserting)]
}

/** Programs that installed packages put in the place of programs of the checks. Empty in direct mode, where nothing is installed. */
export const replacedProgramsIn = async (
  runContext: RunContext,
  found: ChangeList,
  commands: readonly string[],
): Promise<Weakening[]> => {
  const { context, goal, paths } = runContext
  if (goal.repoMode === 'direct') return []
  const changed = found.changes.map(({ path }) => path)
  const manifests = changed.filter((path) => /(?:^|\/)package\.json$/.test(path))
  const { words } = await partsOf(commands, readerOf(runContext, found.base), manifests)
  const folders = { files: context.ports.files, clean: paths.checked, checkout: context.repository.root }
  return replacedPrograms({ ...folders, paths: changed, words })
}
