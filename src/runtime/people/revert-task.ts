/**
 * `unstuck revert`: undoes the work of a landed task on the user's branch, with one commit on its tip. Only a person orders it. The branch
 * moves as for a landing: by a fast-forward, in a clean checkout only, and by compare-and-swap.
 */
import { commitMessage, signOffOf } from '../../domain/commit-message.ts'
import { taskNameInside } from '../../domain/task-title.ts'
import type { Goal } from '../../domain/goal.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import type { Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { visibleText } from '../../visible-text.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal, progressGoal } from '../../store/goal.ts'
import { listMerges, recordRevert } from '../../store/merge.ts'
import type { FastForward } from '../../workspace/repository-types.ts'
import type { Context } from '../core/context.ts'
import { messageFacts } from '../core/message-facts.ts'
import { actorName } from '../core/person-text.ts'
import { remoteLinkOf } from '../core/remote-link.ts'
import { withoutSecrets } from '../core/without-secrets.ts'
import { refusalInQuestion } from '../landing/checkout-question.ts'
import { remoteTargetTip, targetRef } from '../landing/remote-target.ts'
import { signingHere } from '../landing/signed.ts'
import { targetCheckOf } from '../landing/target-check.ts'
import { goalNamed, taskNamed } from './commands.ts'
import { defined } from '../../domain/defined.ts'

const illegal = (text: string): AppError => new AppError('ILLEGAL', text)

const revertsTrailer = 'Unstuck-Reverts'
const mostSearched = 500
const mostNamed = 5

interface Landed {
  goal: Goal & { targetBranch: string }
  task: Task
  entry: MergeEntry & { landedCommit: string }
  tip: string
}

const hasTarget = (goal: Goal): goal is Goal & { targetBranch: string } => goal.targetBranch !== null

const hasLanded = (entry: MergeEntry | undefined): entry is MergeEntry & { landedCommit: string } =>
  entry !== undefined && entry.landedCommit !== null

/** Why the task has no work on a branch of the user, and what can be done instead. */
const notLanded = (task: Task, goal: Goal): string => {
  const next = task.supersededBy
  if (next !== null) return `another task continued its work; to revert that one: unstuck revert ${next}`
  if (goal.repoMode === 'direct')
    return 'it worked in your folder, and no commit was made; its files before each step: unstuck restore'
  return task.status === 'done'
    ? `goal ${goal.id} has not landed yet; to drop it: unstuck cancel ${goal.id}`
    : `it is ${task.status}; to end it: unstuck cancel ${task.id}`
}

const tipOf = (context: Context, goal: Goal): Promise<string | null> =>
  goal.repoMode === 'remote'
    ? remoteTargetTip(context, goal)
    : context.ports.git.readRef(context.repository, targetRef(goal))

const landedWork = async (context: Context, id: string): Promise<Landed> => {
  const task = await taskNamed(context.db, id)
  const goal = await goalNamed(context.db, task.goalId)
  const entry = (await listMerges(context.db, { goalId: goal.id, state: 'merged' })).findLast(
    ({ taskId }) => taskId === id,
  )
  const cannot = `${taskNameInside(task)} cannot be reverted`
  if (task.status !== 'done' || !hasTarget(goal) || !hasLanded(entry))
    throw illegal(`${cannot}: ${notLanded(task, goal)}`)
  const tip = await tipOf(context, goal)
  if (tip === null) throw illegal(`${cannot}: there is no branch ${goal.targetBranch}; create it again first`)
  const { git } = context.ports
  if (!(await git.isBelow(context.repository, entry.landedCommit, tip)))
    throw illegal(
      goal.state === 'done'
        ? `${cannot}: its commit ${entry.landedCommit.slice(0, 12)} is not on ${goal.targetBranch} any more; revert it by hand where it is`
        : `${cannot}: ${notLanded(task, goal)}`,
    )
  return { goal, task, entry, tip }
}

/** The commit on the branch that undid the work. After a crash the store may not know of it yet. */
const earlierRevert = async (context: Context, { entry, tip }: Landed): Promise<string | undefined> => {
  const range = { head: entry.landedCommit, tip }
  const line = await context.ports.git.commitsBetween(context.repository, range, mostSearched)
  return line.find(
    ({ commit, trailers }) => commit === entry.revertedCommit || trailers[revertsTrailer] === entry.landedCommit,
  )?.commit
}

/** Titles of the later commits that change one of these paths. */
const laterWork = async (context: Context, { entry, tip }: Landed, paths: readonly string[]): Promise<string[]> => {
  const { git } = context.ports
  const found: string[] = []
  for (const { commit, parent, subject, trailers } of await git.commitsBetween(
    context.repository,
    { head: entry.landedCommit, tip },
    mostSearched,
  )) {
    if (found.length === mostNamed) break
    const changed = parent === null ? [] : await git.changesBetween(context.shadow, parent, commit)
    if (!changed.some(({ path }) => paths.includes(path))) continue
    const task = trailers['Unstuck-Task']
    found.push(`"${subject}" (${task === undefined ? commit.slice(0, 12) : `unstuck revert ${task}`})`)
  }
  return found
}

