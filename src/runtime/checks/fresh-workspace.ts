/**
 * A clone in which an agent or checks may begin: with its submodules, its packages and the owner's files, and set up by the
 * owner's command. The same for the workspace of a run, of a base commit and of a rebased one, so that all see the same.
 */
import type { Config } from '../../config.ts'
import { classify } from '../../recovery/diagnosis/classify.ts'
import type { Evidence, ObservedCheck } from '../../recovery/evidence.ts'
import type { WorkspaceRequest } from '../../workspace/clone.ts'
import type { Repository } from '../../workspace/contract.ts'
import type { Preparation } from '../../workspace/dependencies.ts'
import type { Submodules } from '../../workspace/submodules.ts'
import type { Context } from '../core/context.ts'
import type { Ports } from '../core/ports.ts'
import type { InstallRequest } from './install.ts'
import { runChecks } from './verify.ts'

export interface FreshRequest {
  clone: WorkspaceRequest
  /** Whose packages, submodules and files are brought: the user's checkout, wherever the clone has its objects from. */
  owners: Repository
  stateDir: string
  config: Config['workspace']
  signal?: AbortSignal
}

export interface Fresh {
  submodules: Submodules
  dependencies: Preparation
  /** Why a file of the owner's is not there. */
  copyProblem?: string
}

/** A commit that is to be looked at where no agent has been. */
export interface CleanRequest extends Pick<Context, 'repository' | 'shadow' | 'stateDir' | 'config'> {
  commit: string
  workspace: string
  branch: string
  signal: AbortSignal
}

/** Through the shadow, which has every commit of a run: also one that was captured from a folder without commits. */
export const makeClean = async (ports: Ports, request: CleanRequest): Promise<Fresh> => {
  const { repository, shadow, stateDir, commit, workspace, branch, signal } = request
  await ports.git.removeWorkspace(workspace)
  const { gitDir } = shadow
  return makeFresh(ports, {
    clone: { repository: { ...repository, root: gitDir, commonDir: gitDir }, base: commit, dir: workspace, branch },
    owners: repository,
    ...{ stateDir, config: request.config().workspace, signal },
  })
}

/** In the syntax of .gitignore: each of these files and nothing else. */
export const copiedPatterns = (names: readonly string[]): string[] =>
  names.map((name) => `/${name.replace(/[ !#]/g, String.raw`\$&`)}`)

export const makeFresh = async ({ git }: Pick<Ports, 'git'>, request: FreshRequest): Promise<Fresh> => {
  const { clone, owners, config, signal } = request
  const workspace = clone.dir
  await git.createWorkspace({ ...clone, exclude: copiedPatterns(config.copy) })
  const submodules = await git.laySubmodules({ repository: owners, workspace })
  const { problem } = await git.copyFiles({ repository: owners, workspace, names: config.copy })
  const dependencies = await git.prepareDependencies({
    ...{ repository: owners, workspace, cacheDir: `${request.stateDir}/dependencies` },
    ...(signal === undefined ? {} : { signal }),
  })
  return { submodules, dependencies, ...(problem === undefined ? {} : { copyProblem: problem }) }
}

type SetupEvidence = Extract<Evidence, { kind: 'setup' }>

const endOf = ({ exitCode, signal, timedOut, spawnError }: ObservedCheck): string => {
  if (spawnError !== undefined) return spawnError
  return timedOut ? 'it ran out of time' : `it ended with ${exitCode ?? signal ?? 'no status'}`
}

const evidenceOf = (command: string, failed: ObservedCheck): SetupEvidence => {
  const { exitCode, signal, stdout, stderr } = failed
  const { evidence, recoveryKind } = classify({
    command,
    exitCode,
    signal,
    stdout,
    stderr,
    plan: [command],
    planIndex: 0,
  })
  const said = `${stdout}${stderr}`.trim() === '' ? '' : `, ${evidence}`
  const transient = failed.timedOut || (failed.spawnError === undefined && recoveryKind === 'retry_later')
  return { kind: 'setup', command, cause: `${endOf(failed)}${said}`, transient }
}

/** A set-up that failed, as the fault of the place and as the fault of the work in it. */
export interface FailedSetup {
  evidence: SetupEvidence
  check: ObservedCheck
}

/** Runs the owner's set-up as a check is run. Undefined = there is none, or it passed. */
export const runSetup = async (
  request: InstallRequest,
  { setup, setupSeconds }: Config['workspace'],
): Promise<FailedSetup | undefined> => {
  if (setup === undefined) return undefined
  const { failed } = await runChecks({
    ...request,
    ...{ commands: [setup], source: () => 'config', passed: () => undefined },
    timeoutMs: setupSeconds * 1000,
    totalMs: setupSeconds * 1000,
  })
  // Where it ended well, what it said of tests is none of our business.
  if (failed === undefined || failed.ranNothing !== undefined) return undefined
  return { evidence: evidenceOf(setup, failed), check: failed }
}
