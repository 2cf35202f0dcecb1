/**
 * Asks the owner about changes in the checkout of which it is not known who made them: one question per checkout, which later changes join.
 * Nothing waits for its answer but landings on a branch whose tip is in question, where they would bury what appeared there.
 */
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  isDecided,
  joinChanges,
  type CheckoutChange,
  type CheckoutPlace,
  type DecidedChanges,
} from '../../domain/checkout-change.ts'
import type { Escalation } from '../../domain/escalation.ts'
import type { LandingRefusal } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { visibleText } from '../../visible-text.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import {
  answerEscalation,
  checkoutQuestions,
  extendEscalation,
  lockCheckoutQuestions,
  openEscalation,
} from '../../store/escalation.ts'
import { keepChoice, restoreChoice } from '../core/choices.ts'
import type { Context } from '../core/context.ts'
import type { RunContext } from '../core/run-context.ts'
import { withoutSecrets } from '../core/without-secrets.ts'

/** A change whose author is not known, as it was found after a run. */
export interface UnknownChange extends CheckoutChange {
  dangerous: boolean
  /** For a ref: it moved as a person at work in the checkout moves it. */
  alike: boolean
  /** For a ref: HEAD, or a branch that a goal at work starts from and lands on. */
  builtOn: boolean
}

/**
 * Whether to ask the owner. Owners edit, stage, commit, fetch and create, delete or switch branches all day. If each of these were a
 * question, the one that matters would be overlooked, so they are only reported, and listed in a question that is open anyway.
 */
export const needsAnswer = ({ part, dangerous, alike, builtOn }: UnknownChange): boolean =>
  part === 'ref' ? builtOn && !alike : dangerous

/** A fetch moves these, in some editors every few minutes; nothing builds on them. */
const isOfRemote = ({ part, name }: CheckoutChange): boolean => part === 'ref' && name.startsWith('refs/remotes/')

const placeOf = ({ host, repository }: Pick<Context, 'host' | 'repository'>): CheckoutPlace => ({
  host,
  root: repository.root,
})

const restoreOf = ({ choices }: Pick<Escalation, 'choices'>) => choices.find((choice) => choice.kind === 'restore')

/** What the question is about; empty for one about another checkout. */
export const changesIn = (question: Pick<Escalation, 'choices'>, context: Pick<Context, 'host' | 'repository'>) => {
  const choice = restoreOf(question)
  const { host, root } = placeOf(context)
  return choice?.place.host === host && choice.place.root === root ? choice.changes : []
}

/**
 * Why nothing lands on the branch now; undefined = landing is allowed. A landing would put commits on top of what appeared there. A commit
 * that looks like the owner's holds nothing up: work is rebased onto it and verified there.
 */
export const refusalInQuestion = async (context: Context, branch: string): Promise<LandingRefusal | undefined> => {
  // The checkout of an engine's own mirror is not the owner's.
  if (context.remote !== undefined) return undefined
  const isMoved = (question: Escalation): boolean =>
    question.state === 'pending' &&
    changesIn(question, context).some(
      ({ part, name, alike }) => part === 'ref' && name === `refs/heads/${branch}` && alike !== true,
    )
  const found = (await checkoutQuestions(context.db, context.clock.now())).find(isMoved)
  if (found === undefined) return undefined
  const detail = `${branch} changed while agents ran, and it is not known by whom: unstuck answer ${found.id}`
  return { reason: 'in-question', detail, paths: [] }
}

export const heldFolder = ({ stateDir }: Pick<Context, 'stateDir'>, question: string): string =>
  join(stateDir, 'held', question)

const short = (value: string | null): string =>
  value === null ? 'nothing' : value.startsWith('ref: ') ? value.slice('ref: '.length) : value.slice(0, 12)

/** What is in the index or in a file is compared with the commit, or with the index. */
const appeared = { ref: 'added', config: 'added', hook: 'added', index: 'staged', file: 'edited' } as const
const disappeared = { ref: 'removed', config: 'removed', hook: 'removed', index: 'unstaged', file: 'reset' } as const

