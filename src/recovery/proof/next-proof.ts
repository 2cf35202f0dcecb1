/**
 * Whether passing checks prove a change: each would have been red without it. Decided from the same checks on mixed trees. S = subject,
 * I = instruments (split.ts); 0 = base commit, 1 = work. One pure function says which of them must still run, or what they prove.
 */
import type { Proof } from '../../domain/proof.ts'
import { isSource } from './break-source.ts'
import type { Split } from './split.ts'
import type { TestCount } from './test-count.ts'

/** The trees on which the checks run again. */
export type Counterfactual =
  /** S0, I0. */
  | 'base'
  /** S1, I0: the work under the base's instruments. */
  | 'old instruments'
  /** S0, I1: the base's subject under the work's instruments. */
  | 'old subject'
  /** S1, I1, with every changed source broken. `early`: at the beginning of each file. */
  | 'broken'
  | 'broken early'
  /** S0, I1 and S0, I0, with the sources of the product broken. */
  | 'broken product'
  | 'broken product, old instruments'
  /** S1, I1 and S0, I0, with tests that expect something else. */
  | 'other expectations'
  | 'base, other expectations'
  /** S1, I1, with tests that fail when they are loaded: those in which a value was changed that something is compared with. */
  | 'broken tests'

/** How the checks ended on such a tree. `unknown` excuses and proves nothing. */
export interface CounterfactualResult {
  state: 'green' | 'red' | 'unknown'
  command?: string
  /** The failing tests by name, or one line of evidence; empty unless red. */
  failing: string[]
  /** `failing` are names of tests, all of them. */
  named: boolean
  /** It is red only because no test ran; every other command is green. */
  empty?: true
  /** A failing test used a name that does not exist any more. */
  nameGone?: boolean
  /** The output shows that a file which was broken on purpose was loaded. */
  loadedBroken?: boolean
  /** The checks wrote into tests that were made to expect something else. */
  rewrote?: boolean
  /** Absent where no runner counted. */
  count?: TestCount
  /** Why it is unknown. */
  why?: string
}

export interface ProofFacts {
  split: Split
  /** Changed sources that can be broken. */
  breakable: readonly string[]
  /** Whether the base has sources of the product that can be broken. */
  hasProduct: boolean
  /** Instruments that hold tests and that the base has. */
  changedTests: readonly string[]
  /** Those differ from the base only in names that are gone, so that they expect the same. */
  onlyRenames: boolean
  /** Instruments that the task names. */
  named: ReadonlySet<string>
  work: { count?: TestCount }
  /** Whether the tests can be made to expect something else, and whether it is a value that something is compared with. */
  expectations: 'none' | 'some' | 'exact'
  results: Partial<Record<Counterfactual, CounterfactualResult>>
}

export type ProofStep = { run: Counterfactual } | { proof: Proof }

const testsText = ({ failing, named }: CounterfactualResult): string => {
  if (!named) return `the checks fail without this change (${failing[0] ?? 'no output'})`.slice(0, 300)
  return `${failing.length} ${failing.length === 1 ? 'test fails' : 'tests fail'} without this change`
}

const proved = (fact: string, tests: string[] = []): ProofStep => ({
  proof: { kind: 'proved', fact, tests, files: [] },
})

const provedBy = (result: CounterfactualResult): ProofStep =>
  proved(testsText(result), result.named ? result.failing : [])

const unproven = (why: string): ProofStep => ({ proof: { kind: 'unproven', fact: why, tests: [], files: [] } })

const noticed = ({ command = 'a check' }: CounterfactualResult): ProofStep =>
  proved(`breaking it is noticed by ${command}`)

const otherTests = (tests: readonly string[], files: readonly string[], fact: string): ProofStep => ({
  proof: { kind: 'expectations changed', fact, tests: tests.length > 0 ? [...tests] : [...files], files: [...files] },
})

/** The checks pass because of the instruments that the task does not name. */
const ownChanges = (
  { split, named, changedTests }: ProofFacts,
  { failing, named: areTests }: CounterfactualResult,
): ProofStep => {
  const files = split.instruments.filter((path) => !named.has(path))
  const tests = areTests ? failing : []
  // "test/a.js fails, repair it" names a test as well, and does not ask for another test.
  if (files.length === 0 && changedTests.length > 0)
    return otherTests(tests, changedTests, 'the task names these tests')
  if (files.length === 0) return proved('the task asks for the changes of the checks that make them pass', tests)
  const what = areTests
    ? `without them ${failing.length === 1 ? 'a test fails' : `${failing.length} tests fail`}`
    : (failing[0] ?? '')
  return { proof: { kind: 'own changes', fact: what.slice(0, 300), tests, files } }
}

const unnoticed = (files: readonly string[]): ProofStep => ({
  proof: { kind: 'unnoticed', fact: 'no check fails when it is broken', tests: [], files: [...files] },
})

