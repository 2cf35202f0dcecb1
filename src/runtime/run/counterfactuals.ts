/**
 * Runs the checks that passed once more on mixed trees (src/recovery/proof): in the same clean clone and with the same packages, so that
 * nothing but the switched files can make a difference. The clone is not usable for anything else afterwards.
 */
import { join } from 'node:path'
import { AppError, messageOf } from '../../errors.ts'
import { isEvidence, type CheckResult } from '../../domain/run.ts'
import { brokenMessage, brokenText } from '../../recovery/proof/break-source.ts'
import { confirmed, isCertain, type InstrumentText } from '../../recovery/proof/confirmed.ts'
import { uncompilable, type Altered } from '../../recovery/proof/other-expectations.ts'
import type { Counterfactual, CounterfactualResult } from '../../recovery/proof/next-proof.ts'
import { totalCount } from '../../recovery/proof/test-count.ts'
import type { Split } from '../../recovery/proof/split.ts'
import { failingNames, failingSetOf } from '../../recovery/failing-set.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import type { CheckReport } from '../checks/check-request.ts'
import { runChecks } from '../checks/command-runner.ts'
import type { RunContext } from '../core/run-context.ts'
import { commandContext } from './repair.ts'

export interface CounterfactualWork {
  found: ChangeList
  split: Split
  /** The checks that passed, in their order. */
  results: readonly CheckResult[]
  /** Changed sources, and the sources of the base commit, that can be broken. */
  breakable: readonly string[]
  product: readonly string[]
  /** The tests of a tree that can be made to expect something else, as they are then. */
  otherTests: (treeish: string) => Promise<(Altered & { path: string })[]>
}

export interface Counterfactuals {
  /** `known`: how the checks failed on this tree earlier. As one run shows little, they run once more. */
  run: (counterfactual: Counterfactual, known?: CounterfactualResult) => Promise<CounterfactualResult>
  /** Runs of the checks so far. */
  runs: () => number
}

/** Checks that passed at once. What a flaky or an excused check does on another tree shows nothing. */
export const provingChecks = (results: readonly CheckResult[]): CheckResult[] =>
  results.filter((result) => isEvidence(result) && result.excused === undefined)

/** A name that exists no more, as runtimes and compilers report it. Its absence is the change, not a failure of it. */
const gone =
  /is not a function|is not a constructor|is not defined|has no attribute|cannot import name|does not provide an export|Cannot find module|No module named|undefined: |unresolved import|cannot find (?:function|value|type|symbol)|has no exported member|ERR_MODULE_NOT_FOUND|undefined method/i

/** As `go test` says it of a package whose tests do not compile; a linter only names the line. */
const goTestFailed = /\[(?:build|setup) failed\]/

/** Failures of the machine, which prove nothing about the work. */
const machine = new Set(['out_of_memory', 'resource_limit', 'disk_full', 'port_in_use'])

const unknown = (why: string): CounterfactualResult => ({ state: 'unknown', failing: [], named: false, why })

/**
 * Undefined = the failed command does not exist on this tree, so it says nothing: a fact of its files, because output can be made up.
 * `accuses`: a failure of the machine counts as well, or the work could excuse itself by printing one. `uncompiled`: tests of Go were
 * broken, so that a command that only reads them fails as well, and says nothing about whether they run.
 */
const resultOf = (
  { results, failed, output }: CheckReport,
  { accuses, uncompiled }: { accuses: boolean; uncompiled: boolean },
): CounterfactualResult | undefined => {
  const total = totalCount(results)
  const count = total === undefined ? {} : { count: total }
  if (failed === undefined) return { state: 'green', failing: [], named: false, ...count }
  const { command } = failed
  const isMissing = failed.script?.exists === false || (failed.make?.missing ?? []).length > 0
  if (output === undefined || failed.spawnError !== undefined || isMissing || failed.missingFile !== undefined)
    return undefined
  if (failed.ranNothing !== undefined)
    return {
      ...{ state: 'red', command, failing: [`it runs no test (${failed.ranNothing})`], named: false, empty: true },
      ...count,
    }
  const set = failingSetOf(output)
  const text = `${output.stdout}${output.stderr}`
  if (uncompiled && text.includes(uncompilable) && !goTestFailed.test(text)) return undefined
  if (!accuses && machine.has(set.label)) return unknown(`the machine failed ${command} (${set.evidence})`)
  return {
    ...{ state: 'red', command, failing: failingNames(set), named: set.tests !== null },
    ...(set.label === 'no_test_files' || failed.countedNone === true ? { empty: true } : {}),
    ...(gone.test(text) ? { nameGone: true } : {}),
    ...(text.includes(brokenMessage) ? { loadedBroken: true } : {}),
    ...count,
  }
}

