import { expect, test } from 'vitest'
import { nextProof, type Counterfactual, type CounterfactualResult, type ProofFacts } from './next-proof.ts'

const green: CounterfactualResult = { state: 'green', failing: [], named: false, count: { ran: 3, skipped: 0 } }
const red = (...failing: string[]): CounterfactualResult => ({
  state: 'red',
  command: 'npm test',
  failing,
  named: true,
})
const unknown: CounterfactualResult = { state: 'unknown', failing: [], named: false, why: 'no disk' }

const facts = (part: Partial<ProofFacts> = {}): ProofFacts => ({
  split: { subject: ['src/a.js'], instruments: ['test/a.test.js'] },
  breakable: ['src/a.js'],
  hasProduct: true,
  changedTests: ['test/a.test.js'],
  named: new Set<string>(),
  work: { count: { ran: 3, skipped: 0 } },
  expectations: 'none',
  onlyRenames: false,
  results: {},
  ...part,
})

/** Plays the counterfactuals until they prove something. Results that are not given are not to be asked for. */
const decide = (given: ProofFacts, results: Partial<Record<Counterfactual, CounterfactualResult>>) => {
  const ran: Counterfactual[] = []
  for (;;) {
    const known = Object.fromEntries(ran.map((counterfactual) => [counterfactual, results[counterfactual]]))
    const step = nextProof({ ...given, results: { ...given.results, ...known } })
    if ('proof' in step) return { ...step.proof, ran }
    if (results[step.run] === undefined) throw new Error(`${step.run} is not to be run`)
    ran.push(step.run)
  }
}

const subjectOnly = facts({ split: { subject: ['src/a.js'], instruments: [] }, changedTests: [] })
const instrumentsOnly = facts({
  split: { subject: [], instruments: ['package.json'] },
  breakable: [],
  changedTests: [],
})

test('checks that end well although a test failed prove nothing, unless the base does the same', () => {
  const failing = { ...subjectOnly, work: { count: { ran: 3, skipped: 0, failed: 1 } } }
  expect(decide(failing, { base: red('adds') })).toMatchObject({ kind: 'own changes', files: ['src/a.js'] })
  expect(decide(failing, { base: green })).toMatchObject({ kind: 'own changes' })
  const same = { ...green, count: { ran: 3, skipped: 0, failed: 1 } }
  expect(decide(failing, { base: same, broken: red() })).toMatchObject({ kind: 'proved' })
})

test('new tests that fail without the work prove it', () => {
  const proof = decide(facts(), { 'old instruments': green, 'old subject': red('adds', 'subtracts') })
  expect(proof).toMatchObject({ kind: 'proved', tests: ['adds', 'subtracts'], ran: ['old instruments', 'old subject'] })
})

test('the first tests of a repository are proved by a product that they notice', () => {
  const empty: CounterfactualResult = { ...red('it runs no test (1..0)'), named: false, empty: true }
  const onlyTests = facts({ split: { subject: [], instruments: ['a.test.js'] }, breakable: [], changedTests: [] })
  expect(decide(onlyTests, { base: empty, 'broken product': red('adds') })).toMatchObject({ kind: 'proved' })
  expect(decide(onlyTests, { base: empty, 'broken product': green })).toMatchObject({ kind: 'unproven' })
  const withSubject = facts({ changedTests: [] })
  const none = { 'old instruments': empty, base: empty }
  expect(decide(withSubject, { ...none, 'old subject': red('adds') })).toMatchObject({
    kind: 'proved',
    tests: ['adds'],
  })
  expect(decide(withSubject, { ...none, 'old subject': green, broken: red() })).toMatchObject({ kind: 'proved' })
  const unseen = { ...none, 'old subject': green, broken: green }
  expect(decide(withSubject, { ...unseen, 'broken product': red() })).toMatchObject({ kind: 'unnoticed' })
  expect(decide(withSubject, { ...unseen, 'broken product': green })).toMatchObject({ kind: 'own changes' })
  // Another check of the base fails on the work, or the base had tests, which the work lost.
  expect(decide(withSubject, { 'old instruments': red(), base: empty })).toMatchObject({ kind: 'own changes' })
  expect(decide(withSubject, { 'old instruments': empty, base: green })).toMatchObject({ kind: 'own changes' })
})

test('a base that is known to be red needs no further run, unless the work ran fewer tests', () => {
  const base = { ...red('adds'), count: { ran: 3, skipped: 0 } }
  expect(decide({ ...subjectOnly, results: { base } }, {})).toMatchObject({ kind: 'proved', ran: [] })
  const early = { ...subjectOnly, work: { count: { ran: 1, skipped: 0 } }, results: { base } }
  expect(decide(early, { broken: green })).toMatchObject({ kind: 'own changes', files: ['src/a.js'] })
  const uncounted = { ...subjectOnly, work: {}, results: { base } }
  expect(decide(uncounted, { broken: green })).toMatchObject({ kind: 'own changes' })
  const silent = { ...subjectOnly, work: {} }
  const quiet: CounterfactualResult = { state: 'green', failing: [], named: false }
  expect(decide(silent, { broken: quiet, base: quiet })).toMatchObject({ kind: 'unnoticed', files: ['src/a.js'] })
})

