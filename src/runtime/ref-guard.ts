/**
 * What an agent does to refs of the user's repository: read before the program starts, compared when it has ended,
 * reported in one event. A branch that work is to land on is put back when it stands on a commit that can only come
 * from the run's own clone; any other move may be the user's own and is left alone. Goal branches are ours: the loop
 * merge queue's flight puts them back (`guardGoalBranches`), never an executor: only there no merge is under way.
 */
import { join } from 'node:path'
import type { Goal } from '../domain/goal.ts'
import { appendEvent } from '../store/event.ts'
import { listGoals, listLiveGoals } from '../store/goal.ts'
import { listMerges } from '../store/merge.ts'
import type { RefChange, Refs } from '../workspace/refs.ts'
import { goalBranch, goalRef, type Context } from './context.ts'
import { guardBranch } from './merge-queue.ts'
import type { Session } from './session.ts'

const shownRefs = 20

const recordOf = (session: Session): string => join(session.paths.root, 'refs.json')

/** The copy in memory is the one believed: an agent could write the file. */
const keepRefs = (session: Session, refs: Refs): void => {
  const { clock, ports } = session.context
  session.refs = { refs, readAt: clock.elapsed() }
  ports.files.writeFileSync(recordOf(session), JSON.stringify(refs), { mode: 0o600 })
}

/** Read so short a time ago, at the end of the launch before, they are not read again for a relaunch. */
const freshMs = 1_000

/** Before the gate opens. */
export const rememberRefs = async (session: Session): Promise<void> => {
  const { clock, ports, repository } = session.context
  if (session.refs !== undefined && clock.elapsed() - session.refs.readAt < freshMs) return
  keepRefs(session, await ports.git.readRefs(repository))
}

const remembered = (session: Session): Refs | undefined => {
  if (session.refs !== undefined) return session.refs.refs
  // Re-attached after a restart: the file is all there is.
  const { files } = session.context.ports
  const path = recordOf(session)
  return files.existsSync(path) ? (JSON.parse(files.readFileSync(path, 'utf8')) as Refs) : undefined
}

/** Our own branches are guarded elsewhere; a branch that stands where a goal was landed was moved by us. */
const isOurs = ({ ref, after }: RefChange, goals: Goal[]): boolean =>
  ref.startsWith('refs/heads/unstuck/') ||
  ref.startsWith('refs/unstuck/') ||
  goals.some((goal) => `refs/heads/${goal.targetBranch}` === ref && goal.headCommit === after)

/** Whether the new commit of a branch is one that only this run's clone can have brought. */
const isFromClone = async (session: Session, commit: string): Promise<boolean> => {
  const { context, paths, run } = session
  const { git } = context.ports
  if (!(await git.isCommitOf(context.repository, { commit, below: null, not: null }))) return true
  const base = run.baseCommit ?? ''
  const { kept } = await git.keepAgentCommits(context.shadow, { workspace: paths.workspace, runId: run.id, base })
  for (const { commit: tip } of kept) {
    if (await git.isCommitOf(context.shadow.gitDir, { commit, below: tip, not: base })) return true
  }
  return false
}

const putBack = async (session: Session, change: RefChange): Promise<boolean> => {
  const { context, goal } = session
  if (change.ref !== `refs/heads/${goal.targetBranch}` || goal.repoMode === 'direct') return false
  if (change.before === null || change.after === null || !(await isFromClone(session, change.after))) return false
  const done = await context.ports.git.restoreRef(context.repository, {
    ref: change.ref,
    from: change.after,
    to: change.before,
  })
  if (done !== 'done') return false
  await appendEvent(context.db, {
    type: 'ref.restored',
    goalId: goal.id,
    taskId: session.task.id,
    runId: session.run.id,
    payload: { ref: change.ref, found: change.after, restored: change.before },
  })
  return true
}

/** When the agent has ended: one event for everything that moved, after what could be put back was put back. */
export const compareAfterRun = async (session: Session): Promise<void> => {
  const { context } = session
  const { git } = context.ports
  const before = remembered(session)
  if (before === undefined) return
  const after = await git.readRefs(context.repository)
  const changed = git.compareRefs(before, after)
  const goals = changed.length === 0 ? [] : await listGoals(context.db)
  const found = changed.filter((change) => !isOurs(change, goals))
  if (found.length === 0) return keepRefs(session, after)
  const refs: (RefChange & { restored: boolean })[] = []
  for (const change of found.slice(0, shownRefs)) refs.push({ ...change, restored: await putBack(session, change) })
  await appendEvent(context.db, {
    type: 'ref.moved',
    goalId: session.goal.id,
    taskId: session.task.id,
    runId: session.run.id,
    payload: { refs, more: found.length - refs.length },
  })
  // Not reported again after a relaunch or a restart.
  keepRefs(session, await git.readRefs(context.repository))
}

/** Puts goal branches back that somebody moved or deleted. Where a merge is pending or under way the queue itself looks. */
export const guardGoalBranches = async (context: Context): Promise<void> => {
  // One that waits for a person too: it is resumed, or looked at, from where it is.
  const goals = (await listLiveGoals(context.db)).filter(
    ({ repoMode, headCommit }) => repoMode === 'local' && headCommit !== null,
  )
  if (goals.length === 0) return
  const refs = await context.ports.git.readRefs(context.repository, `refs/heads/${goalBranch('')}`)
  for (const goal of goals.filter(({ id, headCommit }) => refs[goalRef(id)] !== headCommit)) {
    const merges = await listMerges(context.db, { goalId: goal.id })
    if (!merges.some(({ state }) => state === 'pending' || state === 'processing')) await guardBranch(context, goal)
  }
}
