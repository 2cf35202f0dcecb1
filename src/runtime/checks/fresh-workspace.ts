/**
 * Makes a clone in which an agent or checks can start: submodules, packages, the owner's files (`workspace.copy`) and the owner's
 * set-up (`workspace.setup`). The workspaces of a run, of its base commit and of a rebased commit are made here in the same way,
 * because otherwise the results of a check in them could not be compared.
 */
import type { Config } from '../../config/config.ts'
import { classify } from '../../recovery/diagnosis/classify.ts'
import type { Evidence, ObservedCheck } from '../../recovery/evidence.ts'
import type { WorkspaceRequest } from '../../workspace/clone.ts'
import type { Repository } from '../../workspace/repository-types.ts'
import type { Preparation } from '../../workspace/dependencies.ts'
import type { Shadow } from '../../workspace/shadow.ts'
import type { Submodules } from '../../workspace/submodules.ts'
import { treePool, type Context } from '../core/context.ts'
import type { Ports } from '../core/ports.ts'
import type { InstallRequest } from './install.ts'
import { runChecks } from './command-runner.ts'
import { defined } from '../../domain/defined.ts'

export interface FreshRequest {
  clone: WorkspaceRequest
  /** The user's checkout: packages, submodules and files come from it, also when the clone takes its objects from elsewhere. */
  owners: Repository
  stateDir: string
  filters: Shadow['filters']
  config: Config['workspace']
  signal?: AbortSignal
}

export interface FreshWorkspace {
  submodules: Submodules
  dependencies: Preparation
  /** Files of the owner that were copied: those of `workspace.copy` and of `.worktreeinclude`. They are no part of the work. */
  copied: string[]
  /** Why a file of `workspace.copy` could not be copied. */
  copyProblem?: string
}

/** A commit to be checked in a workspace in which no agent has worked. */
export interface CleanRequest extends Pick<Context, 'repository' | 'shadow' | 'stateDir' | 'config'> {
  commit: string
  workspace: string
  branch: string
  signal: AbortSignal
}

/** Clones from the shadow repository: it has every commit of a run, also one captured from a folder without commits. */
export const makeCleanWorkspace = async (ports: Ports, request: CleanRequest): Promise<FreshWorkspace> => {
  const { repository, shadow, stateDir, commit, workspace, branch, signal } = request
  await ports.git.removeWorkspace(workspace)
  const { gitDir } = shadow
  return makeFreshWorkspace(ports, {
    clone: { repository: { ...repository, root: gitDir, commonDir: gitDir }, base: commit, dir: workspace, branch },
    owners: repository,
    ...{ stateDir, config: request.config().workspace, filters: shadow.filters, signal },
  })
}

/** Patterns in the syntax of .gitignore that match exactly these files. */
export const copiedPatterns = (names: readonly string[]): string[] =>
  names.map((name) => `/${name.replace(/[ !#]/g, String.raw`\$&`)}`)

export const makeFreshWorkspace = async (
  { git }: Pick<Ports, 'git'>,
  request: FreshRequest,
): Promise<FreshWorkspace> => {
  const { clone, owners, config, signal } = request
  const workspace = clone.dir
  const included = (await git.includedFiles(owners)).filter((path) => !config.copy.includes(path))
  const copied = [...config.copy, ...included]
  const { filters } = request
  const trees = treePool(request)
  await git.createWorkspace({ ...clone, exclude: copiedPatterns(copied), refsOf: owners, filters, trees })
  const submodules = await git.laySubmodules({ repository: owners, workspace })
  await git.layEnvironments({ repository: owners, workspace })
  const { problem } = await git.copyFiles({ repository: owners, workspace, names: config.copy })
  // A commit may track what the patterns name by now.
  await git.layOwnersFiles({ repository: owners, workspace, paths: included })
  const dependencies = await git.prepareDependencies({
    ...{ repository: owners, workspace, cacheDir: `${request.stateDir}/dependencies` },
    ...defined({ signal }),
  })
  return { submodules, dependencies, copied, ...defined({ copyProblem: problem }) }
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

/** A failed set-up, as evidence against the workspace and as a failed check of the work: the caller knows which one it is. */
export interface FailedSetup {
  evidence: SetupEvidence
  check: ObservedCheck
}

/** Runs `workspace.setup` in the way a check runs. Undefined = none is configured, or it passed. */
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
  // A set-up that passed is not judged by the tests that its output mentions.
  if (failed === undefined || failed.ranNothing !== undefined) return undefined
  return { evidence: evidenceOf(setup, failed), check: failed }
}
