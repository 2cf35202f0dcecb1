/**
 * Signs the commits of goals that are about to land, where the owner's git signs commits. It is done on the goal branch, which then lands by a
 * fast-forward like any other, and in the merge queue's job, because a key program may take seconds. A signature changes the names of commits
 * and is not made twice alike, so the new name is stored before the branch moves. A key that cannot be used holds up the landing alone.
 */
import { isToLand, type Goal, type GoalSigning } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { StaleError, type Queryable } from '../../store/db.ts'
import { listEscalations, openEscalation } from '../../store/escalation.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { getGoal, listLiveGoals, lockGoal, progressGoal } from '../../store/goal.ts'
import { listMerges, relocateMerge } from '../../store/merge.ts'
import type { Signing } from '../../workspace/signing.ts'
import { cancelChoice, landChoice, landUnsignedChoice } from '../core/choices.ts'
import { goalRef, type Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { isOutage, isRefusal, remoteLinkOf } from '../core/remote-link.ts'
import { landCommand } from './goal-branch.ts'
import { publishLocal, publishRemote } from './goal-rebase.ts'
import { hasTarget, targetTip, type Ready } from './land-goal.ts'
import { refusePart } from './land-part.ts'
import { goalHead } from './merge-attempt.ts'
import { opensPullRequests } from './pull-request.ts'
import { refuseLanding } from './refused-landing.ts'
import { remoteMergeBase } from './remote-merge.ts'
import { closeSigningQuestion, isSigningQuestion, signingHere } from './signed.ts'
import { addsOnlyGoal } from './target-tip.ts'

/** A goal that lands by itself tries the key again after this time; a person who orders the landing does so at once. */
const retryMs = 600_000

const longestLine = 100_000

const store = (tx: Queryable, goal: Goal, signing: GoalSigning): Promise<unknown> =>
  progressGoal(tx, goal.id, { landing: { signing } })

/**
 * The program took seconds, in which a person may have let the commits land as they are, or the goal may have moved on. False = so it was, and
 * nothing is stored.
 */
const storeIfWaiting = ({ db }: Context, goal: Goal, change: Partial<GoalSigning>): Promise<boolean> =>
  db.transaction(async (tx) => {
    await lockGoal(tx, goal.id)
    const now = await getGoal(tx, goal.id)
    if (now?.state !== goal.state || now.headCommit !== goal.headCommit || now.landing.signing?.waived === true)
      return false
    await store(tx, goal, { usable: false, ...now.landing.signing, ...change })
    return true
  })

/** Says at the start of a goal that its landing will have to ask. */
const tryKey = async (context: Context, goal: Goal, signing: Signing): Promise<void> => {
  const { repository, shadow, ports } = context
  const tried = await ports.git.trySigning({ repository, shadow, signing }, goalHead(goal))
  await context.db.transaction(async (tx) => {
    await store(tx, goal, { usable: tried.ok })
    if (tried.ok) return
    await appendEvent(tx, { type: 'goal.cannot_sign', goalId: goal.id, payload: { detail: tried.detail } })
  })
}

const ask = async (context: Context, goal: Goal, detail: string): Promise<void> => {
  const happened = `The work of goal "${goal.title}" is done, and ${detail}.`
  const command = goal.state === 'ready' ? landCommand(goal) : `${landCommand(goal)} --done`
  await context.db.transaction(async (tx) => {
    await lockGoal(tx, goal.id)
    if ((await listEscalations(tx, { goalId: goal.id, pendingOnly: true })).some(isSigningQuestion)) return
    await openEscalation(tx, {
      ...{ id: context.newId('q'), goalId: goal.id, taskId: null, runId: null, kind: 'unsigned_commits', tried: [] },
      ...{
        happened,
        question: `${happened} Mend that and sign (unlock the key in its agent), or land without signatures.`,
      },
      details:
        'Your git signs commits (commit.gpgsign). The work is kept on the goal branch, and other work continues.',
      choices: [landChoice(command), landUnsignedChoice(goal.id), cancelChoice(goal.id)],
    })
  })
}

const isOrdered = ({ landing }: Goal): boolean => landing.asked || landing.part === true

/** `detail`: why the goal has no signed commits, as the end of a sentence. */
const hold = async (context: Context, goal: Ready, detail: string): Promise<boolean> => {
  const failed = { head: goalHead(goal), at: (await storeNow(context.db)).toISOString() }
  if (!(await storeIfWaiting(context, goal, { usable: false, failed }))) return false
  if (!isOrdered(goal) && !isToLand(goal) && !opensPullRequests(context)) return true
  await ask(context, goal, detail)
  const refused = { reason: 'unsigned', detail, paths: [] }
  await (goal.landing.part === true && goal.state !== 'ready'
    ? refusePart(context, goal, refused)
    : refuseLanding(context, goal, refused))
  return true
}

/** The commits of two lines of equal length, in pairs. */
const pairs = async (context: Context, base: string, { from, to }: { from: string; to: string }) => {
  const lineOf = (tip: string) => context.ports.git.commitsBetween(context.repository, { head: base, tip }, longestLine)
  const [before, after] = [await lineOf(from), await lineOf(to)]
  return before.flatMap(({ commit }, index) => {
    const now = after[index]?.commit
    return now === undefined || now === commit ? [] : [{ before: commit, now }]
  })
}

interface Move {
  from: string
  to: string
}

const record = async (context: Context, goal: Goal, base: string, move: Move): Promise<true> => {
  const changed = await pairs(context, base, move)
  const entries = await listMerges(context.db, { goalId: goal.id, state: 'merged' })
  await context.db.transaction(async (tx) => {
    for (const { before, now } of changed) {
      const entry = entries.findLast(({ landedCommit }) => landedCommit === before)
      if (entry !== undefined) await relocateMerge(tx, entry, now)
    }
    const isOver = goal.landing.refused?.reason === 'unsigned'
    await progressGoal(tx, goal.id, {
      headCommit: move.to,
      landing: { signing: { usable: true, head: move.to }, ...(isOver ? { refused: null } : {}) },
      ...(isOver ? { reason: landCommand(goal) } : {}),
    })
    await closeSigningQuestion(tx, goal.id)
    const payload = { commits: changed.length, before: move.from, head: move.to }
    if (changed.length > 0) await appendEvent(tx, { type: 'goal.signed', goalId: goal.id, payload })
  })
  context.wake()
  return true
}

/** Where the goal branch is: the commit found there, and the one to sign, with commits of others that are on top. */
const branchNow = async (context: Context, goal: Goal): Promise<{ found: string | null; head: string }> => {
  const ref = goalRef(goal)
  if (goal.repoMode !== 'remote') {
    const found = await context.ports.git.readRef(context.repository, ref)
    return { found, head: goalHead(goal) }
  }
  const found = (await remoteLinkOf(context).fetchRefs([ref]))[ref] ?? null
  if (found === goal.landing.signing?.next?.to) return { found, head: goalHead(goal) }
  const head = await remoteMergeBase(context, goal, { head: goalHead(goal), tip: found })
  return { found: head, head }
}

/** False = something else moved the branch: the next pass begins again with the branch as it is then. */
const sign = async (
  context: Context,
  goal: Ready,
  { base, signing }: { base: string; signing: Signing },
): Promise<boolean> => {
  const { repository, shadow, ports } = context
  const { found, head } = await branchNow(context, goal)
  const next = goal.landing.signing?.next
  // An engine died between moving the branch and recording it.
  if (next !== undefined && found === next.to) return record(context, goal, base, next)
  const signed = await ports.git.signCommits({ repository, shadow, signing }, { base, head })
  if (!signed.ok) return hold(context, goal, `its commits cannot be signed with your key: ${signed.detail}`)
  const move = { from: head, to: signed.head }
  if (move.from === move.to) return record(context, goal, base, move)
  if (!(await storeIfWaiting(context, goal, { usable: true, next: move }))) return false
  context.at('goal-signing-intended')
  const published = await (goal.repoMode === 'remote'
    ? publishRemote(context, goal, { onto: base, to: move.to, found })
    : publishLocal(context, goal, { onto: base, to: move.to }))
  context.at('goal-signing-published')
  return published && record(context, goal, base, move)
}

/** Signs what the target lacks. A goal whose target has moved is rebased first, and one that has landed by hand needs nothing. */
const signReady = async (context: Context, goal: Ready, signing: Signing): Promise<boolean> => {
  const tip = await targetTip(context, goal, (branch) =>
    context.ports.git.readRef(context.repository, `refs/heads/${branch}`),
  )
  if (tip === null || (await context.ports.git.isBelow(context.repository, goal.headCommit, tip))) return false
  return (await addsOnlyGoal(context, goal, tip)) && sign(context, goal, { base: tip, signing })
}

/** A ready goal is signed before it is to land, because its owner may merge its branch by hand. */
const isToSign = (goal: Goal): goal is Ready => {
  const { outdated, unverified, broken, part } = goal.landing
  const isAtRest = goal.state === 'ready' || part === true
  return isAtRest && hasTarget(goal) && !outdated && !unverified && broken === null
}

/** Whether the landing waits for the signatures. Where the key failed, it is tried again after a while. */
const isWaiting = async (context: Context, goal: Goal): Promise<boolean> => {
  const { failed } = goal.landing.signing ?? {}
  if (!isToSign(goal)) return false
  if (isOrdered(goal)) return true
  if (!isToLand(goal) && !opensPullRequests(context)) return false
  if (failed === undefined || failed.head !== goal.headCommit) return true
  return (await storeNow(context.db)).getTime() - Date.parse(failed.at) >= retryMs
}

/** `looked`: goals and heads for which there is nothing more to do unless a landing waits for it. */
const signGoal = async (context: Context, goal: Goal, looked: Set<string>): Promise<void> => {
  const { repoMode, headCommit, landing } = goal
  const { signing: done } = landing
  if (repoMode === 'direct' || goal.baseCommit === null || done?.waived === true) return
  if (headCommit !== null && done?.head === headCommit) return
  const look = isToSign(goal) ? `${goal.id} ${headCommit}` : goal.id
  if (looked.has(look) && !(await isWaiting(context, goal))) return
  const signing = await signingHere(context)
  if (signing !== undefined && isToSign(goal)) {
    if (!(await signReady(context, goal, signing))) return
  } else if (signing !== undefined && done === undefined) await tryKey(context, goal, signing)
  looked.add(look)
}

/** A goal that waits for its signatures says why it has none; the key of any other is tried again when it is to land. */
const sayFailed = async (context: Context, goal: Goal, looked: Set<string>, error: unknown): Promise<void> => {
  context.log.error({ goal: goal.id, error: messageOf(error) }, 'the commits of a goal could not be signed')
  if (isToSign(goal)) await hold(context, goal, `its signed commits could not be stored: ${messageOf(error)}`)
  else looked.add(goal.id)
}

/** Tries the key for every new goal, and signs every goal that is ready. One that fails holds no other up. */
export const createGoalSigner = (): ((context: Context) => Promise<void>) => {
  const looked = new Set<string>()
  return async (context) => {
    for (const goal of await listLiveGoals(context.db)) {
      if (context.stopping.aborted) return
      try {
        await signGoal(context, goal, looked)
      } catch (error) {
        if (context.stopping.aborted) return
        if (endsPass(context, error)) throw error
        if (error instanceof StaleError || isOutage(error) || isRefusal(error)) continue
        await sayFailed(context, goal, looked, error)
      }
    }
  }
}
