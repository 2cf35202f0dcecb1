/**
 * Every attempt after the first continues from the files of the attempt before, and its agent gets a report: how that attempt ended
 * and what was tried. In direct mode the files are in the folder anyway. Without this each attempt would start from nothing.
 */
import { taskNameInside } from '../../domain/task-title.ts'
import { lastLaunch, type Run } from '../../domain/run.ts'
import { installedPatterns } from '../../recovery/install.ts'
import { recoveriesOfRun } from '../../store/recovery.ts'
import { listRuns } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import type { OverlayResult } from '../../workspace/overlay.ts'
import type { Snapshot } from '../../workspace/repository-types.ts'
import { runPaths, type Context } from '../core/context.ts'
import { triedLines } from '../core/tried.ts'
import { readOutput } from './denials.ts'
import { harnessNamed } from '../harness/harness-choice.ts'
import { repairWorkspace } from './repair-workspace.ts'
import { effectiveMatcher } from '../core/effective-paths.ts'
import type { RunContext } from '../core/run-context.ts'
import { bringFinishedWork } from './finished-work.ts'
import { earlierReportFile, hasCommits, listChanges } from './progress-summary.ts'

const limited: readonly (string | undefined)[] = ['quota_failure', 'account_limited']

/** Beginning of a signature: failure code and label. */
const outage = 'environment_issue/network_unreachable: '

const isOutage = ({ errorMeta }: Pick<Run, 'errorMeta'>): boolean => errorMeta?.signature.startsWith(outage) === true

/** Attempts that ended for a reason outside the work: they teach nothing, so the attempt before them is used. */
const cutShort: readonly (string | undefined)[] = ['interrupted', 'paused']

/** The attempt from which a run of this number continues; undefined = none. */
export const attemptBefore = <R extends Pick<Run, 'number' | 'errorMeta'>>(
  runs: readonly R[],
  number: number,
): R | undefined =>
  runs
    .filter((run) => run.number < number && !cutShort.includes(run.errorMeta?.failureCode))
    .toSorted((one, other) => one.number - other.number)
    .at(-1)

/**
 * A loop continues with the turn that the run before it had reached, however that run ended, so its iterations are not done again. The
 * newest run with work is that of a person, who gave it back, or of agents.
 */
export const loopBefore = <R extends Pick<Run, 'number' | 'launches' | 'tree'>>(
  runs: readonly R[],
  number: number,
): R | undefined => runs.findLast((run) => run.number < number && (run.launches.length > 0 || run.tree !== null))

const longestWords = 300
const longestEnding = 700
const mostTried = 6

/** What the agent of an ended run said last; '' where its output is not here. */
export const lastWords = (context: Context, before: Run): string => {
  const launch = lastLaunch(before)
  const dir = runPaths(context, before.id).launch(launch?.number ?? 1)
  // The output of a run on another host is not here.
  if (launch === undefined || !context.ports.files.existsSync(dir)) return ''
  const { driver } = harnessNamed(context.config(), before.harness)
  return readOutput(context, driver, dir).lastText.trim().slice(0, longestWords)
}

/** For the next agent: why the attempt ended. */
const endingOf = (before: Run): string => {
  if (isOutage(before)) return 'because its checks could not reach the network, not because of its work'
  const { failureCode, evidence = '', message = '' } = before.errorMeta ?? {}
  if (failureCode === 'agent_question') return `with a question to a person: ${evidence.slice(0, longestEnding)}`
  if (limited.includes(failureCode)) return 'by a limit of its account, not by its work'
  return message === '' ? 'and its work was not merged' : `with ${message.slice(0, longestEnding)}`
}

const triedBefore = async ({ context }: RunContext, before: Run): Promise<string[]> => {
  const tried = (await recoveriesOfRun(context.db, before.id)).filter(({ action }) => action.type !== 'wait')
  if (tried.length === 0) return []
  return [`Recoveries in it that did not finish the task: ${triedLines(tried.slice(-mostTried)).join('; ')}.`]
}

/** Which of its files are in the workspace, and which are not. */
const leftOf = ({ written, kept }: OverlayResult): string[] => [
  ...(written.length === 0
    ? []
    : [
        'Its changes are in the workspace already, not checked yet (see "git status" and "git diff"). Read them first. Continue from them where they are right, and do not start over.',
        listChanges(written),
      ]),
  ...(kept.length === 0
    ? []
    : [`Left out, because others have changed these files meanwhile: ${kept.slice(0, 10).join(', ')}`]),
]

/** The hint for a launch that never started because the run ended first. */
const pendingHint = (before: Run): string[] => {
  const launch = lastLaunch(before)
  return launch === undefined || launch.gateOpened || launch.hint === null ? [] : [launch.hint]
}

const mostEndings = 3

/**
 * How often the task has failed, and with what. Without this an attempt that leaves the same files as the one before it would start
 * exactly like that one.
 */
const failuresSoFar = async ({ context, run }: RunContext): Promise<string[]> => {
  const failed = (await listRuns(context.db, { taskId: run.taskId, state: 'failed' })).filter(
    ({ number, errorMeta }) =>
      number < run.number && !limited.includes(errorMeta?.failureCode) && !cutShort.includes(errorMeta?.failureCode),
  )
  if (failed.length < 2) return []
  const endings = [...new Set(failed.map(({ errorMeta }) => (errorMeta?.message ?? '').slice(0, longestWords)))]
  return [
    `${failed.length} attempts at this task have failed so far. Take another approach than they did. They ended with: ${endings.slice(-mostEndings).join(' | ')}`,
  ]
}

