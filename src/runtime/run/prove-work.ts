/** Proves a change whose checks passed: collects the facts, runs the counterfactuals that are still needed, and stores what they prove. */
import { noneAtOnce, type Proof } from '../../domain/proof.ts'
import type { CheckResult } from '../../domain/run.ts'
import { failingNames } from '../../recovery/failing-set.ts'
import { cachedResult } from '../checks/check-cache.ts'
import { partsOf, type ScriptOrTarget } from '../../recovery/check/check-parts.ts'
import { isNamedByTask } from '../../recovery/named-by-task.ts'
import { brokenText } from '../../recovery/proof/break-source.ts'
import {
  otherExpectations,
  otherRecipes,
  otherScripts,
  testsAbout,
  type Altered,
} from '../../recovery/proof/other-expectations.ts'
import { changedDependenciesOnly, listsDependencies } from '../../recovery/proof/manifests.ts'
import {
  nextProof,
  type Counterfactual,
  type CounterfactualResult,
  type ProofFacts,
} from '../../recovery/proof/next-proof.ts'
import { onlyRenames, type ChangedFile } from '../../recovery/proof/renamed-only.ts'
import { filesRunByChecks } from '../../recovery/proof/run-files.ts'
import { holdsTests, partOf, productSources, splitChange, type SplitRequest } from '../../recovery/proof/split.ts'
import { totalCount } from '../../recovery/proof/test-count.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import type { JudgedReport } from '../checks/check-runner.ts'
import { isReleased, type RunContext } from '../core/run-context.ts'
import { openCounterfactuals, provingChecks } from './counterfactuals.ts'
import { addVerificationTime, commandContext } from './repair.ts'

/** Sources of the product that are broken at most. More cost time and show nothing new. */
const mostBroken = 300
/** Tests that are made to expect something else at most. */
const mostTests = 300

const unproven = (fact: string): Proof => ({ kind: 'unproven', fact, tests: [], files: [] })

const readerOf =
  ({ context }: RunContext, treeish: string) =>
  (path: string): Promise<string | undefined> =>
    context.ports.git.textAt(context.shadow, treeish, path)

const splitOf = async (
  runContext: RunContext,
  found: ChangeList,
  commands: readonly string[],
): Promise<SplitRequest> => {
  const { git } = runContext.context.ports
  const [before, after] = [readerOf(runContext, found.base), readerOf(runContext, found.tree)]
  const manifests = found.changes.map(({ path }) => path).filter((path) => /(?:^|\/)package\.json$/.test(path))
  const dependencies = new Set<string>()
  for (const { path } of found.changes.filter((change) => listsDependencies(change.path))) {
    const [old, now] = [await before(path), await after(path)]
    if (old !== undefined && now !== undefined && changedDependenciesOnly(path, old, now)) dependencies.add(path)
  }
  return {
    changed: found.changes.map(({ path, kind }) => ({ path, added: kind === 'added' })),
    base: await git.filesOf(runContext.context.shadow, found.base),
    ...(await filesRunByChecks([before, after], commands, manifests)),
    dependencies,
  }
}

/** The names of targets or scripts by the file that holds them. */
const byFile = (parts: readonly ScriptOrTarget[]): Map<string, Set<string>> => {
  const found = new Map<string, Set<string>>()
  for (const { path, name } of parts) found.set(path, (found.get(path) ?? new Set()).add(name))
  return found
}

/** The tests of a tree, and what its checks compare by themselves, as they are when they expect something else. */
const alteredTests = async (
  runContext: RunContext,
  treeish: string,
  { request, commands, subject }: { request: SplitRequest; commands: readonly string[]; subject: readonly string[] },
): Promise<(Altered & { path: string })[]> => {
  const { git } = runContext.context.ports
  const { files, targets, scripts } = await partsOf(commands, readerOf(runContext, treeish))
  const [recipesOf, scriptsOf] = [byFile(targets), byFile(scripts)]
  // A program of the product that a check starts expects nothing of it.
  const isProgram = (path: string): boolean => files.has(path) && partOf(request, path, false) === 'instrument'
  const isTest = (path: string): boolean => (holdsTests(path) || isProgram(path)) && !subject.includes(path)
  const all = await git.filesOf(runContext.context.shadow, treeish)
  const comparing = all.filter((path) => recipesOf.has(path) || scriptsOf.has(path))
  const paths = [...comparing, ...all.filter(isTest).slice(0, mostTests)]
  const texts = await git.textsAt(runContext.context.shadow, treeish, paths)
  const tests = [...texts].map(([path, text]) => ({ path, text }))
  const other = (path: string, text: string): Altered | undefined => {
    const [recipes, names] = [recipesOf.get(path), scriptsOf.get(path)]
    if (names !== undefined) return otherScripts(text, names)
    return recipes === undefined ? otherExpectations(path, text) : otherRecipes(text, recipes)
  }
  const altered = testsAbout(subject, tests).flatMap(({ path, text }) => {
    const found = other(path, text)
    return found === undefined ? [] : [{ path, ...found }]
  })
  // Any other value may be one that a runner works with, and then every check fails.
  const exact = altered.filter((each) => each.exact)
  return exact.length > 0 ? exact : altered.filter(({ path }) => holdsTests(path))
}

