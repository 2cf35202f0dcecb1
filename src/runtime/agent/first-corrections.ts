/**
 * The corrections of a run's first launch. A grant ends with its run, but the next attempt would be refused the same again. So the
 * first launch gets what the attempt before was given, and the folders that it was refused and that the owner allows now.
 */
import { harnessOfLaunch, lastLaunch, noCorrections, type LaunchCorrections, type Run } from '../../domain/run.ts'
import { listRuns } from '../../store/run.ts'
import { runPaths } from '../core/context.ts'
import { workTreeOf, type RunContext } from '../core/run-context.ts'
import { harnessNamed } from '../harness/harness-choice.ts'
import { allowedDirectories, readOutput, withRefusedPaths } from './denials.ts'
import { isInside, observeDenial } from './observe-denial.ts'

/** Folders that launches of this run were refused by name, and that are allowed now. */
const refusedBy = ({ context }: RunContext, run: Run, place: { workTree: string; allowed: string[] }): string[] => {
  const { files } = context.ports
  const { launch } = runPaths(context, run.id)
  // The output of a run on another host is not here.
  const here = run.launches.filter(({ number }) => files.existsSync(launch(number)))
  const denials = here.flatMap(({ number }) => {
    const { driver } = harnessNamed(context.config(), harnessOfLaunch(run, number))
    const printed = readOutput(context, driver, launch(number))
    return withRefusedPaths(context, driver, place.workTree, printed).denials
  })
  return denials.flatMap((denial) => {
    if (denial.kind !== 'scope' || denial.target === undefined) return []
    const { directory, allowedBy } = observeDenial(files, denial, { ...place, given: [] })
    return directory === undefined || allowedBy === undefined ? [] : directory
  })
}

/** Rules for edits contain the path of the workspace, and each run has its own workspace: the path is replaced. */
const pathRulesOf = (runContext: RunContext, run: Run, rules: readonly string[]): string[] => {
  if (run.harness !== runContext.run.harness) return []
  const before = workTreeOf({ ...runContext, paths: runPaths(runContext.context, run.id) })
  return rules.map((rule) => rule.replaceAll(before, workTreeOf(runContext)))
}

export const firstCorrections = async (runContext: RunContext): Promise<LaunchCorrections> => {
  const { context, run } = runContext
  const earlier = (await listRuns(context.db, { taskId: run.taskId })).filter(({ number }) => number < run.number)
  const before = earlier.findLast(({ launches }) => launches.length > 0)
  const given = before === undefined ? undefined : lastLaunch(before)?.corrections
  const granted = runContext.goal.grants.flatMap(({ harness, rule }) =>
    harness === run.harness ? rule.split('\n') : [],
  )
  if (before === undefined || given === undefined)
    return granted.length === 0 ? noCorrections : { ...noCorrections, toolRules: granted }
  const allowed = allowedDirectories(runContext)
  const refused = refusedBy(runContext, before, { workTree: workTreeOf(runContext), allowed })
  const toolRules = [...new Set([...pathRulesOf(runContext, before, given.toolRules ?? []), ...granted])]
  return {
    addDirs: [...new Set([...given.addDirs, ...refused])].filter((dir) => allowed.some((root) => isInside(dir, root))),
    skipGitCheck: given.skipGitCheck && before.harness === run.harness,
    ...(toolRules.length === 0 ? {} : { toolRules }),
  }
}
