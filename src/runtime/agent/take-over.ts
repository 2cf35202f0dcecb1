/**
 * A run that ended because its account was at its limit, or the registry of its checks out of reach, did nothing wrong: the
 * next one, with the same harness or another, goes on from its files and is told what was done. In a folder that is worked on
 * in place the files are there anyway.
 */
import { lastLaunch, type Run } from '../../domain/run.ts'
import { madeBy } from '../../recovery/install.ts'
import { listRuns } from '../../store/run.ts'
import type { Laid } from '../../workspace/lay-over.ts'
import { runPaths } from '../core/context.ts'
import { readOutput } from './denials.ts'
import { harnessNamed } from '../harness/harness-choice.ts'
import { mendWorkspace } from './re-entry.ts'
import type { Session } from '../core/session.ts'
import { handOverFile, listChanges } from './work-so-far.ts'

const limited: readonly (string | undefined)[] = ['quota_failure', 'account_limited']

/** A signature begins with code and label. */
const outage = 'environment_issue/network_unreachable: '

const isOutage = ({ errorMeta }: Pick<Run, 'errorMeta'>): boolean => errorMeta?.signature.startsWith(outage) === true

/** Ended by neither their work nor a limit: they say nothing, and the one before them still counts. */
const cutShort: readonly (string | undefined)[] = ['interrupted', 'paused']

/** The run of the task before this number, if a limit or an outage ended it. */
export const heldUpBefore = (
  runs: readonly Pick<Run, 'number' | 'errorMeta'>[],
  number: number,
): { number: number } | undefined => {
  const before = runs
    .filter((run) => run.number < number && !cutShort.includes(run.errorMeta?.failureCode))
    .toSorted((one, other) => one.number - other.number)
    .at(-1)
  return before !== undefined && (limited.includes(before.errorMeta?.failureCode) || isOutage(before))
    ? before
    : undefined
}

const longestWords = 300

const lastWords = ({ context }: Session, before: Run): string => {
  const launch = lastLaunch(before)
  const dir = runPaths(context, before.id).launch(launch?.number ?? 1)
  // Another engine's run has its output there.
  if (launch === undefined || !context.ports.files.existsSync(dir)) return ''
  const { driver } = harnessNamed(context.config(), before.harness)
  return readOutput(context, driver, dir).lastText.trim().slice(0, longestWords)
}

/** What the next agent is told. */
const handOverOf = (session: Session, before: Run, { laid, left }: Laid): string => {
  const words = lastWords(session, before)
  const why = isOutage(before) ? 'because a network was out of reach for its checks' : 'by a limit of its account'
  return [
    `The attempt before this one (harness ${before.harness}) was ended ${why}, not by its work. What it changed is in the workspace already, unchecked ("git status" and "git diff" show it). Go on from there; do not begin again.`,
    listChanges(laid),
    ...(left.length === 0
      ? []
      : [`Not taken over, because others have changed it meanwhile: ${left.slice(0, 10).join(', ')}`]),
    ...(words === '' ? [] : [`Its last words: ${words}`]),
  ].join('\n')
}

/** Lays the newest snapshot of that run over this one's workspace; undefined = it left nothing. */
const layOver = async ({ context, paths }: Session, before: Run, base: string): Promise<Laid | undefined> => {
  const { git } = context.ports
  if (before.baseCommit === null) return undefined
  const snapshot = (await git.listSnapshots(context.shadow, before.id)).at(-1)
  if (snapshot === undefined) return undefined
  // A repository that does not ignore its packages has them in the snapshot; the next run installs its own.
  const exclude = madeBy(before.verdict?.installed ?? []).map((pattern) => pattern.slice(1))
  const request = { snapshot: snapshot.commit, from: before.baseCommit, onto: base, into: paths.workspace, exclude }
  const over = await git.layOver(context.shadow, request)
  return over.laid.length + over.left.length === 0 ? undefined : over
}

/** Part of phase `prepare`, on a workspace that was just made. */
export const takeOver = async (session: Session, base: string): Promise<void> => {
  const { context, paths, run } = session
  const { files } = context.ports
  files.rmSync(handOverFile(paths), { force: true })
  const runs = await listRuns(context.db, { taskId: run.taskId })
  const number = heldUpBefore(runs, run.number)?.number
  const before = runs.find((one) => one.number === number)
  const over = before === undefined ? undefined : await layOver(session, before, base)
  if (before === undefined || over === undefined) return
  await mendWorkspace(session)
  files.writeFileSync(handOverFile(paths), handOverOf(session, before, over))
  context.log.info(
    { run: run.id, from: before.id, files: over.laid.length },
    'the work of a run that was held up was taken over',
  )
}