const treeFor = async (
  { context }: RunContext,
  { found, split }: CounterfactualWork,
  paths: 'subject' | 'instruments' | 'none',
): Promise<string> => {
  const { git } = context.ports
  if (paths === 'none') return git.treeOf(context.shadow, found.base)
  return git.buildTree(context.shadow, { base: found.base, tree: found.tree, paths: split[paths] })
}

const treeOfCounterfactual = (
  runContext: RunContext,
  work: CounterfactualWork,
  counterfactual: Counterfactual,
): Promise<string> => {
  switch (counterfactual) {
    case 'base':
    case 'base, other expectations':
    case 'broken product, old instruments':
      return treeFor(runContext, work, 'none')
    case 'old instruments':
      return treeFor(runContext, work, 'subject')
    case 'old subject':
    case 'broken product':
      return treeFor(runContext, work, 'instruments')
    case 'broken':
    case 'broken early':
    case 'other expectations':
    case 'broken tests':
      return Promise.resolve(work.found.tree)
  }
}

/**
 * Brings the files of the clone to a tree, also those that a check wrote and git does not ignore. Returns whether they are that tree now.
 */
const switchTo = async ({ context, paths }: RunContext, tree: string): Promise<boolean> => {
  const { git } = context.ports
  const workTree = paths.checked
  const request = { base: tree, workTree, indexFile: join(paths.root, 'counterfactuals-index') }
  // Two times, because rules of git for ignored files may go with the first, and then more files are there.
  for (const _ of [1, 2]) {
    const found = await git.captureTree(context.shadow, request)
    if (found.tree === tree) return true
    await git.revertFiles(context.shadow, { before: tree, after: found.tree, workTree })
  }
  return (await git.captureTree(context.shadow, request)).tree === tree
}

const filesToBreak = (
  { breakable, product }: CounterfactualWork,
  counterfactual: Counterfactual,
): readonly string[] => {
  if (counterfactual === 'broken' || counterfactual === 'broken early') return breakable
  return counterfactual.startsWith('broken product') ? product : []
}

/** Files with the text that they are to have, on this tree. */
const changedFiles = async (
  { context }: RunContext,
  work: CounterfactualWork,
  counterfactual: Counterfactual,
  tree: string,
): Promise<Map<string, string>> => {
  if (counterfactual.endsWith('other expectations'))
    return new Map((await work.otherTests(tree)).map(({ path, text }) => [path, text]))
  const changed = new Map<string, string>()
  if (counterfactual === 'broken tests') {
    for (const { path, exact, broken } of await work.otherTests(tree))
      if (exact && broken !== undefined) changed.set(path, broken)
    return changed
  }
  const place = counterfactual === 'broken early' ? 'early' : 'late'
  for (const path of filesToBreak(work, counterfactual)) {
    const text = await context.ports.git.textAt(context.shadow, tree, path)
    const now = text === undefined ? undefined : brokenText(path, text, place)
    if (now !== undefined) changed.set(path, now)
  }
  return changed
}

/** Returns the paths that were written. */
const writeFiles = ({ context, paths }: RunContext, changed: ReadonlyMap<string, string>): string[] => {
  const { files } = context.ports
  // A link may lead anywhere.
  const own = [...changed].filter(
    ([path]) => files.realpathSync(join(paths.checked, path)) === join(files.realpathSync(paths.checked), path),
  )
  for (const [path, text] of own) files.writeFileSync(join(paths.checked, path), text)
  return own.map(([path]) => path)
}

/** Whether one of these files has another text than it was given. */
const areRewritten = (
  { context, paths }: RunContext,
  changed: ReadonlyMap<string, string>,
  written: readonly string[],
): boolean =>
  written.some((path) => {
    try {
      return context.ports.files.readFileSync(join(paths.checked, path), 'utf8') !== changed.get(path)
    } catch {
      return true // removed, or replaced by something that is no file
    }
  })

