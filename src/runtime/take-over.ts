/**
 * A run that ended because its account was at its limit, or the registry of its checks out of reach, did nothing wrong: the
 * next one, with the same harness or another, goes on from its files and is told what was done. In a folder that is worked on
 * in place the files are there anyway.
 */
import { lastLaunch, type Run } from '../domain/run.ts'
import { madeBy } from '../recovery/install.ts'
import { listRuns } from '../store/run.ts'
import { runPaths } from './context.ts'
import { readOutput } from './denials.ts'
import { harnessNamed } from './harness-choice.ts'
import { mendWorkspace } from './re-entry.ts'
import type { Session } from './session.ts'
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

/** Part of phase `prepare`, on a workspace that was just made. */
export const takeOver = async (session: Session, base: string): Promise<void> => {
  const { context, paths } = session
  const { files, git } = context.ports
  files.rmSync(handOverFile(paths), { force: true })
  const runs = await listRuns(context.db, { taskId: session.run.taskId })
  const number = heldUpBefore(runs, session.run.number)?.number
  const before = runs.find((run) => run.number === number)
  if (before?.baseCommit === undefined || before.baseCommit === null) return
  const snapshot = (await git.listSnapshots(context.shadow, before.id)).at(-1)
  if (snapshot === undefined) return
  // A repository that does not ignore its packages has them in the snapshot; the next run installs its own.
  const exclude = madeBy(before.verdict?.installed ?? []).map((pattern) => pattern.slice(1))
  const request = { snapshot: snapshot.commit, from: before.baseCommit, onto: base, into: paths.workspace, exclude }
  const { laid, left } = await git.layOver(context.shadow, request)
  if (laid.length + left.length === 0) return
  await mendWorkspace(session)
  const words = lastWords(session, before)
  const why = isOutage(before) ? 'because a network was out of reach for its checks' : 'by a limit of its account'
  const text = [
    `The attempt before this one (harness ${before.harness}) was ended ${why}, not by its work. What it changed is in the workspace already, unchecked ("git status" and "git diff" show it). Go on from there; do not begin again.`,
    listChanges(laid),
    ...(left.length === 0
      ? []
      : [`Not taken over, because others have changed it meanwhile: ${left.slice(0, 10).join(', ')}`]),
    ...(words === '' ? [] : [`Its last words: ${words}`]),
  ].join('\n')
  files.writeFileSync(handOverFile(paths), text)
  context.log.info(
    { run: session.run.id, from: before.id, files: laid.length },
    'the work of a run that was held up was taken over',
  )
}
