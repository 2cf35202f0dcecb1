/**
 * The ports: everything through which the runtime acts outside the store (processes, git, a few files, notifications). Only this file binds them to the
 * real implementations. The rest of `src/runtime` imports only types from `../process`, `../workspace` and `../notify`, so that the simulation can
 * replace every effect.
 */
import { runCommand } from '../../process/run-command.ts'
import {
  isLaunchOver,
  launchState,
  openGate,
  requestStop,
  startShim,
  touchKeepAlive,
  unfinishedLine,
  waitForExit,
} from '../../process/shim-client.ts'
import { redactText } from '../../process/redact.ts'
import { buttonTokenHash, newButtonToken, readPresses } from '../../notify/button.ts'
import { ntfyToken, sendOver } from '../../notify/channels.ts'
import { leasePorts, releasePorts } from '../../process/port-lease.ts'
import { keepSpare } from '../../process/spare.ts'
import { endRemaining, sweep } from '../../process/sweep.ts'
import { followStreams, readSegments, writtenBytes } from '../../process/tail.ts'
import { receivedBytes } from '../../process/received-bytes.ts'
import { noteStarted, readStarted, startedPrograms } from '../../process/started-programs.ts'
import { treeUsage } from '../../process/usage.ts'
import { askVersion, printedBy } from '../../process/program-version.ts'
import { authorOf } from '../../workspace/author.ts'
import { changeSize } from '../../workspace/change-size.ts'
import { captureBase, captureTree, changesBetween, linkTarget } from '../../workspace/changes.ts'
import { createWorkspace, removeWorkspace, returnWorkspace } from '../../workspace/clone.ts'
import { branchUses } from '../../workspace/branch-uses.ts'
import { buildCommit, buildTree } from '../../workspace/commit.ts'
import { copyFiles } from '../../workspace/copy-files.ts'
import {
  diffText,
  filesOf,
  filesOfCommit,
  fileTextAt,
  fileTextsAt,
  readTexts,
  treeOf,
} from '../../workspace/contents.ts'
import { diskUsageOf } from '../../workspace/disk-usage.ts'
import { removePackages } from '../../workspace/packages.ts'
import { prepareDependencies } from '../../workspace/dependencies.ts'
import { fastForward } from '../../workspace/forward.ts'
import { removeRunRef, publishRunRef } from '../../workspace/publish-run-ref.ts'
import {
  copyObjects,
  ensureGoalBranch,
  integrate,
  isCommitOf,
  mergedTree,
  publish,
  readRef,
  restoreRef,
  revertedTree,
} from '../../workspace/branches.ts'
import { ignoredAt, presentAt } from '../../workspace/ignored.ts'
import { inspectInstalled } from '../../workspace/installed.ts'
import { hasOwnInstall, keepOwnInstall, packageFolders } from '../../workspace/own-installs.ts'
import { overlayWork } from '../../workspace/overlay.ts'
import { captureConcurrently, readPatch } from '../../workspace/patch.ts'
import { compareRefs, readRefLog, readRefs } from '../../workspace/refs.ts'
import { readCheckout, restoreIndex, untrackedSince } from '../../workspace/checkout-state.ts'
import { holdCheckout, keepHeld, readConfigValues } from '../../workspace/held-checkout.ts'
import { restoreCheckout } from '../../workspace/restore-checkout.ts'
import { readGitTrace, traceVariables } from '../../workspace/git-trace.ts'
import { renamesSince } from '../../workspace/renames.ts'
import { commitsBetween, commitsSince, isContainedIn, mergeBase, recentCommits } from '../../workspace/history.ts'
import { tendTrees } from '../../workspace/tree-pool.ts'
import { readSigning, signCommits, trySigning } from '../../workspace/signing.ts'
import { repairDependencies } from '../../workspace/repair-dependencies.ts'
import { maintainPool } from '../../workspace/package-pool.ts'
import { checkOutSubmodules } from '../../workspace/submodules.ts'
import { seedCaches } from '../../workspace/seed-caches.ts'
import { openRepository } from '../../workspace/repository.ts'
import { directoryIdentity } from '../../workspace/directory-identity.ts'
import { ignoredEntries, includedFiles, layOwnersFiles } from '../../workspace/owners-files.ts'
import { emptyFoldersSince, findStrayWork, ignoredSince } from '../../workspace/stray-work.ts'
import { layEnvironments } from '../../workspace/virtual-environment.ts'
import { layView, revertFiles, viewChanges } from '../../workspace/view.ts'
import { dropSnapshot, keepAgentCommits, keepCommit, listSnapshots, takeSnapshot } from '../../workspace/snapshot.ts'
import { shownEndpoint, traceEndpoint } from '../../trace/endpoint.ts'
import { openSpanSender } from '../../trace/send-spans.ts'
import { hostFacts } from '../../platform/host-facts.ts'
import { realFiles, type Files } from './files.ts'