const howOf = ({ part, before, after }: CheckoutChange): string =>
  before === null ? appeared[part] : after === null ? disappeared[part] : 'changed'

const nameOf = ({ part, name, before, after }: CheckoutChange): string =>
  part === 'ref' ? `${visibleText(name)} ${short(before)} → ${short(after)}` : `${part} ${visibleText(name)}`

/** How many changes a sentence names, and how many the lines below it. */
const mostNamed = 3
const mostLines = 50

const longestValue = 200

const valueText = (context: Context, values: readonly string[] | undefined): string =>
  values === undefined
    ? ''
    : `, now: ${visibleText(withoutSecrets(context, values.join(', ')))
        .replaceAll('\n', ' ')
        .slice(0, longestValue)}`

const lineOf = (context: Context, change: CheckoutChange, values: Record<string, string[]>): string => {
  const { part, name, before, after } = change
  if (part !== 'ref')
    return `${nameOf(change)}: ${howOf(change)}${valueText(context, part === 'config' ? values[name] : undefined)}`
  const look =
    before === null || after === null || name === 'HEAD'
      ? ''
      : ` (to see it: git log ${short(before)}..${short(after)}; once there is work on top: git revert ${short(before)}..${short(after)})`
  return `${nameOf(change)}${look}`
}

const textsOf = (
  { context, run }: Pick<RunContext, 'context' | 'run'>,
  {
    id,
    changes,
    why,
    values,
  }: Pick<PreparedQuestion, 'id' | 'why' | 'values'> & { changes: readonly CheckoutChange[] },
) => {
  const named = changes.slice(0, mostNamed).map(nameOf).join('; ')
  const more = changes.length > mostNamed ? ` and ${changes.length - mostNamed} more changes` : ''
  const happened = `Your checkout ${context.repository.root} changed while agents ran, and it is not known by whom: ${named}${more}.`
  const beyond = changes.length - mostLines
  const details = [
    ...changes.slice(0, mostLines).map((change) => lineOf(context, change, values)),
    ...(beyond > 0 ? [`and ${beyond} more`] : []),
    ...why.map((text) => `Evidence: ${text} (run ${run.id})`),
    `The state before is held: commits below refs/unstuck/kept/${id}, files in ${heldFolder(context, id)}. No answer loses anything.`,
    'Other work continues. Nothing lands on a branch that moved like this until you answer.',
  ].join('\n')
  const question = `${happened} Keep it if it was you, or restore the state before.`
  const choices = [keepChoice(id), restoreChoice(id, placeOf(context), [...changes])]
  return { happened, question, details, choices }
}

const isCommit = (value: string | null): value is string => value !== null && /^[0-9a-f]{40,64}$/.test(value)

/** Git would remove what no ref names any more. */
const holdObjects = async (context: Context, id: string, changes: readonly CheckoutChange[]): Promise<void> => {
  const objects = changes.flatMap(({ part, before, after }) =>
    part === 'ref' ? [before, after] : part === 'index' ? [before?.slice(6) ?? null, after?.slice(6) ?? null] : [],
  )
  for (const to of new Set(objects.filter(isCommit))) {
    const ref = `refs/unstuck/kept/${id}/${to.slice(0, 12)}`
    try {
      await context.ports.git.restoreRef(context.repository, { ref, from: null, to })
    } catch (error) {
      // It is gone already; the question is still worth asking.
      context.log.warn({ ref, error: messageOf(error) }, 'an object of the checkout could not be kept')
    }
  }
}

const decidedIn = (questions: readonly Escalation[], context: Context): DecidedChanges[] =>
  questions.flatMap((question) =>
    question.answer === 'keep' || question.answer === 'restore'
      ? [{ answer: question.answer, changes: changesIn(question, context) }]
      : [],
  )

