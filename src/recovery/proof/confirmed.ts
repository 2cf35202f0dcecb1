/**
 * A check that fails at random would prove any work, and accuse any. So a failure on a mixed tree counts if it comes again, or if it can have
 * no other cause than the switched files. Pure.
 */
import type { CounterfactualResult } from './next-proof.ts'

/** The text of one instrument in the base commit and in the work. */
export interface InstrumentText {
  before: string | undefined
  after: string | undefined
}

/** Runners join the titles of groups to that of a test, each in its own way. */
const ownTitle = (name: string): string => name.split(/ [>›»] | - |::|\//).at(-1) ?? name

const isNew = (name: string, texts: readonly InstrumentText[]): boolean => {
  const title = ownTitle(name)
  const holds = (text: string | undefined): boolean => text?.includes(title) === true
  return title !== '' && texts.some(({ after }) => holds(after)) && !texts.some(({ before }) => holds(before))
}

/** A test that the work added was written for its subject, and a broken file reports itself. Both need no second run. */
export const isCertain = (
  { named, failing, loadedBroken }: CounterfactualResult,
  texts: readonly InstrumentText[],
): boolean => loadedBroken === true || (named && failing.some((name) => isNew(name, texts)))

/** What two runs on the same tree show. Only tests that failed in both are named. */
export const confirmed = (first: CounterfactualResult, second: CounterfactualResult): CounterfactualResult => {
  if (second.state !== 'red' || !first.named || !second.named) return second
  const failing = second.failing.filter((name) => first.failing.includes(name))
  if (failing.length > 0) return { ...second, failing }
  const why = `${second.command ?? 'a check'} is flaky: other tests fail in it when it runs again`
  return { state: 'unknown', failing: [], named: false, why }
}
