/**
 * Sees what agents do to the owner's repository and checkout: both are read before an agent starts and compared after it ended. Goal
 * branches are guarded in ref-guard.ts. The branch that the goal lands on is restored where an agent provably moved it; anything else
 * is reported with its evidence and stays, because it may be the owner's, who is asked where it matters (checkout-question.ts).
 */
import type { Goal } from '../../domain/goal.ts'
import { isSandboxed } from '../../domain/run.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent, countOfDay, isCheckoutTold } from '../../store/event.ts'
import { listGoals, listLiveGoals } from '../../store/goal.ts'
import { runsSince } from '../../store/run.ts'
import type { RefChange } from '../../workspace/refs.ts'
import { checkoutBefore, heldCopies, readNow, storeCheckout, type CheckoutBefore } from '../agent/checkout-before.ts'
import { goalRef, runPaths, type Context } from '../core/context.ts'
import type { RunContext } from '../core/run-context.ts'
import {
  attributePart,
  attributeRef,
  commandOfMove,
  compareParts,
  isDangerous,
  type Attribution,
  type CheckoutEvidence,
  type PartChange,
} from './attribute-change.ts'
import {
  askAboutCheckout,
  isStillPrepared,
  prepareQuestion,
  undecided,
  type UnknownChange,
} from './checkout-question.ts'
import { defined } from '../../domain/defined.ts'

/** How many changes an event lists. All of them are judged and, where that is due, restored. */
const shown = 20
/** How many reasons a question quotes. */
const mostReasons = 3
/** How many reflog entries of a branch are read. */
const longestLog = 200
/** Of more refs only this many are judged by their logs, those that goals land on first; the others are reported as they are. */
const mostJudged = 500

type RefFinding = RefChange & Attribution & { alike: boolean; restored: boolean; kept?: string; files?: string }

/** Refs of Unstuck are guarded elsewhere, and a target branch at the head of a goal was moved by a landing. */
const isOurs = ({ ref, after }: RefChange, goals: readonly Goal[]): boolean =>
  ref.startsWith('refs/heads/unstuck/') ||
  ref.startsWith('refs/unstuck/') ||
  goals.some((goal) => goalRef(goal) === ref) ||
  goals.some((goal) => `refs/heads/${goal.targetBranch}` === ref && goal.headCommit === after)

/** The git commands of every run that was alive in between: several runs may have changed the same checkout. */
const evidenceSince = async (
  runContext: RunContext,
  at: string,
): Promise<CheckoutEvidence & { incomplete: string[] }> => {
  const { context } = runContext
  const runs = await runsSince(context.db, new Date(at))
  // The log of a ref has whole seconds.
  const since = Math.floor(Date.parse(at) / 1000)
  const incomplete: string[] = []
  const commands: CheckoutEvidence['commands'][number][] = []
  for (const { id } of runs) {
    const found = await context.ports.git.readGitTrace(runPaths(context, id).gitTrace, context.repository)
    if (!found.complete) incomplete.push(`not all git commands of run ${id} were noted`)
    for (const command of found.commands) if (command.to >= since) commands.push({ ...command, run: id })
  }
  return { commands, couldWrite: runs.some((run) => !isSandboxed(run)), incomplete }
}

/** Whether only this run's clone can have brought the commit. */
const isFromClone = async (runContext: RunContext, commit: string): Promise<boolean> => {
  const { context, paths, run } = runContext
  const { git } = context.ports
  if (!(await git.isCommitOf(context.repository, { commit, below: null, not: null }))) return true
  const base = run.baseCommit ?? ''
  const { kept } = await git.keepAgentCommits(context.shadow, { workspace: paths.workspace, runId: run.id, base })
  for (const { commit: tip } of kept) {
    if (await git.isCommitOf(context.shadow.gitDir, { commit, below: tip, not: base })) return true
  }
  return false
}

/** Reflog notes of commands that bring commits of others. */
const bringsCommits = /^(?:merge|pull|rebase|cherry-pick|revert|am)\b/

