/** Runs on a real store whose clone is an empty folder, and whose commands are counted instead of run: what is stored when, and what runs. */
import { drivers } from '../../src/harness/drivers.ts'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/config/config.ts'
import type { RecoveryProposal } from '../../src/domain/recovery-proposal.ts'
import type { Task } from '../../src/domain/task.ts'
import type { ObservedCheck } from '../../src/recovery/evidence.ts'
import { playbooks } from '../../src/recovery/ladder.ts'
import { proposedCommandOf, type Proposal } from '../../src/recovery/proposal/proposal.ts'
import { runPaths, type Context } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import type { ActionOf, ChosenRecovery } from '../../src/runtime/core/recovery-record.ts'
import type { RunContext } from '../../src/runtime/core/run-context.ts'
import { chooseStoredRecovery } from '../../src/runtime/core/store-record.ts'
import { storeProposal } from '../../src/runtime/run/take-proposal.ts'
import type { ChangeList } from '../../src/workspace/repository-types.ts'
import { registerAgents } from '../../src/store/agent.ts'
import { claimTask } from '../../src/store/claim.ts'
import type { Db, Queryable } from '../../src/store/db.ts'
import { getGoal } from '../../src/store/goal.ts'
import { getRun } from '../../src/store/run.ts'
import { getTask } from '../../src/store/task.ts'
import { openTestStore, type Store } from './store.ts'

export const check = 'npm test'
export const command = 'npm install'

export const proposalOf = (more: Partial<Proposal> = {}): Proposal => ({
  ...{ version: 1, timestamp: '2026-01-23T05:36:33Z', category: 'dependency', severity: 'blocking' },
  diagnosis: { error_pattern: '.', root_cause: 'two versions', evidence: ['out.txt:3: Cannot start'] },
  recovery: { command, expected_outcome: 'it starts', confidence: 'high' },
  ...more,
})

export const failedCheck = (text = check): ObservedCheck =>
  ({
    ...{ command: text, source: 'task', exitCode: 1, signal: null, timedOut: false, durationMs: 1 },
    ...{ stdout: '', stderr: 'Cannot start service: Host version "1" does not match binary version "2"' },
    ...{ plan: [text], planIndex: 0 },
  }) as unknown as ObservedCheck

/** Thrown by everything that an engine does after it was killed. */
export class Killed extends Error {}

/** The store as an engine sees it that dies before its step number `at`; each statement and each commit is a step. */
const dying = (db: Db, step: () => void): Db => {
  const within = (tx: Queryable): Queryable => ({
    ...tx,
    query: (...given) => {
      step()
      return tx.query(...given)
    },
  })
  return {
    ...db,
    ...within(db),
    transaction: (work) =>
      db.transaction(async (tx) => {
        const done = await work(within(tx))
        step()
        return done
      }),
  }
}

export interface ProposalRuns {
  store: Store
  /** How often the command of each run was started. */
  started: Map<string, number>
  /** The section `recovery`, which may change under a run; undefined = absent. */
  settings: { recovery?: object; workspace?: object; exitOf?: (command: string) => number }
  found: ChangeList
  /** Tasks of a new goal, each with a run of its own. */
  runs: (count?: number) => Promise<RunContext[]>
  /** The run as another engine finds it. */
  again: (run: RunContext) => Promise<RunContext>
  /** The same for an engine that dies before step `at`. */
  mortal: (run: RunContext, at: number) => Promise<{ run: RunContext; steps: () => number }>
  /** `failing`: the check that fails. */
  propose: (run: RunContext, body?: Proposal, digest?: string, failing?: string) => Promise<RecoveryProposal>
  /** What the ladder chooses for the first command of the proposal. */
  chosen: (
    run: RunContext,
    proposal: RecoveryProposal,
    approvedBy: string,
  ) => Promise<ChosenRecovery<ActionOf<'run_proposed'>>>
  close: () => Promise<void>
}