test('a subject whose breaking is noticed is proved; one that ends the program at its end is broken at its beginning', () => {
  expect(decide(subjectOnly, { broken: red('adds') })).toMatchObject({ kind: 'proved', ran: ['broken'] })
  const late = { broken: green, base: green }
  expect(decide(subjectOnly, { ...late, 'broken early': red('adds') })).toMatchObject({ kind: 'proved' })
  expect(decide(subjectOnly, { ...late, 'broken early': green })).toMatchObject({ kind: 'unnoticed' })
})

test('a failure of the base that is left in its form makes the pass a work of the instruments', () => {
  const proof = decide(facts(), { 'old instruments': red('adds', 'new name'), base: red('adds') })
  expect(proof).toMatchObject({ kind: 'own changes', files: ['test/a.test.js'], tests: ['adds'] })
})

test('changed expectations are told from emptied tests by whether the tests notice the old subject', () => {
  const results = { 'old instruments': red('greets'), base: green }
  expect(decide(facts(), { ...results, 'old subject': red('greets') })).toMatchObject({
    kind: 'expectations changed',
    tests: ['greets'],
    files: ['test/a.test.js'],
  })
  expect(decide(facts(), { ...results, 'old subject': green })).toMatchObject({ kind: 'own changes' })
})

test('a name that is gone takes its tests along', () => {
  const results = {
    'old instruments': { ...red('greets'), nameGone: true as const },
    base: green,
    'old subject': green,
  }
  expect(decide(facts(), results)).toMatchObject({ kind: 'expectations changed' })
})

test('a test that is skipped now has no changed expectation', () => {
  const now = facts({ work: { count: { ran: 2, skipped: 1 } } })
  const failed = { ...red('greets'), count: { ran: 3, skipped: 0 } }
  expect(decide(now, { 'old instruments': failed, base: green })).toMatchObject({ kind: 'own changes' })
})

test('expectations that the task asks to change are allowed', () => {
  const named = facts({ named: new Set(['test/a.test.js']) })
  const results = { 'old instruments': red('greets'), base: green, 'old subject': red('greets') }
  expect(decide(named, results)).toMatchObject({ kind: 'proved' })
})

test('a task that names a failing test does not ask for another test', () => {
  const named = facts({ named: new Set(['test/a.test.js']) })
  const both = { 'old instruments': red('greets'), base: red('greets') }
  expect(decide(named, both)).toMatchObject({ kind: 'expectations changed', tests: ['greets'] })
  const gone = { 'old instruments': { ...red('file'), nameGone: true }, base: red('greets'), 'old subject': green }
  expect(decide(named, gone)).toMatchObject({ kind: 'expectations changed' })
})

test('tests in which only names changed that are gone expect the same', () => {
  const results = { 'old instruments': { ...red('greets'), nameGone: true }, base: green, 'old subject': red('greets') }
  expect(decide(facts({ onlyRenames: true }), results)).toMatchObject({ kind: 'proved' })
  expect(decide(facts(), results)).toMatchObject({ kind: 'expectations changed' })
})

test('a red base that only instruments turned green is their work, and allowed where the task names them', () => {
  expect(decide(instrumentsOnly, { base: red('adds') })).toMatchObject({ kind: 'own changes', files: ['package.json'] })
  const named = { ...instrumentsOnly, named: new Set(['package.json']) }
  expect(decide(named, { base: red('adds') })).toMatchObject({ kind: 'proved' })
})

test('changed instruments must still notice a broken product', () => {
  expect(decide(instrumentsOnly, { base: green, 'broken product': red('adds') })).toMatchObject({ kind: 'proved' })
  const disarmed = { base: green, 'broken product': green, 'broken product, old instruments': red('adds') }
  expect(decide(instrumentsOnly, disarmed)).toMatchObject({ kind: 'own changes' })
  const never = { base: green, 'broken product': green, 'broken product, old instruments': green }
  expect(decide(instrumentsOnly, never)).toMatchObject({ kind: 'unproven' })
})

test('a work that no check notices is named only while its instruments notice a broken product', () => {
  const late = { broken: green, base: green, 'broken early': green } as const
  const silent = { 'old instruments': green, 'old subject': green, ...late } as const
  expect(decide(facts(), { ...silent, 'broken product': red('adds') })).toMatchObject({ kind: 'unnoticed' })
  const disarmed = { ...silent, 'broken product': green, 'broken product, old instruments': red('adds') }
  expect(decide(facts(), disarmed)).toMatchObject({ kind: 'own changes' })
})