/** The commit to restore: the user's own commits and landings since the run began are kept, commits of agents are not. */
const restorePointOf = async (
  runContext: RunContext,
  { ref, before, after }: { ref: string; before: string; after: string },
  { goals, evidence }: { goals: readonly Goal[]; evidence: CheckoutEvidence },
): Promise<string> => {
  const { context } = runContext
  const moves = await context.ports.git.readRefLog(context.repository, ref, longestLog)
  // If the log does not reach back to the start of the run, the age of its entries is unknown.
  const since = moves.findIndex(({ to }) => to === before)
  for (const move of moves.slice(0, Math.max(0, since))) {
    const { to, note } = move
    if (to === after) continue
    if (goals.some(({ headCommit }) => headCommit === to)) return to
    if (commandOfMove(move, evidence) !== undefined) continue
    if (note.startsWith('commit') || (bringsCommits.test(note) && !(await isFromClone(runContext, to)))) return to
  }
  return before
}

type Restored = Pick<RefFinding, 'restored' | 'kept' | 'files'>

const inWords = {
  done: undefined,
  'files-left': 'its files stay in the working tree: git status',
  left: 'the index and the files stay as they are, because they hold work of yours: git status',
} as const

/**
 * `byCommand`: a git command in the checkout did it, so its index and files may have moved as well. `isOnlyThere`: nothing else keeps the
 * commit; the commits of a clone are in the shadow repository.
 */
const putBack = async (
  runContext: RunContext,
  { ref, after, to, ...how }: { ref: string; after: string; to: string; byCommand: boolean; isOnlyThere: boolean },
): Promise<Restored> => {
  const { context, run } = runContext
  const { git } = context.ports
  const keep = `refs/unstuck/kept/${run.id}-${after.slice(0, 12)}`
  if (how.isOnlyThere) await git.restoreRef(context.repository, { ref: keep, from: null, to: after })
  if ((await git.restoreRef(context.repository, { ref, from: after, to })) !== 'done') return { restored: false }
  const kept = how.isOnlyThere ? { kept: keep } : {}
  if (!how.byCommand) return { restored: true, ...kept }
  const { checkout } = checkoutBefore(runContext) as CheckoutBefore
  const ownersPaths = [...Object.keys(checkout.index), ...Object.keys(checkout.file)]
  const isKnown = checkout.notes.index === undefined && checkout.notes.file === undefined
  const index = isKnown ? await git.restoreIndex(context.repository, { ref, from: after, to, ownersPaths }) : 'left'
  const files = inWords[index]
  return { restored: true, ...kept, ...defined({ files }) }
}

const restoreTarget = async (
  runContext: RunContext,
  { ref, before, after }: RefChange,
  known: { goals: readonly Goal[]; evidence: CheckoutEvidence },
): Promise<Restored> => {
  const { context, goal, task, run } = runContext
  const { git } = context.ports
  const no = { restored: false }
  if (ref !== `refs/heads/${goal.targetBranch}` || goal.repoMode === 'direct') return no
  if (before === null || after === null) return no
  const [newest] = await git.readRefLog(context.repository, ref, 1)
  const command = newest?.to === after ? commandOfMove(newest, known.evidence) : undefined
  const isOnlyThere = !(await isFromClone(runContext, after))
  if (command === undefined && isOnlyThere) return no
  const to = await restorePointOf(runContext, { ref, before, after }, known)
  const result = await putBack(runContext, { ref, after, to, byCommand: command !== undefined, isOnlyThere })
  if (result.restored)
    await appendEvent(context.db, {
      type: 'ref.restored',
      goalId: goal.id,
      taskId: task.id,
      runId: run.id,
      payload: { ref, found: after, restored: to },
    })
  return result
}

const judgeRef = async (runContext: RunContext, change: RefChange, evidence: CheckoutEvidence) => {
  const { context, run } = runContext
  const { ref, after } = change
  if (after !== null && !after.startsWith('ref: ') && (await isFromClone(runContext, after)))
    return { by: 'agent', run: run.id, why: `the commit comes from the clone of run ${run.id}`, alike: false } as const
  // The log of a deleted ref is gone, or was left behind by whoever removed only its file.
  const log = after === null ? [] : await context.ports.git.readRefLog(context.repository, ref, longestLog)
  return attributeRef(change, log, evidence)
}

const notJudged = {
  by: 'unknown',
  run: null,
  why: 'too many refs changed to judge each by its log',
  alike: false,
} as const