export const openProposalRuns = async (): Promise<ProposalRuns> => {
  const store = await openTestStore()
  const top = mkdtempSync(join(tmpdir(), 'unstuck-proposals-'))
  const names = Array.from({ length: 200 }, (_, index) => `slot-${index}`)
  await store.db.transaction((tx) => registerAgents(tx, names, 'here'))
  const started = new Map<string, number>()
  const settings: ProposalRuns['settings'] = { recovery: { auto_approve: [command], cooldown_seconds: 0 } }
  const found = { base: 'base', tree: 'tree', changes: [], nestedRepositories: [], leftOut: [] } as ChangeList
  let taken = 0
  const contextOf = (step: () => void = () => undefined): Context => {
    const runCommand = async (dir: string, { argv }: { argv: readonly string[] }) => {
      step()
      const [kind, id = ''] = [dir.split('/').at(-2), dir.split('/').at(-3)]
      if (kind === 'proposed') started.set(id, (started.get(id) ?? 0) + 1)
      step()
      const text = argv[1] === '-c' ? (argv.at(-1) ?? '') : argv.join(' ')
      const exitCode = settings.exitOf?.(text) ?? 0
      return { exitCode, signal: null, timedOut: false, durationMs: 1, stdout: '', stderr: '' }
    }
    const git = {
      ...realPorts.git,
      captureTree: async (_shadow: unknown, { base }: { base: string }) => ({ ...found, base, tree: base }),
      buildTree: async (_shadow: unknown, { base }: { base: string }) => base,
      revertFiles: async () => undefined,
      seedCaches: async () => false,
      buildCommit: async () => 'commit',
      removeWorkspace: async () => undefined,
      createWorkspace: async () => undefined,
      laySubmodules: async () => ({ laid: [], missing: [] }),
      copyFiles: async () => ({}),
      prepareDependencies: async () => ({}),
    }
    const config = () =>
      loadConfig({ root: top, environment: {}, readFile: () => JSON.stringify({ ...settings, exitOf: undefined }) })
    return {
      ...store.context,
      ...{ db: dying(store.db, step), config, stateDir: top, repository: { root: top }, shadow: {} },
      policy: () => ({ playbooks, disabled: [], retry: config().retry }),
      ports: { ...realPorts, git, processes: { ...realPorts.processes, runCommand } },
      ...{ clock: { elapsed: () => 0 }, stopping: new AbortController().signal, at: () => undefined },
      ...{ log: { info: () => undefined, warn: () => undefined }, environment: {} },
    } as unknown as Context
  }
  const runOf = async (id: string, context = contextOf()): Promise<RunContext> => {
    const run = await getRun(store.db, id)
    if (run === undefined) throw new Error(`no run ${id}`)
    const [task, goal] = [await getTask(store.db, run.taskId), await getGoal(store.db, run.goalId)]
    const paths = runPaths({ stateDir: top }, id)
    mkdirSync(paths.checked, { recursive: true })
    const given = { context, goal, task, run, paths, harness: { args: [] }, driver: drivers.claude }
    return { ...given, abort: new AbortController(), renewedAt: 0 } as unknown as RunContext
  }
  const claimed = async (task: Task): Promise<RunContext> => {
    const text = "update task set ready = (id = $1) where state = 'queued'"
    await store.db.query({ text, values: [task.id] })
    const runId = `r-${(taken += 1)}`
    const claim = { agentId: `slot-${taken}`, runId, ttlSeconds: 600 }
    if ((await store.db.transaction((tx) => claimTask(tx, claim))) === undefined) throw new Error('nothing to claim')
    return runOf(runId)
  }
  return {
    ...{ store, started, settings, found },
    runs: async (count = 1) => {
      const { tasks } = await store.goal(count)
      const all: RunContext[] = []
      for (const task of tasks) all.push(await claimed(task))
      return all
    },
    again: ({ run }) => runOf(run.id),
    mortal: async ({ run }, at) => {
      let steps = 0
      const step = (): void => {
        if ((steps += 1) >= at) throw new Killed()
      }
      return { run: await runOf(run.id, contextOf(step)), steps: () => steps }
    },
    propose: async (run, body = proposalOf(), digest = run.run.id, failing = check) => {
      const stored = await storeProposal(run, {
        ...{ digest, source: 'agent', body, offsetStated: 'Z', problem: null, flag: null },
        failing: { command: failing, signature: 'as before' },
      })
      if (stored === undefined) throw new Error('the proposal was there before')
      return stored
    },
    chosen: async ({ context, run }, { id, body, failing }, approvedBy) => {
      const { confidence: _, ...proposed } = proposedCommandOf(body as Proposal, 'primary') ?? { confidence: 'low' }
      const { diagnosis, step } = await chooseStoredRecovery(context, run, {
        ...{
          kind: 'proposal',
          proposal: id,
          ...proposed,
          approvedBy,
          check: failing.command,
          signature: 'as before',
        },
      } as Parameters<typeof chooseStoredRecovery>[2])
      if (step.kind !== 'recover') throw new Error(step.reason)
      return { diagnosis, step } as ChosenRecovery<ActionOf<'run_proposed'>>
    },
    close: async () => {
      await store.close()
      rmSync(top, { recursive: true, force: true })
    },
  }
}
