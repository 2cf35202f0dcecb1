/** Looks whether the collected work weakened the tests it is judged by, or what its checks are: texts from the base commit and the collected tree. */
import type { Weakening } from '../../domain/run.ts'
import { changedChecks } from '../../recovery/check/changed.ts'
import { partsOf, type ReadText } from '../../recovery/check/parts.ts'
import { mayHoldTests, weakenedBy, type TextChange } from '../../recovery/weakened.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import type { Session } from '../core/session.ts'
import { laidPrograms } from './laid-programs.ts'

/** Each costs two looks into the object store. */
const maxFiles = 200

/** What an agent writes behind that is not read, so that no file of it costs time; that lines are gone is seen all the same. */
const maxText = 512 * 1024
/** A lockfile counts as a whole or not at all. */
const maxLockfile = 16 * 1024 * 1024
const lockfile = /(?:^|\/)(?:package|package-lock|npm-shrinkwrap)\.json$/
const mostOf = (path: string): number => (lockfile.test(path) ? maxLockfile : maxText)

/** One look for each file, however many checks call it. */
const readerOf = ({ context }: Session, commit: string): ReadText => {
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
  session: Session,
  found: ChangeList,
  commands: readonly string[],
): Promise<Weakening[]> => {
  const [before, after] = [readerOf(session, found.base), readerOf(session, found.tree)]
  const paths = found.changes.map(({ path }) => path)
  const checks = await changedChecks({ commands, paths, before, after })
  const counted = paths.filter((path) => mayHoldTests(path) || checks.asserting.has(path))
  const texts: TextChange[] = []
  for (const path of counted.slice(0, maxFiles))
    texts.push({ path, before: await before(path), after: await after(path) })
  return [...checks.found, ...weakenedBy(texts, checks.asserting)]
}

/** What installs for the checks put in the place of programs that the checks need. In the user's own folder nothing is installed by us. */
export const programsLaid = async (
  session: Session,
  found: ChangeList,
  commands: readonly string[],
): Promise<Weakening[]> => {
  const { context, goal, paths } = session
  if (goal.repoMode === 'direct') return []
  const changed = found.changes.map(({ path }) => path)
  const manifests = changed.filter((path) => /(?:^|\/)package\.json$/.test(path))
  const { words } = await partsOf(commands, readerOf(session, found.base), manifests)
  const place = { files: context.ports.files, clean: paths.checked, checkout: context.repository.root }
  return laidPrograms({ ...place, paths: changed, words })
}