/** A run that ran fewer tests may be green because it ended early. */
const ranFewer = (now: TestCount | undefined, before: TestCount | undefined): boolean =>
  before !== undefined && (now?.ran ?? 0) < before.ran

/** Fewer tests run on the work than before, although no test file of the base was changed. */
const lostTests = ({ split, work }: ProofFacts, before: TestCount): ProofStep => {
  const files = split.instruments.length > 0 ? split.instruments : split.subject
  const fact = `with them ${work.count?.ran ?? 0} tests run instead of ${before.ran}`
  return { proof: { kind: 'own changes', fact, tests: [], files: [...files] } }
}

/** Runs what is still missing, in this order. */
const need = (
  facts: ProofFacts,
  counterfactual: Counterfactual,
  use: (result: CounterfactualResult) => ProofStep,
): ProofStep => {
  const result = facts.results[counterfactual]
  if (result === undefined) return { run: counterfactual }
  return result.state === 'unknown' ? unproven(result.why ?? 'the checks could not run again') : use(result)
}

/** Whether the instruments still notice a broken product. If they do not, and those of the base did, the change disarmed them. */
const stillArmed = (facts: ProofFacts, otherwise: ProofStep): ProofStep => {
  if (!facts.hasProduct) return unproven('the base commit has no sources that could be broken')
  return need(facts, 'broken product', (now) => {
    if (now.state === 'red') return otherwise
    return need(facts, 'broken product, old instruments', (before) =>
      before.state === 'green'
        ? unproven('no check fails when the product is broken, before this change or after it')
        : ownChanges(facts, {
            ...before,
            failing: ['with them no check fails when the product is broken'],
            named: false,
          }),
    )
  })
}

/** Breaks the changed sources, last. */
const broken = (facts: ProofFacts, otherwise: ProofStep): ProofStep => {
  if (facts.breakable.length === 0) return otherwise
  return need(facts, 'broken', (late) => {
    if (late.state === 'red') return noticed(late)
    // A program that ends itself never reaches the end of its file. With a count, it is known whether tests were lost by that.
    return need(facts, 'base', (base) => {
      if (base.count === undefined) return otherwise
      if (ranFewer(facts.work.count, base.count) && facts.changedTests.length === 0) return lostTests(facts, base.count)
      if (facts.work.count === undefined) return otherwise
      return need(facts, 'broken early', (early) => (early.state === 'red' ? noticed(early) : otherwise))
    })
  })
}

const onlySubject = (facts: ProofFacts): ProofStep => {
  const { base } = facts.results
  const { count } = facts.work
  // Without a count it is not known whether the work ends the tests early, which only a broken subject shows.
  if (base?.state === 'red' && count !== undefined && !ranFewer(count, base.count)) return provedBy(base)
  const last = unnoticed(facts.split.subject)
  if (facts.breakable.some(isSource)) return broken(facts, last)
  // Data end no program, so a check that fails without them tells enough.
  return broken(
    facts,
    need(facts, 'base', (result) => (result.state === 'red' ? provedBy(result) : last)),
  )
}

/** The first tests of the checks: the base expects nothing, so only a broken product shows what they are worth. */
const onlyFirstTests = (facts: ProofFacts): ProofStep => {
  if (!facts.hasProduct) return unproven('the base commit has no sources that could be broken')
  return need(facts, 'broken product', (now) =>
    now.state === 'red'
      ? proved('these are the first tests that the checks run, and they notice a broken product')
      : unproven('these are the first tests that the checks run, and none fails when the product is broken'),
  )
}

const onlyInstruments = (facts: ProofFacts): ProofStep =>
  need(facts, 'base', (base) => {
    if (base.empty === true) return onlyFirstTests(facts)
    if (base.state === 'red') return ownChanges(facts, base)
    return stillArmed(
      facts,
      proved('it changes only tests, tools or configuration, and the checks still notice a broken product'),
    )
  })

const inBoth = (now: CounterfactualResult, base: CounterfactualResult): string[] =>
  now.named && base.named ? now.failing.filter((name) => base.failing.includes(name)) : now.failing

/** Work with the first tests that its checks run. Tests that notice nothing have only turned the check green. */
const withFirstTests = (facts: ProofFacts): ProofStep => {
  const last = unnoticed(facts.split.subject)
  const idle = 'no test ran before, and with them none fails when the product is broken'
  const anyProduct = (): ProofStep =>
    need(facts, 'broken product', (now) =>
      now.state === 'red' ? last : ownChanges(facts, { ...now, failing: [idle], named: false }),
    )
  const weaker = broken(facts, facts.hasProduct ? anyProduct() : last)
  return need(facts, 'old subject', (result) => (result.state === 'red' ? provedBy(result) : weaker))
}