/** As they are on the base and in the work. */
const changedFiles = async (
  { context }: RunContext,
  found: ChangeList,
): Promise<(paths: readonly string[]) => ChangedFile[]> => {
  const { git } = context.ports
  const all = found.changes.map(({ path }) => path)
  const [before, after] = [
    await git.textsAt(context.shadow, found.base, all),
    await git.textsAt(context.shadow, found.tree, all),
  ]
  const sideOf = (name: 'before' | 'after', text: string | undefined) => (text === undefined ? {} : { [name]: text })
  return (paths) =>
    paths.map((path) => ({ path, ...sideOf('before', before.get(path)), ...sideOf('after', after.get(path)) }))
}

/** The facts that need no run. */
const factsOf = async (runContext: RunContext, found: ChangeList, report: JudgedReport) => {
  const results = provingChecks(report.results)
  const commands = results.map(({ command }) => command)
  const request = await splitOf(runContext, found, commands)
  const split = splitChange(request)
  const kinds = new Map(found.changes.map(({ path, kind, newMode }) => [path, newMode === '120000' ? 'link' : kind]))
  const breakable = split.subject.filter(
    (path) => !['deleted', 'link'].includes(kinds.get(path) ?? '') && brokenText(path, 'x\n') !== undefined,
  )
  const product = productSources(request).slice(0, mostBroken)
  const changed = await changedFiles(runContext, found)
  const otherTests = (treeish: string) =>
    alteredTests(runContext, treeish, { request, commands, subject: split.subject })
  const altered = await otherTests(found.tree)
  const before = split.instruments.length === 0 ? [] : await otherTests(found.base)
  const comparing = new Set(before.flatMap(({ path, exact }) => (exact ? [path] : [])))
  const count = totalCount(results)
  const facts: Omit<ProofFacts, 'results'> = {
    split,
    breakable,
    hasProduct: product.length > 0,
    changedTests: split.instruments.filter(
      (path) => kinds.get(path) !== 'added' && (holdsTests(path) || request.run.has(path) || comparing.has(path)),
    ),
    onlyRenames: onlyRenames(changed(split.instruments), changed(split.subject)),
    named: new Set(split.instruments.filter((path) => isNamedByTask(runContext.task, path))),
    work: count === undefined ? {} : { count },
    expectations: altered.some(({ exact }) => exact) ? 'exact' : altered.length > 0 ? 'some' : 'none',
  }
  return { facts, work: { found, split, results, breakable, product, otherTests } }
}

/** How a check failed on the base commit in an earlier run, as a proof of its own if it fails so again. */
const knownBase = async (
  { context, run }: RunContext,
  checks: readonly CheckResult[],
): Promise<CounterfactualResult | undefined> => {
  const place = { ...context, commit: run.baseCommit ?? '', installs: run.verdict?.installed ?? [] }
  for (const { command } of checks) {
    const known = await cachedResult(context.ports, place, [command])
    if (known?.state !== 'fails' || known.set.infra || known.tests === undefined) continue
    const failing = failingNames(known.set)
    return { state: 'red', command, failing, named: known.set.tests !== null, count: known.tests }
  }
  return undefined
}

/** Undefined = the run was stopped meanwhile. */
export const proveWork = async (
  runContext: RunContext,
  found: ChangeList,
  report: JudgedReport,
): Promise<Proof | undefined> => {
  const { context, goal } = runContext
  const { proof: mode, proofSeconds } = context.config().verify
  if (mode === 'off') return unproven('verify.proof is off')
  if (goal.repoMode === 'direct') return unproven('the work is done in place, where no file can be switched')
  const { facts, work } = await factsOf(runContext, found, report)
  if (work.results.length === 0) return unproven(noneAtOnce)
  const onceMs = work.results.reduce((sum, { durationMs }) => sum + durationMs, 0)
  if (onceMs > proofSeconds * 1000)
    return unproven(`the checks take ${Math.round(onceMs / 1000)} s, and verify.proofSeconds is ${proofSeconds}`)
  const begun = context.clock.elapsed()
  // A broken subject may make a check wait until its own limits. All of it counts for the verification's time.
  const allMs = Math.min(commandContext(runContext).totalMs, Math.max(proofSeconds * 1000, 6 * onceMs))
  const counterfactuals = openCounterfactuals(runContext, work, allMs)
  const known = await knownBase(runContext, work.results)
  const results: Partial<Record<Counterfactual, CounterfactualResult>> =
    known === undefined ? {} : { base: await counterfactuals.run('base', known) }
  if (isReleased(runContext)) return undefined
  for (;;) {
    const step = nextProof({ ...facts, results })
    if ('proof' in step) {
      addVerificationTime(runContext, begun)
      const ms = Math.round(context.clock.elapsed() - begun)
      return {
        ...step.proof,
        ...(mode === 'report' ? { reported: true as const } : {}),
        runs: counterfactuals.runs(),
        ms,
      }
    }
    results[step.run] = await counterfactuals.run(step.run)
    if (isReleased(runContext)) return undefined
    context.at('counterfactual-ran')
  }
}
