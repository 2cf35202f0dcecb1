/**
 * The pull request of a finished goal, where the owner wants one: the goal's branch is pushed to `origin`, and the goal is done when the
 * forge has merged it. How it is merged (merge, squash, rebase, by whom and after which reviews) is the forge's and its people's affair.
 */
import type { Goal } from '../../domain/goal.ts'
import { isWithoutWork } from '../../domain/goal.ts'
import { isWork } from '../../domain/task.ts'
import { issueName } from '../../domain/issue-name.ts'
import { AppError, messageOf } from '../../errors.ts'
import type { Forge, PullRequest } from '../../forge/forge.ts'
import { mustSucceed, StaleError, type Queryable } from '../../store/db.ts'
import { forgeLinkOf, recordPullRequest, recordPushedHead, type ForgeLink } from '../../store/forge-link.ts'
import { abandonedPullRequests } from '../../store/forge-feedback.ts'
import { getGoal, listLiveGoals, lockGoal, moveGoal, progressGoal } from '../../store/goal.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { listTasks } from '../../store/task.ts'
import type { Remote } from '../../workspace/remote.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'
import { withoutSecrets } from '../core/without-secrets.ts'
import { acceptedFailuresText, autoLandBlocker } from './accepted-failures.ts'
import { answerPullRequest, replyToReviews } from './answer-pull-request.ts'
import { isWorkOn } from './goal-work.ts'
import { hasTarget, type Ready } from './land-goal.ts'
import { solvePullRequestConflict } from './pull-request-conflict.ts'
import { refuseLanding } from './refused-landing.ts'
import { targetRef } from './remote-target.ts'
import { closeSigningQuestion, isSigned } from './signed.ts'

/** Whether finished goals become pull requests instead of landing by themselves. */
export const opensPullRequests = ({ config }: Pick<Context, 'config'>): boolean => {
  const { kind, pullRequests } = config().forge
  return kind !== 'off' && pullRequests === 'goal'
}

/** What a reviewer reads: what was done, which checks passed on it, and for what an automatic landing would have been held. */
const bodyOf = async (context: Context, goal: Ready, link: ForgeLink | undefined): Promise<string> => {
  const tasks = await listTasks(context.db, goal.id)
  const done = tasks.filter((task) => isWork(task) && task.status === 'done')
  const lines = done.map(
    ({ title, commands }) =>
      `- ${title}${commands.length === 0 ? '' : ` (passed: ${commands.map((command) => `\`${command}\``).join(', ')})`}`,
  )
  const closes =
    link?.issue == null
      ? []
      : [context.config().forge.command === undefined ? `Closes #${link.issue}.` : `For ${issueName(link.issue)}.`, '']
  const held = await autoLandBlocker(context, goal)
  const first = held === undefined ? [] : [`Look at this first: ${held}.`, '']
  return withoutSecrets(context, [...first, ...closes, ...lines].join('\n'))
}

/**
 * Gives the branch on `origin` the goal's head. False = it holds commits of others, which are never overwritten: only an ancestor of the
 * head, as an earlier push left it, is moved on.
 */
const pushHead = async (
  context: Context,
  origin: Remote,
  goal: Ready,
  link: ForgeLink | undefined,
): Promise<boolean> => {
  // A repository by URL has the branch there already.
  if (goal.repoMode === 'remote' || link?.pushedHead === goal.headCommit) return true
  const ref = goalRef(goal)
  const there = (await origin.fetchRefs([ref]))[ref] ?? null
  if (there !== goal.headCommit) {
    const isEarlier =
      there === null ||
      there === link?.pushedHead ||
      (await context.ports.git.isBelow(context.repository, there, goal.headCommit))
    if (!isEarlier) return false
    await confirmLeadership(context.db)
    const pushed = await origin.push([{ ref, to: goal.headCommit, expected: there }])
    if (pushed.kind === 'refused')
      throw new AppError('REMOTE_REFUSED', `${origin.url} refused ${goalBranch(goal)}: ${pushed.detail}`)
    // Another process moved it first; the next look finds out what is there.
    if (pushed.kind === 'moved')
      throw new AppError('REMOTE_UNAVAILABLE', `${goalBranch(goal)} was moved on ${origin.url}`)
  }
  await recordPushedHead(context.db, goal.id, goal.headCommit)
  return true
}