const leftOutLines = ({ verdict }: Run): string[] => {
  const paths = (verdict?.excluded ?? []).map(({ path }) => path)
  return paths.length === 0
    ? []
    : [`These files are no part of the work, do not change them again: ${paths.join(', ')}`]
}

/** The report for the next agent. */
const handOverOf = async (
  runContext: RunContext,
  { before, of }: { before: Run; of: string },
  over: OverlayResult,
): Promise<string> => {
  const words = lastWords(runContext.context, before)
  return [
    before.launches.length === 0
      ? `A person worked on this task before you; that ended ${endingOf(before)}.`
      : `The attempt before this one${of} (harness ${before.harness}) ended ${endingOf(before)}.`,
    ...(await failuresSoFar(runContext)),
    ...leftOutLines(runContext.run),
    ...(await triedBefore(runContext, before)),
    ...pendingHint(before),
    ...leftOf(over),
    ...(words === '' ? [] : [`Its last words: ${words}`]),
  ].join('\n')
}

/** The attempt to continue from. A task that continues another one begins with the last attempt at that one. */
const earlierRun = async ({ context, task, run }: RunContext): Promise<{ before: Run | undefined; of: string }> => {
  const runs = await listRuns(context.db, { taskId: run.taskId })
  const own = task.kind === 'loop' ? loopBefore(runs, run.number) : attemptBefore(runs, run.number)
  if (own !== undefined || task.rework === null) return { before: own, of: '' }
  const parent = await getTask(context.db, task.rework.parent)
  const before = attemptBefore(await listRuns(context.db, { taskId: task.rework.parent }), Number.POSITIVE_INFINITY)
  return {
    before,
    of: parent === undefined ? '' : ` at ${taskNameInside(parent)}, which this task continues`,
  }
}

/** Whether the attempt to continue from ended before its work was finished. What is finished is in its commit. */
export const hasUnfinishedAttempt = async (runContext: RunContext): Promise<boolean> => {
  const { before } = await earlierRun(runContext)
  return before !== undefined && before.state !== 'success'
}

const nothing: OverlayResult = { written: [], kept: [] }

/**
 * The commit that holds the work of an ended run; null = none is kept. A snapshot from the middle of a run is older than the commit of its
 * finished work, and may hold changes that were put back. Only one that was taken after the end, of a person's changes, is newer.
 */
export const workOf = (
  { state, commit, endedAt }: Pick<Run, 'state' | 'commit' | 'endedAt'>,
  newest: Pick<Snapshot, 'commit' | 'at'> | undefined,
): string | null => {
  if (newest === undefined || state !== 'success' || commit === null) return newest?.commit ?? commit
  return endedAt !== null && new Date(newest.at) > endedAt ? newest.commit : commit
}

/** Applies the work of that run to this run's workspace. */
export const restoreEarlierWork = async (
  context: Context,
  before: Run,
  { allows, ...place }: { onto: string; into: string; allows?: (path: string) => boolean },
): Promise<OverlayResult> => {
  const { git } = context.ports
  if (before.baseCommit === null) return nothing
  const snapshot = workOf(before, (await git.listSnapshots(context.shadow, before.id)).at(-1))
  if (snapshot === null) return nothing
  const isHere =
    snapshot === before.commit
      ? await bringFinishedWork(context, before)
      : await hasCommits(context, [snapshot, before.baseCommit])
  if (!isHere) return nothing
  // In a repository that does not ignore its packages the snapshot holds them. They are left out: the next run installs its own.
  const packages = installedPatterns(before.verdict?.installed ?? []).map((pattern) => pattern.slice(1))
  // Files outside the allowed paths would only be refused again, unless they were allowed meanwhile.
  const outside = (before.errorMeta?.policyViolations ?? []).flatMap(({ path, kind }) =>
    kind === 'outside' && allows?.(path) === true ? [] : [path],
  )
  const excluded = (before.verdict?.excluded ?? []).map(({ path }) => path.replace(/\/$/, ''))
  return git.layOver(context.shadow, {
    ...{ snapshot, from: before.baseCommit, ...place },
    exclude: [...packages, ...outside, ...excluded],
  })
}

/** Part of phase `prepare`, on a fresh workspace: restores the files and writes the report. */
export const resumeFromEarlier = async (runContext: RunContext, base: string): Promise<void> => {
  const { context, goal, paths, run } = runContext
  const { files, git } = context.ports
  files.rmSync(earlierReportFile(paths), { force: true })
  const { before, of } = await earlierRun(runContext)
  if (before === undefined) return
  // An attempt that was claimed and never launched has nothing to report, unless it holds a person's work.
  if (before.launches.length === 0 && (await git.listSnapshots(context.shadow, before.id)).length === 0) return
  const over =
    goal.repoMode === 'direct'
      ? nothing
      : await restoreEarlierWork(context, before, {
          ...{ onto: base, into: paths.workspace },
          allows: await effectiveMatcher(runContext),
        })
  if (over.written.length > 0) await repairWorkspace(runContext)
  files.writeFileSync(earlierReportFile(paths), await handOverOf(runContext, { before, of }, over))
  context.log.info(
    { run: run.id, from: before.id, files: over.written.length },
    'the run continues from the one before it',
  )
}