/** Of all that changed since then, what no answer was about. */
export const undecided = async <T>(
  context: Context,
  since: Date,
  { changes, as }: { changes: readonly T[]; as: (change: T) => CheckoutChange },
): Promise<T[]> => {
  const decided = decidedIn(await checkoutQuestions(context.db, since), context)
  return changes.filter((change) => !isDecided(as(change), decided))
}

export interface FoundChanges {
  found: readonly UnknownChange[]
  /** The evidence, in words. */
  why: readonly string[]
  /** When the state before was read. */
  since: Date
  /** Copies of the state before. */
  held: string
}

/** What the transaction writes. Git is never started in it. */
export interface PreparedQuestion extends Pick<FoundChanges, 'why' | 'since'> {
  /** Of the question that waits, or of the new one. */
  id: string
  isNew: boolean
  found: readonly CheckoutChange[]
  /** Of the configuration's keys in the question. */
  values: Record<string, string[]>
}

const openIn = (questions: readonly Escalation[], context: Context): Escalation | undefined =>
  questions.find((question) => question.state === 'pending' && changesIn(question, context).length > 0)

/** Holds the state before. Undefined = there is nothing to ask. */
export const prepareQuestion = async (
  { context }: RunContext,
  { found, why, since, held }: FoundChanges,
): Promise<PreparedQuestion | undefined> => {
  if (context.remote !== undefined || found.length === 0) return undefined
  const questions = await checkoutQuestions(context.db, since)
  const decided = decidedIn(questions, context)
  const open = openIn(questions, context)
  const fresh = found.filter((change) => !isOfRemote(change) && !isDecided(change, decided))
  if (open === undefined && !fresh.some(needsAnswer)) return undefined
  const plain = fresh.map(({ part, name, before, after, alike }) => ({
    ...{ part, name, before, after, ...(part === 'ref' ? { alike } : {}) },
  }))
  const id = open?.id ?? context.newId('q')
  const { git } = context.ports
  // Copied before the question is stored, which names the copies. After a crash in between they are left over and unused.
  await git.keepHeld(held, heldFolder(context, id))
  await holdObjects(context, id, plain)
  const all = [...(open === undefined ? [] : changesIn(open, context)), ...plain]
  const keys = all.flatMap(({ part, name }) => (part === 'config' ? [name] : []))
  const values = await git.readConfigValues(context.repository, keys)
  return { id, isNew: open === undefined, found: plain, why, since, values }
}

/** False = another run asked, or the owner answered, since it was prepared. Takes the lock that keeps it so until the transaction ends. */
export const isStillPrepared = async (
  { context }: RunContext,
  tx: Queryable,
  { id, isNew, since }: PreparedQuestion,
): Promise<boolean> => {
  await lockCheckoutQuestions(tx)
  const open = openIn(await checkoutQuestions(tx, since), context)
  return isNew ? open === undefined : open?.id === id
}

/** Opens the question about the checkout, or adds to the one that waits. In the transaction that records the events. */
export const askAboutCheckout = async (
  runContext: RunContext,
  tx: Queryable,
  prepared: PreparedQuestion,
): Promise<void> => {
  const { context, goal } = runContext
  const { id, isNew, found } = prepared
  const open = isNew ? undefined : openIn(await checkoutQuestions(tx, prepared.since), context)
  const before = open === undefined ? [] : changesIn(open, context)
  const changes = joinChanges(before, found)
  if (isDeepStrictEqual(changes, before)) return
  if (changes.length === 0 && open !== undefined) {
    mustSucceed(await answerEscalation(tx, open, 'overtaken'))
    return
  }
  const texts = textsOf(runContext, { ...prepared, changes })
  if (open !== undefined) return extendEscalation(tx, open, texts)
  await openEscalation(tx, {
    ...{ id, goalId: goal.id, taskId: null, runId: null, kind: 'checkout_changed', tried: [] },
    ...texts,
  })
}