const realProcesses = {
  askVersion,
  endLeft: endRemaining,
  follow: followStreams,
  isOver: isLaunchOver,
  keepSpare,
  launchState,
  leasePorts,
  openGate,
  noteStarted,
  printedBy,
  readSegments,
  readStarted,
  receivedBytes,
  releasePorts,
  redactText,
  requestStop,
  runCommand,
  startShim,
  startedPrograms,
  sweep,
  touchKeepAlive,
  treeUsage,
  unfinishedLine,
  waitForExit,
  writtenBytes,
}

const realGit = {
  authorOf,
  branchUses,
  bringObjects: copyObjects,
  buildCommit,
  buildTree,
  bytesOf: diskUsageOf,
  captureAside: captureConcurrently,
  captureBase,
  captureTree,
  changeSize,
  changesBetween,
  commitsBetween,
  commitsSince,
  renamesSince,
  copyFiles,
  compareRefs,
  createWorkspace,
  diffText,
  directoryOf: directoryIdentity,
  dropHandOver: removeRunRef,
  dropSnapshot,
  ensureGoalBranch,
  fastForward,
  filesOf,
  findStrayWork,
  ignoredSince,
  emptyFoldersSince,
  untrackedSince,
  handOver: publishRunRef,
  hasOwnInstall,
  holdCheckout,
  ignoredAt,
  ignoredEntries,
  includedFiles,
  inspectInstalled,
  integrate,
  isBelow: isContainedIn,
  isCommitOf,
  keepAgentCommits,
  keepCommit,
  keepOwnInstall,
  keepHeld,
  layEnvironments,
  layOver: overlayWork,
  layOwnersFiles,
  laySubmodules: checkOutSubmodules,
  layView,
  linkTarget,
  listSnapshots,
  mendDependencies: repairDependencies,
  mergedTree,
  mergeBase,
  openRepository,
  packageFolders,
  prepareDependencies,
  presentAt,
  publish,
  readCheckout,
  readConfigValues,
  readGitTrace,
  readPatch,
  readRef,
  readRefLog,
  readRefs,
  readSigning,
  readTexts,
  recentCommits,
  removePackages,
  removeWorkspace,
  returnWorkspace,
  restoreCheckout,
  restoreIndex,
  restoreRef,
  revertFiles,
  revertedTree,
  seedCaches,
  signCommits,
  snapshot: takeSnapshot,
  tendPool: maintainPool,
  tendTrees,
  textAt: fileTextAt,
  textsAt: fileTextsAt,
  filesOfCommit,
  treeOf,
  traceVariables,
  trySigning,
  viewChanges,
}

const realNotify = { buttonTokenHash, newButtonToken, ntfyToken, readPresses, sendOver }

const realTraces = { openSpanSender, shownEndpoint, traceEndpoint }

const realHost = { facts: hostFacts }

export type Notify = typeof realNotify
export type Traces = typeof realTraces
export type Host = typeof realHost
export type Processes = typeof realProcesses
export type Git = typeof realGit

export interface Ports {
  processes: Processes
  git: Git
  files: Files
  notify: Notify
  traces: Traces
  host: Host
}

export const realPorts: Ports = {
  ...{ processes: realProcesses, git: realGit, files: realFiles, notify: realNotify },
  ...{ traces: realTraces, host: realHost },
}