/** The one that is there already, if the engine died before it could store it. */
const openOne = async (
  context: Context,
  forge: Forge,
  goal: Ready,
  link: ForgeLink | undefined,
): Promise<PullRequest> => {
  const branch = goalBranch(goal)
  const found = (await forge.openPullRequests()).find((pull) => pull.branch === branch && !pull.isFromFork)
  if (found !== undefined) return found
  const title = withoutSecrets(context, goal.title)
  await confirmLeadership(context.db)
  return forge.openPullRequest({ title, body: await bodyOf(context, goal, link), branch, base: goal.targetBranch })
}

const finish = async (context: Context, origin: Remote, goal: Ready, pull: PullRequest): Promise<void> => {
  const ref = targetRef(goal)
  const tip = (await origin.fetchRefs([ref]))[ref]
  const { mergeCommit, number } = pull
  const isThere =
    tip !== undefined && mergeCommit !== null && (await context.ports.git.isBelow(context.repository, mergeCommit, tip))
  if (!isThere) {
    const detail = `pull request #${number} was merged, and its commit ${mergeCommit ?? ''} is not on ${goal.targetBranch}`
    return refuseLanding(context, goal, { reason: 'merged-elsewhere', detail, paths: [] })
  }
  const how = `pull request #${number} was merged into ${goal.targetBranch} of ${origin.url} as ${mergeCommit.slice(0, 12)}`
  const reason = `${how}${await acceptedFailuresText(context, goal)}`
  await context.db.transaction(async (tx) => {
    mustSucceed(await moveGoal(tx, goal, 'landed', reason))
    await recordPullRequest(tx, goal.id, pull)
    await closeSigningQuestion(tx, goal.id)
  })
  context.wake()
}

/** Whether all of the goal was merged, and not only what its branch held before a later correction. */
const isWhole = async (
  context: Context,
  origin: Remote,
  goal: Ready,
  { link, merged }: { link: ForgeLink | undefined; merged: PullRequest },
): Promise<boolean> => {
  // In a repository by URL the branch is always at the head.
  if (goal.repoMode === 'remote' || link?.pushedHead === goal.headCommit || merged.mergeCommit === null) return true
  await origin.fetchRefs([targetRef(goal)])
  return isWorkOn(context, goal, merged.mergeCommit)
}

/** Throws `StaleError` if a person ordered something, or the goal went on, since it was read. */
const requireCarried = async (tx: Queryable, goal: Ready): Promise<void> => {
  await lockGoal(tx, goal.id)
  const now = await getGoal(tx, goal.id)
  if (now === undefined || now.version !== goal.version || !isCarried(now)) throw new StaleError(`goal ${goal.id}`)
}

const waitingText = ({ number, url }: PullRequest, note: string): string =>
  `pull request #${number} waits to be merged: ${url}${note}`

/** What was refused is over: the pull request is open, its branch holds the head, and there is no objection. */
const recordWaiting = async (context: Context, goal: Ready, pull: PullRequest, note: string): Promise<void> => {
  const link = await forgeLinkOf(context.db, goal.id)
  const isRecorded = link?.pullRequest === pull.number && link.pullRequestState === 'open'
  const reason = waitingText(pull, note)
  if (isRecorded && goal.landing.refused === null && goal.reason === reason) return
  await context.db.transaction(async (tx) => {
    await requireCarried(tx, goal)
    if (!isRecorded) await recordPullRequest(tx, goal.id, pull)
    await progressGoal(tx, goal.id, { landing: { refused: null }, reason })
  })
}

const tellClosed = async (
  context: Context,
  goal: Ready,
  pull: PullRequest,
  link: ForgeLink | undefined,
): Promise<void> => {
  if (link?.pullRequestState !== 'closed')
    await context.db.transaction(async (tx) => {
      await requireCarried(tx, goal)
      await recordPullRequest(tx, goal.id, pull)
    })
  const detail = `pull request #${pull.number} was closed without being merged`
  await refuseLanding(context, goal, { reason: 'pull-request-closed', detail, paths: [] })
}

