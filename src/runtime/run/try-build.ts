/**
 * For a check that fails because an ignored build output is missing: runs the repository's own build in the check clone, then the check
 * again. If the check runs now, the diagnosis adds the build to the plan; otherwise the failure is diagnosed as it was.
 */
import { dirname, join } from 'node:path'
import { buildCommands } from '../../recovery/command/build-script.ts'
import type { WorkspacePackage } from '../../recovery/command/narrowing.ts'
import { planCheck } from '../../recovery/command/plan-check.ts'
import { packageScriptIn } from '../../recovery/command/package-script.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import { classify } from '../../recovery/diagnosis/classify.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { sequenceReorder } from '../../recovery/playbooks/verification.ts'
import { absentIn } from '../../recovery/probe.ts'
import type { AnyFacts } from '../../recovery/types.ts'
import { nodeInstallIn, nodePrograms } from '../../recovery/proposal/known-repairs.ts'
import { carryOutInstall } from '../checks/install.ts'
import { makefiles, ruleTargets } from '../checks/check-facts.ts'
import { runChecks } from '../checks/command-runner.ts'
import type { JudgedReport } from '../checks/check-runner.ts'
import { packagesIn } from '../checks/monorepo-packages.ts'
import { manifestScripts } from '../checks/manifest-scripts.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'
import { readIfFile } from '../core/files.ts'
import { checkedTreeOf, stopSignal, type RunContext } from '../core/run-context.ts'
import { addVerificationTime, commandContext } from './repair.ts'
import { buildsByProposal } from './propose-known.ts'

const mostTried = 3

const lacking = new Set<string>(['dependency_missing', 'corrupted_install'])
/** Of compilers and bundlers, which take it for an error of the code. */
const unresolved = /Cannot find module|[Ff]ailed to resolve|Can't resolve|Could not resolve/

/** A package of the repository itself that the line names: no install brings what its build makes. */
const memberIn = (evidence: string, members: readonly WorkspacePackage[]): WorkspacePackage | undefined =>
  members.find(({ name }) => ['/', "'", '"', '`'].some((end) => evidence.includes(`${name}${end}`)))

/** Undefined = it lacks nothing that a build could make. */
const lackOf = (
  check: ObservedCheck,
  members: readonly WorkspacePackage[],
): { evidence: string; member?: WorkspacePackage } | undefined => {
  if (check.unsupported !== undefined || check.timedOut || check.script?.exists === false) return undefined
  const { command, exitCode, signal, stdout, stderr } = check
  const { label, evidence } = classify({ command, exitCode, signal, stdout, stderr })
  const isUnfound = lacking.has(label) || unresolved.test(evidence)
  const member = isUnfound ? memberIn(evidence, members) : undefined
  if (member !== undefined) return { evidence, member }
  const isAbsent = absentIn(check).some(({ isFolder, asks }) => isFolder && asks)
  return isAbsent || label === 'build_artifact_missing' ? { evidence } : undefined
}

const managerOf = ({ command, installs = [] }: ObservedCheck): string => {
  const plan = planCheck(command)
  const own = (plan.ok ? plan.steps : []).map(({ argv }) => packageScriptIn(argv)?.manager)
  const installed = nodeInstallIn(installs)?.manager
  return (
    own.find((each) => each !== undefined) ?? (installed === undefined ? 'npm' : (nodePrograms[installed] ?? 'npm'))
  )
}

const folderOf = (manifest: string): string => (dirname(manifest) === '.' ? '' : dirname(manifest))

