/**
 * A check that lacks what a build makes and git ignores: the repository's own build runs in the clone of the checks and the check after
 * it. If the check can run then, the build is part of the plan from there on; if not, nothing has changed.
 */
import { dirname, join } from 'node:path'
import { buildCommands } from '../../recovery/command/build-script.ts'
import { planCheck } from '../../recovery/command/plan-check.ts'
import { packageScriptIn } from '../../recovery/command/package-script.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import { classify } from '../../recovery/diagnosis/classify.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { absentIn } from '../../recovery/probe.ts'
import { nodeInstallIn, nodePrograms } from '../../recovery/proposal/known-repairs.ts'
import { hasRule, makefiles } from '../checks/check-facts.ts'
import { runChecks } from '../checks/command-runner.ts'
import type { JudgedReport } from '../checks/check-runner.ts'
import { manifestScripts } from '../checks/repair-facts.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'
import { readIfFile } from '../core/files.ts'
import { checkedTreeOf, type RunContext } from '../core/run-context.ts'
import { addVerificationTime, commandContext } from './repair.ts'
import { runsKnownRepair } from './propose-known.ts'

const lacksBuild = (check: ObservedCheck): boolean => {
  if (check.unsupported !== undefined || check.timedOut || check.script?.exists === false) return false
  if (absentIn(check).some(({ isFolder, asks }) => isFolder && asks)) return true
  const { command, exitCode, signal, stdout, stderr } = check
  return classify({ command, exitCode, signal, stdout, stderr }).label === 'build_artifact_missing'
}

const managerOf = ({ command, installs = [] }: ObservedCheck): string => {
  const plan = planCheck(command)
  const own = (plan.ok ? plan.steps : []).map(({ argv }) => packageScriptIn(argv)?.manager)
  const installed = nodeInstallIn(installs)?.manager
  return (
    own.find((each) => each !== undefined) ?? (installed === undefined ? 'npm' : (nodePrograms[installed] ?? 'npm'))
  )
}

const candidates = async (
  runContext: RunContext,
  failed: ObservedCheck,
  plan: readonly string[],
): Promise<string[]> => {
  const { context, run } = runContext
  const { files, git } = context.ports
  const root = checkedTreeOf(runContext)
  const atBase = (path: string): Promise<string | undefined> => git.textAt(context.shadow, run.baseCommit ?? '', path)
  const manifest = failed.script?.manifest ?? 'package.json'
  const makefile = makefiles.find((name) => files.existsSync(join(root, name)))
  const rules = makefile === undefined ? undefined : readIfFile(files, join(root, makefile))
  const isOwners = makefile !== undefined && rules !== undefined && rules === (await atBase(makefile))
  const names = ['build', 'compile', 'generate', 'codegen', 'gen', 'proto']
  return buildCommands({
    evidence: diagnose({ kind: 'check', check: failed }).evidence,
    folder: dirname(manifest) === '.' ? '' : dirname(manifest),
    manager: managerOf(failed),
    scripts: {
      now: manifestScripts(readIfFile(files, join(root, manifest))),
      base: manifestScripts(await atBase(manifest)),
    },
    targets: isOwners ? names.filter((name) => hasRule(rules, name)) : [],
    plan,
  })
}

/** Whether the check ran: it passed, or it judges the work now. */
const runs = (failed: ObservedCheck | undefined, before: ObservedCheck): boolean => {
  if (failed === undefined) return true
  if (failed.command !== before.command || lacksBuild(failed)) return false
  return diagnose({ kind: 'check', check: failed }).category === 'test'
}

/** The report, whose failure names the build that makes the check run (`ObservedCheck.build`), if one does. */
export const tryBuild = async (
  runContext: RunContext,
  { commands: plan }: PlannedChecks,
  report: JudgedReport,
): Promise<JudgedReport> => {
  const { context, goal } = runContext
  const { failed } = report
  // In place nothing is built: the folder is the user's own.
  if (failed === undefined || goal.repoMode === 'direct' || !lacksBuild(failed)) return report
  if (await runsKnownRepair(runContext, failed)) return report
  const begun = context.clock.elapsed()
  for (const [at, build] of (await candidates(runContext, failed, plan)).entries()) {
    const { timeoutMs, totalMs, ...rest } = commandContext(runContext)
    const tried = await runChecks({
      ...{ ...rest, timeoutMs, totalMs: Math.max(1, totalMs - (context.clock.elapsed() - begun)) },
      commands: [build, failed.command],
      source: () => failed.source,
      folder: (number) => join(runContext.paths.root, 'builds', `${at + 1}-${number}`),
      passed: () => undefined,
    })
    if (rest.signal.aborted) break
    if (!runs(tried.failed, failed)) continue
    addVerificationTime(runContext, begun)
    return { ...report, failed: { ...failed, build } }
  }
  addVerificationTime(runContext, begun)
  return report
}