const follow = async (
  context: Context,
  { forge, origin }: { forge: Forge; origin: Remote },
  goal: Ready,
): Promise<void> => {
  const link = await forgeLinkOf(context.db, goal.id)
  const number = link?.pullRequest ?? null
  const known = number === null ? undefined : await forge.pullRequest(number)
  const isMerged = known?.state === 'merged'
  if (isMerged && (await isWhole(context, origin, goal, { link, merged: known })))
    return finish(context, origin, goal, known)
  // The merge queue signs the commits, or asks.
  if (!(await isSigned(context, goal))) return
  if (!(await pushHead(context, origin, goal, link))) {
    const detail = `${goalBranch(goal)} on ${origin.url} has commits that the goal does not have`
    return refuseLanding(context, goal, { reason: 'branch-changed', detail, paths: [] })
  }
  // What came after the merge needs a pull request of its own.
  const before = isMerged ? undefined : known
  const pull = before ?? (await openOne(context, forge, goal, link))
  if (pull.state === 'closed') return tellClosed(context, goal, pull, link)
  if (pull.number !== number || link?.pullRequestState !== 'open') return recordWaiting(context, goal, pull, '')
  await replyToReviews(context, forge, goal, pull.number)
  const requireUnchanged = (tx: Queryable) => requireCarried(tx, goal)
  if (await solvePullRequestConflict(context, { origin, pull, requireUnchanged }, goal)) return
  const note = await answerPullRequest(context, { forge, pull, requireUnchanged }, goal)
  if (note !== undefined) await recordWaiting(context, goal, pull, note)
}

const isCarried = (goal: Goal): goal is Ready =>
  goal.state === 'ready' &&
  hasTarget(goal) &&
  goal.repoMode !== 'direct' &&
  goal.landing.broken === null &&
  !goal.landing.asked &&
  !isWithoutWork(goal)

/** What a person has to mend is said on the goal; an outage ends by itself. */
const sayTrouble = async (context: Context, goal: Ready, error: unknown): Promise<string> => {
  if (!(error instanceof AppError)) throw error
  if (error.code !== 'REMOTE_UNAVAILABLE')
    await refuseLanding(context, goal, { reason: 'forge', detail: error.message, paths: [] })
  return `goal ${goal.id}: ${error.message}`
}

const placesOf = async (context: Context): Promise<{ forge: Forge; origin: Remote }> => {
  const forge = await context.forge?.()
  if (forge === undefined) throw new AppError('CONFIG_INVALID', 'forge.kind is "off"')
  const origin = context.remote ?? (await context.origin?.())
  if (origin != null) return { forge, origin }
  throw new AppError('CONFIG_INVALID', 'a pull request needs the remote "origin", and this repository has none')
}

/** A person who cancels a goal does not want its pull request merged. */
const closeAbandoned = async (
  context: Context,
  forge: Forge,
  { goalId, pullRequest }: { goalId: string; pullRequest: number },
): Promise<void> => {
  const pull = await forge.pullRequest(pullRequest)
  await confirmLeadership(context.db)
  if (pull.state === 'open') await forge.closePullRequest(pullRequest)
  const state = pull.state === 'merged' ? 'merged' : 'closed'
  await recordPullRequest(context.db, goalId, {
    number: pullRequest,
    url: pull.url,
    state,
    mergeCommit: pull.mergeCommit,
  })
}

/** Looks at the pull requests of all finished goals once; returns what went wrong, in words. One that fails holds no other up. */
export const followPullRequests = async (context: Context): Promise<string[]> => {
  const goals = (await listLiveGoals(context.db)).filter(isCarried)
  const abandoned = await abandonedPullRequests(context.db)
  if (goals.length + abandoned.length === 0) return []
  // Asked once for all goals, because it may start a program. Where it fails, each of them says so.
  const places = placesOf(context)
  const problems: string[] = []
  const attempt = async (work: () => Promise<void>, failed: (error: unknown) => Promise<string>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      // The next poll reads what changed.
      if (!(error instanceof StaleError)) problems.push(await failed(error))
    }
  }
  for (const goal of goals)
    await attempt(
      async () => follow(context, await places, goal),
      (error) => sayTrouble(context, goal, error),
    )
  for (const pull of abandoned)
    await attempt(
      async () => closeAbandoned(context, (await places).forge, pull),
      async (error) => messageOf(error),
    )
  return problems
}
