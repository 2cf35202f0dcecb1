/** The newest run of a task as the views show it. Pure. */
import type { LoopState } from '../../domain/loop.ts'
import { nothingToDo, outcomeText, type Proof } from '../../domain/proof.ts'
import type { Run, Verdict } from '../../domain/run.ts'
import { abridged } from '../../domain/task-title.ts'

const shownLoop = ({ iteration, limit, role, stage, tests }: LoopState) => ({
  ...{ iteration, limit, role, stage },
  tests: tests?.state ?? null,
})

export const proofOf = (verdict: Verdict | null | undefined): string | null => {
  if (verdict?.noChange === true && verdict.outcome === 'verified') return nothingToDo
  return verdict?.proof === undefined ? null : outcomeText(verdict.outcome, verdict.proof)
}

/** Tests of the base commit that the work made expect something else, and their files. */
const expectationsOf = (verdict: Verdict | null): Pick<Proof, 'tests' | 'files'> | null => {
  const proof = verdict?.proof
  return proof?.kind === 'expectations changed' ? { tests: proof.tests, files: proof.files } : null
}

const longestCause = 200

const firstLine = (text: string): string => text.trim().split('\n', 1)[0]?.trim() ?? ''

/** Why the run failed, in one line; equal signatures are the same failure. */
const failureOf = ({ errorMeta }: Run) => {
  if (errorMeta === null) return null
  const { failureCode, evidence, message, signature } = errorMeta
  return { code: failureCode, text: abridged(firstLine(evidence) || firstLine(message), longestCause), signature }
}

export const shownRun = (run: Run | undefined) =>
  run === undefined
    ? null
    : {
        ...{ id: run.id, number: run.number, state: run.state, phase: run.phase, startedAt: run.startedAt },
        endedAt: run.endedAt,
        commit: run.commit,
        outcome: run.verdict?.outcome ?? null,
        notes: run.verdict?.notes ?? [],
        failure: failureOf(run),
        proof: proofOf(run.verdict),
        expectations: expectationsOf(run.verdict),
        loop: run.loop && shownLoop(run.loop),
      }