/** The branches that goals land on and HEAD come first, so that many new refs hide nothing that later work builds on. */
const mattersFirst = (goals: readonly Goal[], changes: readonly RefChange[]): RefChange[] => {
  const matters = ({ ref }: RefChange): boolean =>
    ref === 'HEAD' || goals.some(({ targetBranch }) => `refs/heads/${targetBranch}` === ref)
  return [...changes.filter(matters), ...changes.filter((change) => !matters(change))]
}

const judgeRefs = async (
  runContext: RunContext,
  changed: readonly RefChange[],
  known: { goals: readonly Goal[]; evidence: CheckoutEvidence },
): Promise<RefFinding[]> => {
  const found: RefFinding[] = []
  const judged = mattersFirst(
    known.goals,
    changed.filter((change) => !isOurs(change, known.goals)),
  )
  for (const [at, change] of judged.entries()) {
    const attribution = at < mostJudged ? await judgeRef(runContext, change, known.evidence) : notJudged
    const restored = at < mostJudged ? await restoreTarget(runContext, change, known) : { restored: false }
    // What only a person can have done is nothing to report.
    if (attribution.by !== 'owner' || !attribution.alike) found.push({ ...change, ...attribution, ...restored })
  }
  return found
}

interface CheckoutFinding extends Attribution {
  part: PartChange['part'] | 'ref'
  name: string
  how: 'added' | 'changed' | 'removed'
  before: string | null
  after: string | null
  /** It decides which programs git starts in the checkout. */
  dangerous: boolean
}

const judgeParts = (
  runContext: RunContext,
  changes: readonly PartChange[],
  evidence: CheckoutEvidence,
): CheckoutFinding[] =>
  changes
    // In direct mode the files are the work.
    .filter(({ part }) => runContext.goal.repoMode !== 'direct' || part === 'config' || part === 'hook')
    .map((change) => ({ ...change, ...attributePart(change, evidence), dangerous: isDangerous(change) }))
    .filter(({ by }) => by !== 'owner')

const ofRef = ({ ref, before, after, by, run, why }: RefFinding): CheckoutFinding => ({
  ...{ part: 'ref', name: ref, before, after, by, run, why, dangerous: false },
  how: before === null ? 'added' : after === null ? 'removed' : 'changed',
})

const weight = ({ by, dangerous }: CheckoutFinding): number => (dangerous ? 0 : 2) + (by === 'agent' ? 0 : 1)

/** Runs that are alive at the same time see the same change; it is told once. */
const isToldAlready = async (tx: Queryable, found: readonly CheckoutFinding[]): Promise<boolean> => {
  const { last } = await countOfDay(tx, 'checkout.changed')
  const told = (last?.changes ?? []) as CheckoutFinding[]
  const keyOf = ({ part, name, how, after }: CheckoutFinding): string => JSON.stringify([part, name, how, after])
  const known = new Set(told.map(keyOf))
  return found.every((change) => change.part !== 'file' && change.part !== 'index' && known.has(keyOf(change)))
}

/** Values of the configuration may be logins, and a digest of a short one can be guessed: events leave the store. */
const shownChange = ({ before, after, ...change }: CheckoutFinding) =>
  change.part === 'ref' ? { ...change, before, after } : change

interface Found {
  refs: readonly RefFinding[]
  changes: readonly CheckoutFinding[]
  notes: readonly string[]
  /** HEAD, and the branches that goals at work start from and land on. */
  builtOn: ReadonlySet<string>
}

const tell = async (runContext: RunContext, tx: Queryable, { refs, changes, notes }: Found, since: string) => {
  const { goal, task, run } = runContext
  const about = { goalId: goal.id, taskId: task.id, runId: run.id }
  const loud = refs.filter(({ by, alike }) => by === 'agent' || !alike)
  if (loud.length > 0) {
    const listed = loud.slice(0, shown)
    const payload = { refs: listed, more: loud.length - listed.length, since }
    await appendEvent(tx, { type: 'ref.moved', ...about, payload })
  }
  const quiet = refs.filter(({ by, alike }) => by === 'unknown' && alike).map(ofRef)
  const found = [...quiet, ...changes].sort((a, b) => weight(a) - weight(b))
  if (found.length === 0 || (await isToldAlready(tx, found))) return
  await appendEvent(tx, {
    type: 'checkout.changed',
    ...about,
    payload: {
      changes: found.slice(0, shown).map(shownChange),
      ...{ more: Math.max(0, found.length - shown), notes, since },
    },
  })
}

