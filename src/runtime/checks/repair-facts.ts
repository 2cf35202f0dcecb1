/** Facts for a repair beyond the failed check: the manifest of the base commit, and what the owner's settings allow. */
import { basename, dirname, join } from 'node:path'
import { planCheck, scriptOnce } from '../../recovery/command/plan-check.ts'
import { replaceScript, shellQuoted } from '../../recovery/command/replacement.ts'
import { classify } from '../../recovery/diagnosis/classify.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { isAskedByTask } from '../../recovery/named-by-task.ts'
import { absentFiles, isSecretFile, missingLines, pathsIn } from '../../recovery/probes/absent-files.ts'
import { dependencyFiles } from '../../recovery/install.ts'
import { installActionKeyOf } from '../../recovery/playbook.ts'
import { recoveriesOfRun } from '../../store/recovery.ts'
import { manifestScripts } from './manifest-scripts.ts'
import { isRealFolder, readIfFile } from '../core/files.ts'
import { checkedTreeOf, type RunContext } from '../core/run-context.ts'
import { defined } from '../../domain/defined.ts'

/**
 * A script that waits for changes. Only that of the base commit may be run in another form: one that the work wrote would let the work
 * choose its own check.
 */
const asOnBase = (
  { command, unsupported }: ObservedCheck,
  script: NonNullable<ObservedCheck['script']>,
  text: unknown,
): Partial<ObservedCheck> => {
  if (typeof text !== 'string' || text !== unsupported?.piece) return { script: { ...script, inBase: false } }
  const once = scriptOnce(text)
  const plan = planCheck(command)
  if (once === undefined || !plan.ok || plan.steps.length > 1) return {}
  const folder = dirname(script.manifest)
  return { rest: folder === '.' ? once : `cd ${shellQuoted(folder)} && ${once}` }
}

/** Whether the base commit has the script that is missing now (then the work removed it), and a script that can replace it. */
const withBase = async (runContext: RunContext, failed: ObservedCheck): Promise<ObservedCheck> => {
  const { script, command } = failed
  if (script === undefined || (script.exists && failed.unsupported === undefined)) return failed
  const { git, files } = runContext.context.ports
  const base = manifestScripts(
    await git.textAt(runContext.context.shadow, runContext.run.baseCommit ?? '', script.manifest),
  )
  if (script.exists) return { ...failed, ...asOnBase(failed, script, base[script.name]) }
  const now = manifestScripts(readIfFile(files, join(checkedTreeOf(runContext), script.manifest)))
  const replacement = replaceScript(command, script.name, { now, base })
  const inBase = typeof base[script.name] === 'string'
  return { ...failed, script: { ...script, inBase, ...defined({ replacement }) } }
}

/** In direct mode nothing is installed: the workspace is the user's own folder. */
const inClone = (runContext: RunContext, failed: ObservedCheck): ObservedCheck =>
  runContext.goal.repoMode === 'direct' ? { ...failed, installs: [] } : failed

const asSet = ({ context }: RunContext, failed: ObservedCheck): ObservedCheck =>
  failed.source === 'task' && !context.config().verify.skipMissingExplicitScript ? { ...failed, mustRun: true } : failed

/**
 * An install that manifest and lockfile of the work make impossible is no fault of this machine: only the agent can mend them. One of
 * other files than now says nothing.
 */
const withRefusedInstall = async ({ context, run }: RunContext, failed: ObservedCheck): Promise<ObservedCheck> => {
  const now = (failed.installs ?? []).map(installActionKeyOf)
  const isChanged = (failed.changed ?? []).some((path) => dependencyFiles.has(basename(path)))
  if (now.length === 0 || !isChanged) return failed
  const refused = (await recoveriesOfRun(context.db, run.id)).findLast(
    ({ actionKey, status }) => status === 'failed' && now.includes(actionKey),
  )
  if (refused === undefined) return failed
  const [command = ''] = refused.detail.split(': ', 1)
  const said = { command, exitCode: 1, signal: null, stdout: '', stderr: refused.detail, plan: [], planIndex: 0 }
  return classify(said).label === 'dependency_version_conflict' ? { ...failed, refusedInstall: refused.detail } : failed
}

/** What the output says is missing although the agent wrote it; secrets belong where git ignores them. */
const withUnkept = async (runContext: RunContext, failed: ObservedCheck): Promise<ObservedCheck> => {
  const { context, goal, paths, run } = runContext
  const lines = missingLines(`${failed.stdout}\n${failed.stderr}`)
  const startedAt = run.launches[0]?.startedAt
  if (goal.repoMode === 'direct' || lines.length === 0 || startedAt == null || run.baseCommit === null) return failed
  const { git, files } = context.ports
  // What the work is was collected before; an agent may have removed the folder since.
  if (!isRealFolder(files, paths.workspace)) return failed
  const request = { workspace: paths.workspace, base: run.baseCommit, since: Date.parse(startedAt) }
  const workspace = checkedTreeOf(runContext)
  const isHere = (path: string): boolean => files.existsSync(join(workspace, path))
  const ignored = await git.ignoredSince(context.shadow, request)
  const unkept = absentFiles(lines, { ignored, workspace, isHere }).filter(({ path }) => !isSecretFile(path))
  return unkept.length === 0 ? failed : { ...failed, unkept }
}

const withAsked = (runContext: RunContext, failed: ObservedCheck): ObservedCheck => {
  const missing = pathsIn(missingLines(`${failed.stdout}\n${failed.stderr}`), checkedTreeOf(runContext))
  return isAskedByTask(runContext.task, missing) ? { ...failed, asked: true } : failed
}

/** The failed check with these facts. */
export const withRepairFacts = async (runContext: RunContext, failed: ObservedCheck): Promise<ObservedCheck> => {
  const placed = inClone(runContext, asSet(runContext, await withBase(runContext, failed)))
  return withUnkept(runContext, withAsked(runContext, await withRefusedInstall(runContext, placed)))
}
