import { defineConfig } from 'vitest/config'

/**
 * `fast` is what `npm test` runs: pure tests beside the code and the real-process,
 * real-git, real-store suites. The heavier suites are started by name from `.ci/run`.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'fast',
          setupFiles: ['test/support/seed.ts'],
          include: ['src/**/*.test.ts', 'dashboard/**/*.test.ts', 'sim/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['test/{browser,chaos,real,remote,hostile,hosts,postgres,simulation,verify,waits}/**'],
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
          name: 'heavy',
          include: ['test/{chaos,real,hostile,remote,verify}/**/*.test.ts'],
          exclude: ['test/*/by-hand/**'],
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
          include: ['test/waits/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 900_000,
          hookTimeout: 300_000,
          // Most of these tests wait, so more of them than there are cores run side by side.
          maxWorkers: 4,
        },
      },
      {
        test: {
          name: 'by-hand',
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
          include: ['test/simulation/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'hosts',
          include: ['test/hosts/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'postgres',
          setupFiles: ['test/support/seed.ts'],
          include: ['test/postgres/**/*.test.ts'],
          globalSetup: ['test/postgres/global-setup.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