const unknownIn = ({ goal }: RunContext, { refs, changes, builtOn }: Found): (UnknownChange & { why: string })[] => {
  // In direct mode the agent works on the branch that is checked out.
  const moved = goal.repoMode === 'direct' ? [] : refs.filter(({ by, restored }) => by === 'unknown' && !restored)
  return [
    ...moved.map((change) => ({ ...ofRef(change), alike: change.alike, builtOn: builtOn.has(change.ref) })),
    ...changes.filter(({ by }) => by === 'unknown').map((change) => ({ ...change, alike: true, builtOn: false })),
  ].sort((a, b) => Number(b.dangerous) - Number(a.dangerous))
}

/** Reported and asked in one transaction: an engine that is killed before it does both again, one that is killed after it neither. */
const report = async (runContext: RunContext, found: Found, before: CheckoutBefore): Promise<void> => {
  const unknown = unknownIn(runContext, found)
  const why = [...new Set(unknown.map((change) => change.why))].slice(0, mostReasons)
  const asked = { found: unknown, why, since: new Date(before.at), held: heldCopies(runContext.paths) }
  for (let isDone = false; !isDone;) {
    const prepared = await prepareQuestion(runContext, asked)
    isDone = await runContext.context.db.transaction(async (tx) => {
      if (await isCheckoutTold(tx, runContext.run, before.at)) return true
      if (prepared !== undefined && !(await isStillPrepared(runContext, tx, prepared))) return false
      await tell(runContext, tx, found, before.at)
      if (prepared !== undefined) await askAboutCheckout(runContext, tx, prepared)
      return true
    })
  }
}

const changesSince = async (context: Context, before: CheckoutBefore, after: CheckoutBefore) => {
  const since = new Date(before.at)
  const [refs, parts] = [
    context.ports.git.compareRefs(before.refs, after.refs),
    compareParts(before.checkout, after.checkout),
  ]
  if (refs.length === 0 && parts.length === 0) return { refs, parts }
  const asRef = ({ ref, ...moved }: RefChange) => ({ part: 'ref' as const, name: ref, ...moved })
  return {
    refs: await undecided(context, since, { changes: refs, as: asRef }),
    parts: await undecided(context, since, { changes: parts, as: (part) => part }),
  }
}

/** Runs after the agent ended: restores what may be restored, then reports what changed. */
export const reportCheckoutChanges = async (runContext: RunContext): Promise<void> => {
  const { context } = runContext
  const before = checkoutBefore(runContext)
  if (before === undefined) return
  const after = await readNow(runContext)
  context.at('checkout-read')
  const changed = await changesSince(context, before, after)
  const files = changed.parts.filter(({ part }) => part === 'file').map(({ name }) => name)
  runContext.strayFiles = [...new Set([...(runContext.strayFiles ?? []), ...files])]
  const unread = Object.values(after.checkout.notes)
  if (unread.length > 0) context.log.warn({ run: runContext.run.id, unread }, 'a part of the checkout was not compared')
  if (changed.refs.length === 0 && changed.parts.length === 0) return storeCheckout(runContext, after)
  const goals = await listGoals(context.db)
  const { incomplete, ...evidence } = await evidenceSince(runContext, before.at)
  const refs = await judgeRefs(runContext, changed.refs, { goals, evidence })
  const changes = judgeParts(runContext, changed.parts, evidence)
  const live = (await listLiveGoals(context.db)).map(({ targetBranch }) => `refs/heads/${targetBranch}`)
  const found = { refs, changes, notes: [...incomplete, ...unread], builtOn: new Set(['HEAD', ...live]) }
  await report(runContext, found, before)
  context.at('checkout-reported')
  // Remembered as the new state, so that a relaunch or a restart does not report it again.
  await storeCheckout(runContext, refs.some(({ restored }) => restored) ? await readNow(runContext) : after)
}
