/** The decisions of a loop: what follows a turn, whether the gates hold, and whether the iterations repeat themselves. Pure. */
import type { IterationTests, LoopRole, LoopState } from '../../domain/loop.ts'
import type { OpenBox } from './open-boxes.ts'
import type { Review } from './review.ts'
import { digestOf, normalised } from '../signature.ts'

/** What follows the turn of a role. `proposal`: what the tester proposed is decided, then comes the reviewer's turn. */
export const afterTurn: Record<LoopRole, { turn: LoopRole } | 'tests' | 'proposal' | 'gates'> = {
  planner: { turn: 'worker' },
  worker: 'tests',
  tester: 'proposal',
  reviewer: 'gates',
}

export interface Gate {
  name: 'promise' | 'tests' | 'checklist' | 'evidence' | 'questions'
  holds: boolean
  /** Why it does not hold, or what it compared. */
  detail: string
}

export interface GateFacts {
  review: Review
  tests: IterationTests | null
  /** The tree of the work now. */
  tree: string
  /** Whether there is a plan.md. Without it no box could be open, so its removal would pass the gate. */
  hasPlan: boolean
  checklist: { file: string; open: readonly OpenBox[]; count: number }[]
  /** What is wrong with the files that the reviewer named. */
  wrongEvidence: readonly string[]
  openQuestions: readonly string[]
}

const gate = (name: Gate['name'], holds: boolean, detail: string): Gate => ({ name, holds, detail })

const promiseGate = ({ review }: GateFacts): Gate => {
  if (!review.ok) return gate('promise', false, review.problem)
  const left = review.remaining.length === 0 ? '' : `: ${review.remaining.join('; ').slice(0, 1_000)}`
  return gate('promise', review.promised, review.promised ? 'given' : `the reviewer did not give it${left}`)
}

const testsGate = ({ tests, tree }: GateFacts): Gate => {
  if (tests === null) return gate('tests', false, 'they have not run')
  if (tests.state === 'failed') return gate('tests', false, tests.text)
  return gate('tests', tests.tree === tree, tests.tree === tree ? tests.text : 'the files changed after they ran')
}

const named = 10

const checklistGate = ({ checklist, hasPlan }: GateFacts): Gate => {
  if (!hasPlan) return gate('checklist', false, 'there is no plan.md')
  const open = checklist.flatMap(({ file, open: boxes }) => boxes.map(({ line, title }) => `${file}:${line} ${title}`))
  const count = checklist.reduce((sum, file) => sum + file.count, 0)
  if (open.length === 0)
    return gate('checklist', true, count === 0 ? 'the plan has no boxes' : `all ${count} boxes are ticked`)
  return gate('checklist', false, `${open.length} of ${count} boxes are open: ${open.slice(0, named).join('; ')}`)
}

const evidenceGate = ({ review, wrongEvidence }: GateFacts): Gate => {
  const count = review.ok ? review.evidence.length : 0
  if (wrongEvidence.length > 0) return gate('evidence', false, wrongEvidence.slice(0, named).join('; '))
  return gate(
    'evidence',
    true,
    count === 0 ? 'the reviewer named none' : `${count} file(s) are as the reviewer named them`,
  )
}

const questionsGate = ({ openQuestions }: GateFacts): Gate =>
  gate('questions', openQuestions.length === 0, openQuestions.length === 0 ? 'none is open' : openQuestions.join('; '))

/** All gates, in the order in which they are reported. */
export const gatesOf = (facts: GateFacts): Gate[] =>
  [promiseGate, testsGate, checklistGate, evidenceGate, questionsGate].map((read) => read(facts))

export const failing = (gates: readonly Gate[]): Gate[] => gates.filter(({ holds }) => !holds)

/** One line per gate that does not hold. */
export const openText = (gates: readonly Gate[]): string =>
  failing(gates)
    .map(({ name, detail }) => `- ${name}: ${detail}`)
    .join('\n')

/**
 * How the iteration ended, equal for iterations without progress. Failing tests count by what fails, whatever files changed. Without
 * a failing test the files and the gates count. Empty = unknown.
 */
export const iterationSignature = (tests: IterationTests | null, tree: string, gates: readonly Gate[]): string => {
  if (tests?.state === 'failed') return tests.signature === '' ? '' : `tests ${tests.signature}`
  if (tree === '') return ''
  return `gates ${digestOf(
    `${tree}\n${failing(gates)
      .map(({ name, detail }) => `${name} ${normalised(detail)}`)
      .join('\n')}`,
  )}`
}

/** How many of the newest signatures are equal. An empty one is unknown, so it is equal to nothing. */
export const repeats = (signatures: readonly string[]): number => {
  const last = signatures.at(-1) ?? ''
  if (last === '') return 0
  const other = signatures.findLastIndex((signature) => signature !== last)
  return signatures.length - 1 - other
}

export type IterationEnd =
  | { kind: 'land' }
  | { kind: 'next'; repeated: number }
  | { kind: 'stuck'; repeated: number }
  | { kind: 'limit' }

/** `threshold`: equal iterations after which a person is asked; -1 = never. `state` includes the signature of this iteration. */
export const afterIteration = (
  { iteration, limit, signatures }: Pick<LoopState, 'iteration' | 'limit' | 'signatures'>,
  gates: readonly Gate[],
  threshold: number,
): IterationEnd => {
  if (failing(gates).length === 0) return { kind: 'land' }
  const repeated = repeats(signatures)
  if (threshold !== -1 && repeated >= threshold) return { kind: 'stuck', repeated }
  return iteration >= limit ? { kind: 'limit' } : { kind: 'next', repeated }
}

/** The last iteration of a count that begins with this one. */
export const limitFrom = (iteration: number, most: number): number => iteration + most - 1