/** The base's instruments fail on the work: either it was changed to pass, or it changed what is expected. */
const oldInstrumentsFail = (facts: ProofFacts, failed: CounterfactualResult): ProofStep =>
  need(facts, 'base', (base) => {
    // Where no test was, the instruments of the base can neither accuse nor prove.
    if (failed.empty === true && base.empty === true) return withFirstTests(facts)
    const both = base.state === 'red' ? inBoth(failed, base) : []
    if (both.length > 0) return ownChanges(facts, { ...failed, failing: both })
    const skips = (facts.work.count?.skipped ?? 0) > (failed.count?.skipped ?? Infinity)
    // A test that is skipped now expects nothing else; it expects nothing.
    if (facts.changedTests.length === 0 || skips) return ownChanges(facts, failed)
    return need(facts, 'old subject', (result) => {
      if (result.state !== 'red' && failed.nameGone !== true) return ownChanges(facts, failed)
      const fact = result.state === 'red' ? testsText(result) : 'the name that they used is gone'
      // A task that names the tests has allowed it, unless it names them because they fail.
      const isAsked = facts.changedTests.every((path) => facts.named.has(path))
      if (base.state === 'green' && (isAsked || (facts.onlyRenames && failed.nameGone === true))) return proved(fact)
      return otherTests(failed.named ? failed.failing : [], facts.changedTests, fact)
    })
  })

const oldInstrumentsPass = (facts: ProofFacts, { count }: CounterfactualResult): ProofStep => {
  if (count !== undefined && ranFewer(facts.work.count, count) && facts.changedTests.length === 0)
    return lostTests(facts, count)
  const weaker = broken(facts, stillArmed(facts, unnoticed(facts.split.subject)))
  return need(facts, 'old subject', (result) => (result.state === 'red' ? provedBy(result) : weaker))
}

const proofOfChange = (facts: ProofFacts): ProofStep => {
  const { subject, instruments } = facts.split
  if (instruments.length === 0) return onlySubject(facts)
  if (subject.length === 0) return onlyInstruments(facts)
  return need(facts, 'old instruments', (result) =>
    result.state === 'red' ? oldInstrumentsFail(facts, result) : oldInstrumentsPass(facts, result),
  )
}

/** The checks end well although their runner counted failed tests, which is not so on the base commit: something hides the failures. */
const hiddenFailures = (facts: ProofFacts, failed: number, otherwise: () => ProofStep): ProofStep =>
  need(facts, 'base', (base) => {
    if (base.state === 'green' && (base.count?.failed ?? 0) >= failed) return otherwise()
    const { subject, instruments } = facts.split
    const fact = `the checks end with success, although their runner counts ${failed} failed ${failed === 1 ? 'test' : 'tests'}`
    return { proof: { kind: 'own changes', fact, tests: [], files: [...subject, ...instruments] } }
  })

/** The base's tests notice other expectations: all of them, or more than failed there before. */
const noticesExpectations = (base: CounterfactualResult, other: CounterfactualResult): boolean => {
  if (other.state !== 'red') return false
  if (base.state === 'green') return true
  return base.named && other.named && other.failing.some((name) => !base.failing.includes(name))
}

/** Work whose tests pass whatever they expect has proved nothing: it runs in their process, and may have disarmed them. */
const whileExpecting = (facts: ProofFacts, proof: ProofStep): ProofStep => {
  const { subject, instruments } = facts.split
  const { 'other expectations': now, base, 'base, other expectations': before } = facts.results
  if (!('proof' in proof) || subject.length === 0 || facts.expectations === 'none') return proof
  // The end of a program that ends itself is never reached, so that breaking it there is not noticed. Yet the check was red without it.
  const isSilent = proof.proof.kind === 'unnoticed' && base?.state === 'red' && instruments.length === 0
  if (proof.proof.kind !== 'proved' && !isSilent) return proof
  if (now === undefined) return { run: 'other expectations' }
  if (now.state !== 'green')
    return isSilent && now.state === 'red' && facts.expectations === 'exact' ? provedBy(base) : proof
  if (base === undefined) return { run: 'base' }
  if (before === undefined) return { run: 'base, other expectations' }
  const fact = 'with them the tests pass whatever they expect'
  const disarmed: ProofStep = { proof: { kind: 'own changes', fact, tests: [], files: [...subject] } }
  if (noticesExpectations(base, before)) return disarmed
  if (now.rewrote === true && before.state === 'red' && before.rewrote !== true) return disarmed
  if (base.state === 'green' || facts.expectations !== 'exact') return proof
  // Failures of the base hide those that the values would cause there. A check that runs these tests fails with such a value on honest work.
  return need(facts, 'broken tests', (broken) => (broken.state === 'red' ? disarmed : proof))
}

export const nextProof = (facts: ProofFacts): ProofStep => {
  const { subject, instruments } = facts.split
  if (subject.length === 0 && instruments.length === 0) return unproven('it changes only documentation')
  const failed = facts.work.count?.failed ?? 0
  const proof = (): ProofStep => proofOfChange(facts)
  return whileExpecting(facts, failed > 0 ? hiddenFailures(facts, failed, proof) : proof())
}
