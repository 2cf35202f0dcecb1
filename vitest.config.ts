import { defineConfig } from 'vitest/config'
import { isLongForm } from './test/support/form.ts'

/** Beside the code, but they start programs, so that they are fast and not unit tests. */
const starting = [
  'src/cli/config-check.test.ts',
  'src/platform/{peer,regular-file}.test.ts',
  'src/runtime/core/files.test.ts',
]

/** Pure tests that speak of more than one module. Everything else in test/ starts a program, git, a server or a store. */
const pure = [
  'test/{backoff,events,vocabulary}.test.ts',
  'test/docs/*.test.ts',
  'test/harness/{conformance,doom-loops,innocence,launch,limits,one-list,question}.test.ts',
  'test/runtime/{abilities,crash-points}.test.ts',
  'test/store/writes.test.ts',
]

/**
 * What needs real programs and their seconds: signals, trees of processes, terminals, `unstuck` itself, engines that are killed,
 * package managers, builds, hostile repositories. CI runs it, `npm test` does not.
 */
const processes = [
  'test/{ci,cli,process}/**/*.test.ts',
  'test/api/dashboard.test.ts',
  'test/harness/acp.test.ts',
  'test/recovery/{authorship,contract}.test.ts',
  'test/runtime/{ask-unheard,check-cache,command-runner,left-out,packages}.test.ts',
  'test/store/{claims,lock}.test.ts',
  'test/workspace/{dependencies,encoding,git-starter,hostile-git,hostile-remote,package-pool}.test.ts',
  'test/workspace/{repair-dependencies,submodules}.test.ts',
]

/**
 * Files of the long form only (`npm run test:long`): each takes minutes of programs, and another suite of CI touches the same promise, as the
 * simulation, the unit tests of its rules, or a file beside it.
 */
export const longFiles = [
  'test/{hostile/tree,hostile/weakened,process/full-disk,remote/corrections,remote/reviews,verify/codes}.test.ts',
  'test/real/{exec-restrictions,own-tools,policy,session,sim,traps}.test.ts',
  'test/waits/{after-landing,allowed-actions,ask,branch-prefix,chance-on-base,changed-issue}.test.ts',
  'test/waits/{checkout-question,commands,commit-title,conflict-solutions,conflicts,connections}.test.ts',
  'test/waits/{dispatch,effect,fault-agents,feedback,follow-restart,grants,issue-command,judge}.test.ts',
  'test/waits/{known-repair,large-tree,limits,loops,machine-failures,moved-repository,no-change}.test.ts',
  'test/waits/{owner-limits,person,person-only,play,probes,proposal-doors,pull-request-conflict}.test.ts',
  'test/waits/{python-requirements,quota-command,red-before,refusals,remote,review,review-subjects}.test.ts',
  'test/waits/{reviewers,shared-account,stalled,stalls,unwanted-issue,workspaces}.test.ts',
]
const long = isLongForm ? [] : longFiles

/** Folders whose suites are started by name from `.ci/run`. */
const heavy = 'test/{browser,chaos,real,real-repositories,remote,hostile,hosts,simulation,verify,waits}/**'

/**
 * Each project has its own number of workers, so vitest runs them one after the other (`groupOrder`).
 * `npm test` runs `unit` and `fast`: pure tests, and those with real git and a real store in the test's own process. All
 * other suites are started by name from `.ci/run`.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          sequence: { groupOrder: 0 },
          setupFiles: ['test/support/seed.ts'],
          include: ['src/**/*.test.ts', 'dashboard/**/*.test.ts', 'sim/**/*.test.ts', ...pure],
          exclude: starting,
          // Half of their time would be the loading of the same modules, file by file. So none of them may leave anything behind.
          pool: 'threads',
          isolate: false,
          // They wait for nothing: one for each of two cores. Vitest would leave one of them idle.
          maxWorkers: 2,
          // Not what a test takes, but what it may take on a machine that is busy with others.
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'fast',
          sequence: { groupOrder: 1 },
          setupFiles: ['test/support/seed.ts'],
          include: ['test/**/*.test.ts', ...starting],
          exclude: [heavy, ...pure, ...processes],
          // As in the unit tests: a store of its own, a folder of its own, and nothing left behind.
          isolate: false,
          globalSetup: ['test/support/global-setup.ts'],
          // Not what a test takes, which is seconds, but what it may take on a machine that is busy with others.
          testTimeout: 240_000,
          hookTimeout: 240_000,
          // More than there are cores, because many of these tests wait for git, a store or a program that they started.
          maxWorkers: 3,
        },
      },
      {
        test: {
          name: 'process',
          sequence: { groupOrder: 2 },
          setupFiles: ['test/support/seed.ts'],
          include: processes,
          exclude: long,
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          maxWorkers: 3,
        },
      },
      {
        test: {
          name: 'heavy',
          sequence: { groupOrder: 3 },
          include: ['test/{chaos,real,hostile,remote,verify}/**/*.test.ts'],
          exclude: ['test/*/by-hand/**', ...long],
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 900_000,
          hookTimeout: 300_000,
          // Tests of one file that may run side by side are programs that mostly wait.
          maxConcurrency: 2,
          // Engine, agents and checks of a test wait for each other, so one file alone leaves part of two cores idle.
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'waits',
          sequence: { groupOrder: 4 },
          include: ['test/{real-repositories,waits}/**/*.test.ts'],
          exclude: long,
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 900_000,
          hookTimeout: 300_000,
          // Most of these tests wait, so more of them than there are cores run side by side.
          maxWorkers: 4,
          // A new process and its imports take as long as a small file. None of them changes its process, and each has engines of its own.
          isolate: false,
        },
      },
      {
        test: {
          name: 'by-hand',
          sequence: { groupOrder: 5 },
          include: ['test/*/by-hand/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 900_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'simulation',
          sequence: { groupOrder: 6 },
          include: ['test/simulation/**/*.test.ts'],
          globalSetup: ['test/simulation/global-setup.ts'],
          testTimeout: 600_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'browser',
          sequence: { groupOrder: 7 },
          include: ['test/browser/*.test.ts'],
          testTimeout: 600_000,
          expect: { poll: { timeout: 30_000 } },
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'hosts',
          sequence: { groupOrder: 8 },
          include: ['test/hosts/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