/** Equal input gives an equal commit, but for a signature: a revert that a crash interrupted is found by its trailer. */
const revertCommit = async (context: Context, landed: Landed): Promise<string> => {
  const { goal, task, entry, tip } = landed
  const { git } = context.ports
  const { tree, conflicts } = await git.revertedTree(context.shadow, { commit: entry.landedCommit, onto: tip })
  if (conflicts.length > 0) {
    const later = await laterWork(context, landed, conflicts)
    const then = later.length === 0 ? '' : `, by ${later.join(', ')}`
    throw illegal(
      `${taskNameInside(task)} cannot be reverted: ${conflicts.map(visibleText).join(', ')} was changed later in the same lines${then}. Revert the later work first, or resolve it by hand: git revert ${entry.landedCommit.slice(0, 12)}`,
    )
  }
  if (tree === (await git.treeOf(context.shadow, tip)))
    throw illegal(`${taskNameInside(task)} is reverted already: ${goal.targetBranch} has none of its changes`)
  const author = await git.authorOf(context.repository)
  const body = `This reverts commit ${entry.landedCommit}.`
  // Its title is as git writes it, which all conventions let through.
  const { isSignedOff } = commitMessage({ title: task.title, body }, await messageFacts(context, tip, []))
  return git.buildCommit(context.shadow, {
    ...defined({ author }),
    ...{ base: tip, tree, subject: `Revert "${withoutSecrets(context, task.title)}"`, body },
    trailers: { ...signOffOf(author, isSignedOff), [revertsTrailer]: entry.landedCommit },
  })
}

/** As the owner's git would sign it. The person is there, so a key that cannot be used is said and nothing is asked. */
const signedCommit = async (context: Context, { goal, tip }: Landed, commit: string): Promise<string> => {
  const { repository, shadow, ports } = context
  const signing = await signingHere(context)
  if (signing === undefined) return commit
  const signed = await ports.git.signCommits({ repository, shadow, signing }, { base: tip, head: commit })
  if (signed.ok) return signed.head
  throw illegal(
    `${goal.targetBranch} was not changed: the commit cannot be signed with your key: ${signed.detail}. Unlock the key in its agent, or set git.signCommits to false, then try again`,
  )
}

const remedies: Partial<Record<Extract<FastForward, { ok: false }>['reason'], string>> = {
  dirty: 'commit or stash these changes',
  busy: 'finish or abort it',
  'untracked-in-the-way': 'move or remove these files',
  refused: 'allow this push on the remote',
}

const publish = async (context: Context, { goal, tip }: Landed, commit: string): Promise<void> => {
  const { git } = context.ports
  const inQuestion = await refusalInQuestion(context, goal.targetBranch)
  if (inQuestion !== undefined)
    throw illegal(`${goal.targetBranch} was not changed: ${inQuestion.detail}; answer it first`)
  await git.bringObjects(context.repository, context.shadow, { from: tip, to: commit })
  if (goal.repoMode === 'remote') {
    const pushed = await remoteLinkOf(context).push([{ ref: targetRef(goal), to: commit, expected: tip }])
    if (pushed.kind !== 'done')
      throw illegal(
        `${goal.targetBranch} was not changed: ${pushed.detail}; try again when the remote accepts the push`,
      )
    return
  }
  const moved = await git.fastForward(context.repository, { branch: goal.targetBranch, to: commit })
  if (moved.ok) return
  const paths = moved.paths.length === 0 ? '' : `: ${moved.paths.slice(0, 10).map(visibleText).join(', ')}`
  throw illegal(
    `${goal.targetBranch} was not changed: ${moved.detail}${paths}; ${remedies[moved.reason] ?? 'fix that'}, then try again`,
  )
}

export interface RevertedTask {
  task: string
  branch: string
  commit: string
}

const record = async (
  context: Context,
  landed: Landed,
  commit: string,
  by: string | undefined,
): Promise<RevertedTask> => {
  const { goal, task, entry, tip } = landed
  await context.db.transaction(async (tx) => {
    await recordRevert(tx, entry, commit)
    const base = (await getGoal(tx, goal.id))?.landing.target?.base ?? tip
    // The branch without the work is checked like the branch with it.
    await progressGoal(tx, goal.id, { landing: { target: targetCheckOf(commit, base) } })
    await appendEvent(tx, {
      type: 'task.reverted',
      ...{ goalId: goal.id, taskId: task.id },
      payload: { branch: goal.targetBranch, commit, reverts: entry.landedCommit, by: actorName(by) },
    })
  })
  context.wake()
  return { task: task.id, branch: goal.targetBranch, commit }
}

export const revertTask = async (context: Context, id: string, by: string | undefined): Promise<RevertedTask> => {
  const landed = await landedWork(context, id)
  const { goal, task, entry } = landed
  const earlier = await earlierRevert(context, landed)
  if (earlier !== undefined && earlier === entry.revertedCommit)
    throw illegal(`${taskNameInside(task)} is reverted already, by ${earlier.slice(0, 12)} on ${goal.targetBranch}`)
  const commit = earlier ?? (await signedCommit(context, landed, await revertCommit(context, landed)))
  if (earlier === undefined) await publish(context, landed, commit)
  return record(context, landed, commit, by)
}
