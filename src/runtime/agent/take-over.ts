/**
 * Every attempt after the first goes on from the files of the one before, where it left any, and is told how that one ended and
 * what was tried. In a folder that is worked on in place the files are there anyway.
 */
import { lastLaunch, type Run } from '../../domain/run.ts'
import { madeBy } from '../../recovery/install.ts'
import { recoveriesOfRun } from '../../store/recovery.ts'
import { listRuns } from '../../store/run.ts'
import type { Laid } from '../../workspace/lay-over.ts'
import { runPaths, type Context } from '../core/context.ts'
import { readOutput } from './denials.ts'
import { harnessNamed } from '../harness/harness-choice.ts'
import { mendWorkspace } from './re-entry.ts'
import type { Session } from '../core/session.ts'
import { handOverFile, hasCommits, listChanges } from './work-so-far.ts'

const limited: readonly (string | undefined)[] = ['quota_failure', 'account_limited']

/** A signature begins with code and label. */
const outage = 'environment_issue/network_unreachable: '

const isOutage = ({ errorMeta }: Pick<Run, 'errorMeta'>): boolean => errorMeta?.signature.startsWith(outage) === true

/** Ended by neither their work nor a limit: they say nothing, and the one before them still counts. */
const cutShort: readonly (string | undefined)[] = ['interrupted', 'paused']

/** The attempt whose work and ending a run of this number has to know. */
export const attemptBefore = <R extends Pick<Run, 'number' | 'errorMeta'>>(
  runs: readonly R[],
  number: number,
): R | undefined =>
  runs
    .filter((run) => run.number < number && !cutShort.includes(run.errorMeta?.failureCode))
    .toSorted((one, other) => one.number - other.number)
    .at(-1)

const longestWords = 300
const longestEnding = 700
const mostTried = 6

const lastWords = ({ context }: Session, before: Run): string => {
  const launch = lastLaunch(before)
  const dir = runPaths(context, before.id).launch(launch?.number ?? 1)
  // Another engine's run has its output there.
  if (launch === undefined || !context.ports.files.existsSync(dir)) return ''
  const { driver } = harnessNamed(context.config(), before.harness)
  return readOutput(context, driver, dir).lastText.trim().slice(0, longestWords)
}

/** In words for the next agent: why the attempt ended. */
const endingOf = (before: Run): string => {
  if (isOutage(before)) return 'because a network was out of reach for its checks, not by its work'
  const { failureCode, message = '' } = before.errorMeta ?? {}
  if (limited.includes(failureCode)) return 'by a limit of its account, not by its work'
  return message === '' ? 'and its work did not land' : `with ${message.slice(0, longestEnding)}`
}

const triedBefore = async ({ context }: Session, before: Run): Promise<string[]> => {
  const tried = (await recoveriesOfRun(context.db, before.id)).filter(({ action }) => action.type !== 'wait')
  if (tried.length === 0) return []
  const named = tried
    .slice(-mostTried)
    .map(({ playbook, status, detail }) => `${playbook} (${status}: ${detail.slice(0, 100)})`)
  return [`Tried in it without getting the task done: ${named.join('; ')}.`]
}

/** What lies in the workspace of it, and what does not. */
const leftOf = ({ laid, left }: Laid): string[] => [
  ...(laid.length === 0
    ? []
    : [
        'What it changed is in the workspace already, unchecked ("git status" and "git diff" show it). Look at it first; go on from it where it is right, and do not begin again.',
        listChanges(laid),
      ]),
  ...(left.length === 0
    ? []
    : [`Not taken over, because others have changed it meanwhile: ${left.slice(0, 10).join(', ')}`]),
]

/** What the next launch of it would have been told, had the run not ended before. */
const pendingHint = (before: Run): string[] => {
  const launch = lastLaunch(before)
  return launch === undefined || launch.gateOpened || launch.hint === null ? [] : [launch.hint]
}

/** What the next agent is told. */
const handOverOf = async (session: Session, before: Run, over: Laid): Promise<string> => {
  const words = lastWords(session, before)
  return [
    before.launches.length === 0
      ? `A person worked on this task before you; that ended ${endingOf(before)}.`
      : `The attempt before this one (harness ${before.harness}) ended ${endingOf(before)}.`,
    ...(await triedBefore(session, before)),
    ...pendingHint(before),
    ...leftOf(over),
    ...(words === '' ? [] : [`Its last words: ${words}`]),
  ].join('\n')
}

const nothing: Laid = { laid: [], left: [] }

/** Lays the newest snapshot of that run, or else its commit, over this one's workspace. */
export const layOver = async (context: Context, before: Run, place: { onto: string; into: string }): Promise<Laid> => {
  const { git } = context.ports
  if (before.baseCommit === null) return nothing
  const snapshot = (await git.listSnapshots(context.shadow, before.id)).at(-1)?.commit ?? before.commit
  if (snapshot === null || !(await hasCommits(context, [snapshot, before.baseCommit]))) return nothing
  // A repository that does not ignore its packages has them in the snapshot; the next run installs its own.
  const packages = madeBy(before.verdict?.installed ?? []).map((pattern) => pattern.slice(1))
  // What its task may not change would only be refused again.
  const outside = (before.errorMeta?.policyViolations ?? []).map(({ path }) => path)
  return git.layOver(context.shadow, {
    ...{ snapshot, from: before.baseCommit, ...place },
    exclude: [...packages, ...outside],
  })
}

/** Part of phase `prepare`, on a workspace that was just made. */
export const takeOver = async (session: Session, base: string): Promise<void> => {
  const { context, goal, paths, run } = session
  const { files, git } = context.ports
  files.rmSync(handOverFile(paths), { force: true })
  const before = attemptBefore(await listRuns(context.db, { taskId: run.taskId }), run.number)
  if (before === undefined) return
  // One that was claimed and never launched left nothing and met nothing, unless a person's work was in it.
  if (before.launches.length === 0 && (await git.listSnapshots(context.shadow, before.id)).length === 0) return
  const over =
    goal.repoMode === 'direct' ? nothing : await layOver(context, before, { onto: base, into: paths.workspace })
  if (over.laid.length > 0) await mendWorkspace(session)
  files.writeFileSync(handOverFile(paths), await handOverOf(session, before, over))
  context.log.info({ run: run.id, from: before.id, files: over.laid.length }, 'the run goes on from the one before it')
}
