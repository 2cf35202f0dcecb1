/**
 * What holds work whose checks passed, until a person approves it. What the checks prove decides; the list of weakened checks only gives
 * the words for it. Without a proof the list decides. Pure.
 */
import { proofText, type Proof } from '../../domain/proof.ts'
import type { Verdict, Weakening } from '../../domain/run.ts'
import { unnamedWeakenings, type NamingTask } from '../named-by-task.ts'
import { weakeningText } from '../weakened.ts'

export const decides = (proof: Proof | undefined): proof is Proof =>
  proof !== undefined && proof.kind !== 'unproven' && proof.reported !== true

/** Checks that pass only because the work changed them have verified nothing. */
export const provenOutcome = (outcome: Verdict['outcome'], proof: Proof | undefined): Verdict['outcome'] =>
  decides(proof) && proof.kind === 'own changes' ? 'not verified' : outcome

/**
 * Weakenings that a proof cannot exonerate: it ran with the same installed programs, and tests inside of a source (Rust) are switched
 * together with it.
 */
const isBeyondProof = ({ beyondProof, path }: Weakening): boolean => beyondProof === true || path.endsWith('.rs')

/** As lines; empty = nothing holds the work. */
export const objectionsTo = (
  task: NamingTask,
  { weakened = [], proof }: Pick<Verdict, 'weakened' | 'proof'>,
): string[] => {
  const unnamed = unnamedWeakenings(task, weakened)
  if (!decides(proof)) return unnamed.map(weakeningText)
  const beyond = unnamed.filter(isBeyondProof).map(weakeningText)
  if (proof.kind !== 'own changes') return beyond
  const words = unnamed.filter(({ path }) => proof.files.includes(path)).map(weakeningText)
  return [...new Set([proofText(proof), ...words, ...beyond])]
}
