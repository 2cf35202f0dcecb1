/**
 * A run without an agent: the work exists already, as the head of a branch or the commit of a merge entry. It is put onto the goal branch
 * and then collected, checked and judged as any other work. A commit that was judged before is not brought before the judge again.
 */
import { subjectText, type TaskReview } from '../../domain/task-review.ts'
import { keptVerdict } from '../../domain/run.ts'
import { AppError } from '../../errors.ts'
import { mustSucceed } from '../../store/db.ts'
import { mergeNumbered } from '../../store/merge.ts'
import { recordHead, verdictOn } from '../../store/judged-run.ts'
import { requireLease, saveRun } from '../../store/run.ts'
import { recordPrepared } from '../agent/prepared.ts'
import { makeFreshWorkspace } from '../checks/fresh-workspace.ts'
import { goalBranch } from '../core/context.ts'
import { branchHead } from '../core/review-head.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'
import type { PhaseResult } from './phase.ts'
import { bringBase } from './remote-run.ts'

const problem = (text: string): AppError => new AppError('REPOSITORY_STATE', text)

const placeText = ({ context, goal }: RunContext): string =>
  goal.repoMode === 'remote' ? (context.remote?.url ?? 'the remote') : context.repository.root

/** The commit that is reviewed. */
const subjectOf = async (runContext: RunContext, review: TaskReview): Promise<string> => {
  const { context, goal } = runContext
  if ('branch' in review) {
    const head = await branchHead(context, goal, review.branch)
    if (head !== undefined) return head
    throw problem(
      `there is no branch ${review.branch} in ${placeText(runContext)} to review; create it, and it is reviewed by itself, or cancel the task`,
    )
  }
  const entry = await mergeNumbered(context.db, review.mergeEntry)
  if (entry === undefined)
    throw problem(
      `there is no merge entry ${review.mergeEntry}; cancel the task, or make one that reviews another entry`,
    )
  const { commit } = entry
  const { git } = context.ports
  if (await git.isCommitOf(context.repository, { commit, below: null, not: null })) return commit
  if (await git.isCommitOf(context.shadow.gitDir, { commit, below: null, not: null })) {
    await git.bringObjects(context.repository, context.shadow, { from: goal.baseCommit, to: commit })
    return commit
  }
  throw problem(
    `commit ${commit} of merge entry ${review.mergeEntry} is not in ${placeText(runContext)}; retry its own task ${entry.taskId} instead`,
  )
}

const correctionText = ({ goal }: RunContext, review: TaskReview): string => {
  if (!('branch' in review)) return 'retry the task of that merge entry'
  // Not onto its own target: what conflicts may be on the goal branch alone.
  const rebased = `rebase ${review.branch} onto ${goalBranch(goal)}`
  return goal.repoMode === 'remote' ? `${rebased} and push it again` : rebased
}

/** A verdict is final for its commit, so asking again would only repeat it. */
const refuseSecondReview = async ({ context, task }: RunContext, review: TaskReview, commit: string): Promise<void> => {
  const before = await verdictOn(context.db, task, commit)
  if (before === undefined || before.verdict === 'approve') return
  const next = 'branch' in review ? `push a correction to ${review.branch}` : 'retry the task of that merge entry'
  throw problem(
    `commit ${commit.slice(0, 12)} of ${subjectText(review)} was reviewed and not approved: ${before.reason}; ${next}, or cancel the task`,
  )
}

/** Stored before the work is laid out, so that a crash leaves a run that says which commit it is about. */
const recordSubject = ({ context, run, task }: RunContext, commit: string, base: string) =>
  context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await recordHead(tx, task.id, commit)
    return mustSucceed(await saveRun(tx, run, { baseCommit: base, reviewed: commit }))
  })

/** The changes since the branch left the goal branch, as one commit on top of the goal branch; undefined = there are none. */
const ontoGoal = async (
  runContext: RunContext,
  { review, commit, base }: { review: TaskReview; commit: string; base: string },
): Promise<string | undefined> => {
  const { repository, shadow, ports } = runContext.context
  const { git } = ports
  if (await git.isBelow(repository, commit, base)) return undefined
  const common = await git.mergeBase(repository, commit, base)
  if (common === null) throw problem(`${subjectText(review)} has no history in common with the goal branch`)
  const tree = await git.treeOf(shadow, commit)
  const trailers = { 'Unstuck-Reviewed': commit }
  const whole = await git.buildCommit(shadow, {
    base: common,
    tree,
    subject: 'Review',
    body: '',
    trailers,
    at: '@0 +0000',
  })
  const onto = await git.integrate(shadow, { commit: whole, onto: base })
  if (!onto.ok)
    throw problem(
      `${subjectText(review)} (${commit.slice(0, 12)}) conflicts with the goal branch in ${onto.conflicts.join(', ')}; ${correctionText(runContext, review)}, or cancel the task`,
    )
  return (await git.treeOf(shadow, onto.commit)) === (await git.treeOf(shadow, base)) ? undefined : onto.commit
}

const endContained = async (runContext: RunContext, review: TaskReview, commit: string): Promise<PhaseResult> => {
  const note = `${subjectText(review)} (${commit.slice(0, 12)}) is contained in the goal branch already`
  await saveProgress(runContext, {
    phase: 'finish',
    verdict: { ...keptVerdict(runContext.run.verdict), outcome: 'nothing to verify', noChange: true, notes: [note] },
  })
  return 'on'
}

const layOut = async (runContext: RunContext, { work, base }: { work: string; base: string }): Promise<void> => {
  const { context, goal, paths, run } = runContext
  const { git } = context.ports
  const { workspace: config } = context.config()
  await git.removeWorkspace(paths.workspace)
  const fresh = await makeFreshWorkspace(context.ports, {
    clone: { repository: context.repository, base, dir: paths.workspace, branch: `${goal.branchPrefix}run/${run.id}` },
    owners: context.repository,
    ...{ stateDir: context.stateDir, filters: context.shadow.filters, config, signal: context.stopping },
  })
  context.at('workspace-made')
  await git.layOver(context.shadow, { snapshot: work, from: base, onto: base, into: paths.workspace })
  recordPrepared(runContext, { ...fresh.submodules, copied: fresh.copied, setupTree: null })
}

/** Replaces `prepare` and `launch`. It can be repeated: the workspace is made from scratch. */
export const collectReview = async (runContext: RunContext, review: TaskReview): Promise<PhaseResult> => {
  const { goal } = runContext
  const base = goal.headCommit ?? goal.baseCommit
  if (base === null) throw problem(`goal ${goal.id} has no base commit`)
  if (goal.repoMode === 'remote') await bringBase(runContext, base)
  const commit = await subjectOf(runContext, review)
  runContext.run = await recordSubject(runContext, commit, base)
  const work = await ontoGoal(runContext, { review, commit, base })
  if (work === undefined) return endContained(runContext, review, commit)
  await refuseSecondReview(runContext, review, commit)
  await layOut(runContext, { work, base })
  await saveProgress(runContext, { phase: 'collect' })
  return 'on'
}