test('fewer tests than under the instruments of the base are no proof', () => {
  const now = facts({ changedTests: [], work: { count: { ran: 1, skipped: 0 } } })
  expect(decide(now, { 'old instruments': green })).toMatchObject({ kind: 'own changes' })
})

test('a check that could not run is no evidence either way', () => {
  expect(decide(facts(), { 'old instruments': unknown })).toMatchObject({ kind: 'unproven', fact: 'no disk' })
  expect(decide(facts({ split: { subject: [], instruments: [] } }), {})).toMatchObject({ kind: 'unproven', ran: [] })
})

test('work whose tests pass whatever they expect proves nothing', () => {
  const changed: ProofFacts = { ...subjectOnly, expectations: 'some' }
  const done = { broken: red('adds'), base: green }
  expect(decide(changed, { ...done, 'other expectations': red('adds') })).toMatchObject({
    kind: 'proved',
    ran: ['broken', 'other expectations'],
  })
  const disarmed = { ...done, 'other expectations': green }
  expect(decide(changed, { ...disarmed, 'base, other expectations': red('adds') })).toMatchObject({
    kind: 'own changes',
    files: ['src/a.js'],
  })
  expect(decide(changed, { ...disarmed, 'base, other expectations': green })).toMatchObject({ kind: 'proved' })
})

test('a base that fails hides what its failing tests notice, unless the check runs tests that compare something with a changed value', () => {
  const results = {
    ...{ broken: red('adds'), base: red('adds'), 'other expectations': green },
    'base, other expectations': red('adds'),
  }
  const exact: ProofFacts = { ...subjectOnly, expectations: 'exact' }
  expect(decide({ ...subjectOnly, expectations: 'some' }, results)).toMatchObject({ kind: 'proved' })
  expect(decide(exact, { ...results, 'broken tests': red('file') })).toMatchObject({ kind: 'own changes' })
  // A check of types, or of other tests, reads none of these values.
  expect(decide(exact, { ...results, 'broken tests': green })).toMatchObject({ kind: 'proved' })
  const more = { ...results, 'base, other expectations': red('adds', 'subtracts') }
  expect(decide({ ...subjectOnly, expectations: 'some' }, more)).toMatchObject({ kind: 'own changes' })
})

test('work that writes what the tests expect while they run has disarmed them, unless the base does so too', () => {
  const other = { broken: red('adds'), base: red('adds'), 'other expectations': { ...green, rewrote: true } }
  const some: ProofFacts = { ...subjectOnly, expectations: 'some' }
  expect(decide(some, { ...other, 'base, other expectations': red('adds') })).toMatchObject({ kind: 'own changes' })
  const both = { ...other, 'base, other expectations': { ...red('adds'), rewrote: true } }
  expect(decide(some, both)).toMatchObject({ kind: 'proved' })
})

test('data that a check needs are proved by its failure without them, although emptied data would pass', () => {
  const data = facts({
    split: { subject: ['made.txt'], instruments: [] },
    ...{ breakable: ['made.txt'], changedTests: [], expectations: 'none', work: {} },
  })
  const passes: CounterfactualResult = { state: 'green', failing: [], named: false }
  expect(decide(data, { broken: red() })).toMatchObject({ kind: 'proved', ran: ['broken'] })
  expect(decide(data, { base: red(), broken: passes })).toMatchObject({ kind: 'proved', ran: ['broken', 'base'] })
  expect(decide(data, { base: passes, broken: passes })).toMatchObject({ kind: 'unnoticed' })
})

test('a program that ends itself is proved by what its check expects, where the check was red without it', () => {
  const passes: CounterfactualResult = { state: 'green', failing: [], named: false }
  const fails: CounterfactualResult = { ...red('exit 1'), named: false }
  const program: ProofFacts = { ...subjectOnly, work: {}, expectations: 'exact' }
  const silent = { base: fails, broken: passes }
  expect(decide(program, { ...silent, 'other expectations': fails })).toMatchObject({ kind: 'proved' })
  const disarmed = { 'other expectations': passes, 'base, other expectations': fails, 'broken tests': fails }
  expect(decide(program, { ...silent, ...disarmed })).toMatchObject({ kind: 'own changes', files: ['src/a.js'] })
  expect(decide({ ...program, expectations: 'none' }, silent)).toMatchObject({ kind: 'unnoticed' })
  // Values that nothing is compared with may make every check fail.
  const some: ProofFacts = { ...program, expectations: 'some' }
  expect(decide(some, { ...silent, 'other expectations': fails })).toMatchObject({ kind: 'unnoticed' })
})
