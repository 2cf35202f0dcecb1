/** What passing checks prove about a change. */
export const proofKinds = ['proved', 'expectations changed', 'unnoticed', 'own changes', 'unproven'] as const

export interface Proof {
  /**
   * `proved`: the checks would have failed otherwise. `expectations changed`: tests of the base commit fail on the work, which changed
   * them together with the subject. `unnoticed`: no check fails when the changed files are broken. `own changes`: the checks pass only
   * because of what the work changed about them. `unproven`: not tried, or it could not be decided.
   */
  kind: (typeof proofKinds)[number]
  /** The strongest fact, or the reason why there is none. */
  fact: string
  /** Tests by name: those that fail without the change, or those whose expectations changed. */
  tests: string[]
  /** Unnoticed files; the changed instruments that make the checks pass; the test files whose expectations changed. */
  files: string[]
  /** `verify.proof` is `report`: it is said and holds nothing. */
  reported?: true
  /** Runs of the checks that it took, and their time. */
  runs?: number
  ms?: number
}

/** Why nothing is proved where each check has a failure that is excused: the base commit has it as well, or it came once. */
export const noneAtOnce = 'no check passed at once'

/** What every face says of a verdict: its outcome, and the strongest fact. */
export const outcomeText = (outcome: string, proof: Proof | undefined): string => {
  if (proof === undefined) return outcome
  if (proof.kind === 'unnoticed' || proof.kind === 'own changes') return proofText(proof)
  if (proof.kind === 'unproven') {
    const checks = proof.fact === noneAtOnce ? 'nothing fails that passed before' : 'the checks pass'
    return `${outcome === 'verified' ? `verified: ${checks}; ` : `${outcome}: `}${proofText(proof)}`
  }
  return `${outcome}${proof.kind === 'expectations changed' ? ',' : ':'} ${proofText(proof)}`
}

const atMost = 10

const listed = (names: readonly string[]): string =>
  `${names.slice(0, atMost).join(', ')}${names.length > atMost ? ` and ${names.length - atMost} more` : ''}`

/** What passing checks prove, in words. */
export const proofText = ({ kind, fact, tests, files }: Proof): string => {
  switch (kind) {
    case 'proved':
      return tests.length === 0 ? fact : `${fact}: ${listed(tests)}`
    case 'expectations changed':
      return `expectations changed: ${listed(tests)}`
    case 'unnoticed':
      return `passes, not noticed by any check: ${listed(files)}`
    case 'own changes':
      return `passes only with its own changes to ${listed(files)}${tests.length === 0 ? ` (${fact})` : `; failing without them: ${listed(tests)}`}`
    case 'unproven':
      return `it is not shown that a check would fail without this change (${fact})`
  }
}

/** How a task is shown whose agent had nothing to change: its checks pass as they are. */
export const nothingToDo = 'nothing to do'