/** The instruments where only they are the work's, so that a test of theirs that fails may be new. */
const instrumentTexts = (
  { context }: RunContext,
  { found, split }: CounterfactualWork,
  counterfactual: Counterfactual,
): Promise<InstrumentText[]> => {
  const textAt = (treeish: string, path: string): Promise<string | undefined> =>
    context.ports.git.textAt(context.shadow, treeish, path)
  const paths = counterfactual === 'old subject' ? split.instruments : []
  return Promise.all(
    paths.map(async (path) => ({ before: await textAt(found.base, path), after: await textAt(found.tree, path) })),
  )
}

/** Whether another run could show nothing else that counts. Work that fails with other expectations is not accused, so that needs no second run. */
const isFinal = async (
  runContext: RunContext,
  work: CounterfactualWork,
  counterfactual: Counterfactual,
  result: CounterfactualResult,
): Promise<boolean> =>
  result.state !== 'red' ||
  counterfactual === 'other expectations' ||
  isCertain(result, await instrumentTexts(runContext, work, counterfactual))

const runAgain = (
  runContext: RunContext,
  commands: string[],
  { folder, totalMs }: { folder: string; totalMs: number },
): Promise<CheckReport> =>
  runChecks({
    ...commandContext(runContext),
    commands,
    source: () => 'task',
    folder: (number) => join(folder, String(number)),
    // Python compares only time and size of a source with its cache, and a switched file may have both.
    variables: { ...commandContext(runContext).variables, PYTHONPYCACHEPREFIX: join(folder, 'pycache') },
    totalMs,
    passed: () => undefined,
  })

/** Where a failure is held against the work, one of the machine counts as well. */
const accusing: readonly Counterfactual[] = ['old instruments']

export const openCounterfactuals = (
  runContext: RunContext,
  work: CounterfactualWork,
  allMs: number,
): Counterfactuals => {
  const { context, paths } = runContext
  const begun = context.clock.elapsed()
  let runs = 0
  // Results of an earlier verification would be read as new.
  context.ports.files.rmSync(join(paths.root, 'counterfactuals'), { recursive: true, force: true })
  const runOn = async (
    commands: readonly string[],
    how: { accuses: boolean; uncompiled: boolean },
  ): Promise<CounterfactualResult> => {
    const left = [...commands]
    let empty: CounterfactualResult | undefined
    for (;;) {
      if (left.length === 0) return empty ?? { state: 'green', failing: [], named: false }
      runs += 1
      const folder = join(paths.root, 'counterfactuals', String(runs))
      const totalMs = Math.max(1, allMs - (context.clock.elapsed() - begun))
      const report = await runAgain(runContext, left, { folder, totalMs })
      if (context.stopping.aborted || commandContext(runContext).signal.aborted)
        return unknown('the run was ended meanwhile')
      const result = resultOf(report, how)
      // A runner that finds no test ends before the commands behind it, which may still say something.
      if (result?.empty === true) empty ??= result
      else if (result?.state === 'green') return empty ?? result
      else if (result !== undefined) return result
      left.splice(left.indexOf(report.failed?.command ?? ''), 1)
    }
  }
  const run: Counterfactuals['run'] = async (counterfactual, known) => {
    if (context.clock.elapsed() - begun > allMs) return unknown('the time for it did not suffice')
    try {
      const tree = await treeOfCounterfactual(runContext, work, counterfactual)
      const once = async (): Promise<CounterfactualResult> => {
        if (!(await switchTo(runContext, tree))) return unknown('the files of the clone could not be switched')
        const changed = await changedFiles(runContext, work, counterfactual, tree)
        const written = writeFiles(runContext, changed)
        const commands = work.results.map(({ command }) => command)
        const uncompiled = counterfactual === 'broken tests' && written.some((path) => path.endsWith('.go'))
        const found = await runOn(commands, { accuses: accusing.includes(counterfactual), uncompiled })
        if (!counterfactual.endsWith('other expectations')) return found
        return { ...found, rewrote: areRewritten(runContext, changed, written) }
      }
      const result = known ?? (await once())
      return (await isFinal(runContext, work, counterfactual, result)) ? result : confirmed(result, await once())
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // A check that could not be followed to its end may still run, and would change the files of the next run.
      await context.ports.processes.sweep(commandContext(runContext).marker)
      return unknown(messageOf(error).slice(0, 200))
    }
  }
  return { run, runs: () => runs }
}
