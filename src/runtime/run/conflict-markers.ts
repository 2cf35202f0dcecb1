/** Work that solves a conflict and still contains conflict markers never becomes a commit, whatever the checks say. */
import type { ChangeList } from '../../workspace/repository-types.ts'
import { conflictTaskOf } from '../agent/conflict-workspace.ts'
import type { RunContext } from '../core/run-context.ts'
import { requireLease } from '../../store/run.ts'
import { recover } from './carry-out.ts'
import type { PhaseResult } from './phase.ts'
import { resolveMarkers } from './resolve-feedback.ts'

/** As git writes them: seven characters at the start of a line. */
const begins = /^<{7}(?: |\r?$)/m
const ends = /^>{7}(?: |\r?$)/m

export const hasMarkers = (text: string): boolean => begins.test(text) || ends.test(text)

/** The changed files with markers that the base commit does not have: a text about merges may show some. */
const filesWithMarkers = async ({ context }: RunContext, { base, tree, changes }: ChangeList): Promise<string[]> => {
  const { git } = context.ports
  const found: string[] = []
  for (const { path, kind } of changes) {
    if (kind === 'deleted') continue
    const text = await git.textAt(context.shadow, tree, path)
    if (text === undefined || !hasMarkers(text)) continue
    if (!hasMarkers((await git.textAt(context.shadow, base, path)) ?? '')) found.push(path)
  }
  return found
}

/** The next phase, where markers are left; undefined = none are. */
export const refuseMarkers = async (runContext: RunContext, found: ChangeList): Promise<PhaseResult | undefined> => {
  const { context, run, task } = runContext
  if ((await conflictTaskOf(runContext, task)) === undefined) return undefined
  const paths = await filesWithMarkers(runContext, found)
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await resolveMarkers(tx, runContext, paths)
  })
  return paths.length === 0
    ? undefined
    : recover(runContext, { kind: 'markersLeft', paths }, { source: 'verification' })
}
