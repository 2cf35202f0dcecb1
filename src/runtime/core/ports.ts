/**
 * The ports: everything through which the runtime acts outside the store (processes, git, a few files). Only this file binds them to the
 * real implementations. The rest of `src/runtime` imports only types from `../process` and `../workspace`, so that the simulation can
 * replace every effect.
 */
import { runCommand } from '../../process/command.ts'
import {
  isOver,
  launchState,
  openGate,
  requestStop,
  startShim,
  touchKeepAlive,
  unfinishedLine,
  waitForExit,
} from '../../process/launch.ts'
import { redactText } from '../../process/redact.ts'
import { leasePorts, releasePorts } from '../../process/port-lease.ts'
import { keepSpare } from '../../process/spare.ts'
import { endLeft, sweep } from '../../process/sweep.ts'
import { follow, readSegments, writtenBytes } from '../../process/tail.ts'
import { treeUsage } from '../../process/usage.ts'
import { askVersion } from '../../process/version.ts'
import { authorOf } from '../../workspace/author.ts'
import { captureBase, captureTree, changesBetween, linkTarget } from '../../workspace/changes.ts'
import { createWorkspace, removeWorkspace } from '../../workspace/clone.ts'
import { buildCommit, buildTree } from '../../workspace/commit.ts'
import { copyFiles } from '../../workspace/copy-files.ts'
import { diffText, readTexts, textAt } from '../../workspace/contents.ts'
import { bytesOf } from '../../workspace/bytes.ts'
import { removePackages } from '../../workspace/packages.ts'
import { prepareDependencies } from '../../workspace/dependencies.ts'
import { fastForward } from '../../workspace/forward.ts'
import { dropHandOver, handOver } from '../../workspace/hand-over.ts'
import {
  bringObjects,
  ensureGoalBranch,
  integrate,
  isCommitOf,
  publish,
  readRef,
  restoreRef,
} from '../../workspace/landing.ts'
import { inspectInstalled } from '../../workspace/installed.ts'
import { layOver } from '../../workspace/lay-over.ts'
import { captureAside, readPatch } from '../../workspace/patch.ts'
import { compareRefs, readRefLog, readRefs } from '../../workspace/refs.ts'
import { commitsBetween, isBelow } from '../../workspace/history.ts'
import { topOfCommit, treeOf } from '../../workspace/tree.ts'
import { mendDependencies } from '../../workspace/mend.ts'
import { tendPool } from '../../workspace/package-pool.ts'
import { laySubmodules } from '../../workspace/submodules.ts'
import { seedCaches } from '../../workspace/seed-caches.ts'
import { openRepository } from '../../workspace/repository.ts'
import { directoryOf } from '../../workspace/same-directory.ts'
import { dropSnapshot, keepAgentCommits, listSnapshots, snapshot } from '../../workspace/snapshot.ts'
import { realFiles, type Files } from './files.ts'

const realProcesses = {
  askVersion,
  endLeft,
  follow,
  isOver,
  keepSpare,
  launchState,
  leasePorts,
  openGate,
  readSegments,
  releasePorts,
  redactText,
  requestStop,
  runCommand,
  startShim,
  sweep,
  touchKeepAlive,
  treeUsage,
  unfinishedLine,
  waitForExit,
  writtenBytes,
}

const realGit = {
  authorOf,
  bringObjects,
  buildCommit,
  buildTree,
  bytesOf,
  captureAside,
  captureBase,
  captureTree,
  changesBetween,
  commitsBetween,
  copyFiles,
  compareRefs,
  createWorkspace,
  diffText,
  directoryOf,
  dropHandOver,
  dropSnapshot,
  ensureGoalBranch,
  fastForward,
  handOver,
  inspectInstalled,
  integrate,
  isBelow,
  isCommitOf,
  keepAgentCommits,
  layOver,
  laySubmodules,
  linkTarget,
  listSnapshots,
  mendDependencies,
  openRepository,
  prepareDependencies,
  publish,
  readPatch,
  readRef,
  readRefLog,
  readRefs,
  readTexts,
  removePackages,
  removeWorkspace,
  restoreRef,
  seedCaches,
  snapshot,
  tendPool,
  textAt,
  topOfCommit,
  treeOf,
}

export type Processes = typeof realProcesses
export type Git = typeof realGit

export interface Ports {
  processes: Processes
  git: Git
  files: Files
}

export const realPorts: Ports = { processes: realProcesses, git: realGit, files: realFiles }