const candidates = async (
  runContext: RunContext,
  failed: ObservedCheck,
  { evidence, member }: { evidence: string; member?: WorkspacePackage },
  plan: readonly string[],
): Promise<string[]> => {
  const { context, run } = runContext
  const { files, git } = context.ports
  const root = checkedTreeOf(runContext)
  const atBase = (path: string): Promise<string | undefined> => git.textAt(context.shadow, run.baseCommit ?? '', path)
  const makefile = makefiles.find((name) => files.existsSync(join(root, name)))
  const rules = makefile === undefined ? undefined : readIfFile(files, join(root, makefile))
  const isOwners = makefile !== undefined && rules !== undefined && rules === (await atBase(makefile))
  const manager = managerOf(failed)
  // The top knows the order in which packages need each other, so it comes before the package that lacks its output.
  const own = failed.script?.manifest ?? failed.installs?.map(({ folder }) => join(folder, 'package.json'))[0]
  const manifests = [
    ...(own === undefined || member !== undefined ? [] : [own]),
    'package.json',
    ...(member === undefined ? [] : [join(member.folder, 'package.json')]),
  ]
  const found: string[] = []
  for (const manifest of new Set(manifests)) {
    const scripts = {
      now: manifestScripts(readIfFile(files, join(root, manifest))),
      base: manifestScripts(await atBase(manifest)),
    }
    const targets = isOwners && manifest === 'package.json' ? ruleTargets(rules) : []
    found.push(...buildCommands({ evidence, folder: folderOf(manifest), manager, scripts, targets, plan }))
  }
  return found.slice(0, mostTried)
}

/** Whether the check ran: it passed, or it judges the work now. */
const runs = (
  failed: ObservedCheck | undefined,
  before: ObservedCheck,
  members: readonly WorkspacePackage[],
): boolean => {
  if (failed === undefined) return true
  if (failed.command !== before.command || lackOf(failed, members) !== undefined) return false
  return diagnose({ kind: 'check', check: failed }).category === 'test'
}

interface Trial {
  build: string
  failed: ObservedCheck
  members: readonly WorkspacePackage[]
  folder: string
  /** When the trials began. */
  begun: number
}

/** Runs the build and the check after it; once more after the install that the build needs. Undefined = the check cannot run then either. */
const tryOne = async (
  runContext: RunContext,
  { build, failed, members, folder, begun }: Trial,
): Promise<ObservedCheck['build']> => {
  const { context, paths } = runContext
  const common = () => {
    const all = commandContext(runContext)
    return { ...all, totalMs: Math.max(1, all.totalMs - (context.clock.elapsed() - begun)) }
  }
  const run = async (part: string): Promise<ObservedCheck | undefined> => {
    const tried = await runChecks({
      ...common(),
      commands: [build, failed.command],
      source: () => failed.source,
      folder: (number) => join(paths.root, folder, `${part}-${number}`),
      passed: () => undefined,
    })
    return tried.failed
  }
  const first = await run('first')
  if (runs(first, failed, members)) return { command: build }
  if (first?.command !== build) return undefined
  const { install }: AnyFacts = diagnose({ kind: 'check', check: first }).facts
  if (install === undefined) return undefined
  const request = { ...common(), folder: (number: number) => join(paths.root, folder, `install-${number}`) }
  if (!(await carryOutInstall(request, install)).ok) return undefined
  return runs(await run('again'), failed, members) ? { command: build, install } : undefined
}

/** The report, whose failure names the build that makes the check run (`ObservedCheck.build`), if one does. */
export const tryBuild = async (
  runContext: RunContext,
  { commands: plan }: PlannedChecks,
  report: JudgedReport,
): Promise<JudgedReport> => {
  const { context, goal } = runContext
  const { failed } = report
  // In place nothing is built: the folder is the user's own. Without the playbook nothing would follow from a trial.
  if (failed === undefined || goal.repoMode === 'direct') return report
  if (context.policy().disabled.includes(sequenceReorder.id)) return report
  const members = packagesIn(context.ports.files, checkedTreeOf(runContext)) ?? []
  const lack = lackOf(failed, members)
  if (lack === undefined) return report
  if (await buildsByProposal(runContext, failed)) return report
  const begun = context.clock.elapsed()
  for (const [at, build] of (await candidates(runContext, failed, lack, plan)).entries()) {
    const found = await tryOne(runContext, { build, failed, members, folder: `builds/${at + 1}`, begun })
    if (stopSignal(runContext).aborted) break
    if (found === undefined) continue
    addVerificationTime(runContext, begun)
    return { ...report, failed: { ...failed, build: found } }
  }
  addVerificationTime(runContext, begun)
  return report
}
