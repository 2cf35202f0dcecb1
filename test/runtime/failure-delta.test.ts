/** What failed on a machine and what cured it, from the rows that runs and recoveries leave, and how it is forgotten. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import { deltaOf, failureDelta, type FailureDelta } from '../../src/runtime/agent/failure-delta.ts'
import { failureLines } from '../../src/runtime/agent/brief-context.ts'
import { json, mustSucceed, sql, type Db } from '../../src/store/db.ts'
import type { MachineFailure } from '../../src/store/machine-failure.ts'
import { insertRecovery, resolveRecovery, type NewRecovery } from '../../src/store/recovery.ts'
import { registerAgents } from '../../src/store/agent.ts'
import { finishRun } from '../../src/store/run.ts'
import { moveTask } from '../../src/store/task.ts'
import { activeGoal, agents, claimed, empty, end, recoveryOf, task } from '../store/scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
let goals = 0
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db.close())
beforeEach(async () => {
  await empty(db)
  await agents(db, 'a1')
})

const delta = (host = 'host'): Promise<FailureDelta | undefined> => failureDelta({ db, host })
const known = async (): Promise<FailureDelta['reasonSignatures']> => (await delta())?.reasonSignatures ?? []

const begin = async (commands = ['npm run lint'], agent = 'a1'): Promise<Run> => {
  await activeGoal(db, `g${(goals += 1)}`, [{ commands }])
  return (await claimed(db, agent)).run
}
const missing = 'setup_or_bootstrap_issue/command_not_found: sh: 1: mytool: not found'
const machine = { label: 'command_not_found', probe: 'other' }
const install = {
  ...{ type: 'install', name: 'INSTALL_DEPENDENCIES', command: 'npm run lint' },
  install: { manager: 'npm', folder: '', commands: [['npm', 'ci']] },
}
const recover = async (run: Run, status: 'success' | 'failed' | undefined, more: Partial<NewRecovery> = {}) => {
  const entry = recoveryOf(run, {
    ...{ playbook: 'dependency-install', rung: 4, scope: 'run', label: 'command_not_found', signature: missing },
    ...{ issueDetected: 'sh: 1: mytool: not found', action: install, actionKey: 'install:npm:' },
    ...{ postCondition: { type: 'check_runs', command: 'npm run lint' } },
    ...more,
  })
  await insertRecovery(db, entry)
  if (status !== undefined) await resolveRecovery(db, entry.id, status, '')
}
/** The run succeeds with these checks. */
const succeed = async (run: Run, ...commands: string[]): Promise<void> => {
  const checks = commands.map((command) => ({ command, exitCode: 0, timedOut: false }))
  await db.query(sql`update run set verdict = ${json({ checks })}::jsonb where id = ${run.id}`)
  await end(db, run, 'succeeded', 'run_succeeded')
}
const fail = (run: Run, signature: string, more: object = {}): Promise<void> =>
  db.transaction(async (tx) => {
    const errorMeta = {
      source: 'verification' as const,
      failureCode: 'x',
      message: 'm',
      evidence: 'it failed',
      signature,
      ...more,
    }
    mustSucceed(await finishRun(tx, run, 'failed', errorMeta))
    mustSucceed(await moveTask(tx, await task(tx, run.taskId), 'run_failed'))
  })

describe('a failure of the machine', () => {
  test('is known from its recovery, and cured only when the post-condition held', async () => {
    const run = await begin()
    // The output says it, and so far nothing else does: the program may be one that the work has yet to make.
    await recover(run, undefined)
    expect(await delta()).toBeUndefined()
    const evidence = 'sh: 1: mytool: not found'
    await db.transaction((tx) => registerAgents(tx, ['a1', 'a2'], 'host'))
    await fail(await begin(undefined, 'a2'), missing, { failedCommand: 'npm run lint', machine, evidence })
    expect(await known()).toEqual([
      {
        ...{ signature: missing, label: 'command_not_found', count: 2, command: 'npm run lint' },
        ...{ lastSeenAt: expect.any(String) as string, lastMessage: 'sh: 1: mytool: not found' },
        addedKeys: ['host.os', 'host.shell', 'tools.node', 'tools.npm'],
      },
    ])
    await resolveRecovery(db, `rec_${run.id}_1`, 'failed', 'no')
    expect((await known())[0]).not.toHaveProperty('curedBy')
    await recover(run, 'success', { attempt: 2 })
    expect((await known())[0]?.curedBy).toBe('installed the dependencies (`npm ci`)')
    // The same action had no effect in a later run.
    await succeed(run)
    const again = await begin()
    await recover(again, 'failed')
    expect((await known())[0]).toMatchObject({ count: 3 })
    expect((await known())[0]).not.toHaveProperty('curedBy')
  })

  test('is known from a run that failed with it, without a recovery', async () => {
    await fail(await begin(), missing, { failedCommand: 'docker build .', machine })
    expect(await known()).toMatchObject([
      {
        count: 1,
        command: 'docker build .',
        addedKeys: expect.arrayContaining(['tools.docker', 'host.kernel']) as string[],
      },
    ])
    expect((await delta())?.promotedKeys).toContain('tools.docker')
  })

  test('that an agent repaired by a command is that of the check, not the proposal', async () => {
    const run = await begin()
    const proposed = {
      type: 'run_proposed',
      name: 'RUN_PROPOSED_COMMAND',
      command: 'sudo apt install /opt/deb/mytool.deb',
      check: 'make test',
    }
    await recover(run, 'success', {
      ...{ rung: 6, label: 'recovery_proposed', signature: 'environment_issue/recovery_proposed: x' },
      action: { ...proposed, signature: missing },
    })
    expect(await known()).toMatchObject([
      {
        ...{ signature: missing, label: 'command_not_found', command: 'make test' },
        ...{
          lastMessage: 'sh: 1: mytool: not found',
          curedBy: 'ran the proposed `sudo apt install /opt/deb/mytool.deb`',
        },
      },
    ])
  })

  test.each([
    ['of the work', 'test_failure/test_failure: 1 test failed'],
    ['of the command line', 'verification_command_missing_script/missing_script: no such script'],
    ['that the output only claims', 'transient_or_flaky_failure/network_transient: try again later'],
    ['without a known cause', 'model_or_unknown_failure/unknown: ?'],
    ['of another form', 'command_not_found'],
  ])('a failure %s teaches nothing about the machine', async (_, signature) => {
    await fail(await begin(), signature, { machine })
    expect(await delta()).toBeUndefined()
  })

  test('of another machine, or of the agent itself, is not known here', async () => {
    await db.transaction((tx) => registerAgents(tx, ['b1'], 'other', null))
    await recover(await begin(undefined, 'b1'), 'success')
    expect(await delta()).toBeUndefined()
    expect((await delta('other'))?.reasonSignatures).toHaveLength(1)
    await empty(db)
    await agents(db, 'a1')
    await recover(await begin(), 'success', { rung: 2 })
    expect(await delta()).toBeUndefined()
  })

  test('is forgotten after a day', async () => {
    await recover(await begin(), 'success')
    await db.query(sql`update recovery set started_at = started_at - interval '23 hours 59 minutes'`)
    expect(await known()).toHaveLength(1)
    await db.query(sql`update recovery set started_at = started_at - interval '2 minutes'`)
    expect(await delta()).toBeUndefined()
  })
})

describe('success', () => {
  test('halves the weight, each later run in which the same check passed', async () => {
    for (const _ of [1, 2, 3, 4]) {
      const run = await begin()
      await recover(run, 'success')
      // It met the failure itself.
      await succeed(run, 'npm run lint')
    }
    expect(await known()).toMatchObject([{ count: 4 }])
    const counts: number[] = []
    for (const _ of [1, 2, 3]) {
      await succeed(await begin(), 'npm run lint')
      counts.push((await known())[0]?.count ?? 0)
    }
    expect(counts).toEqual([2, 1, 0])
    expect(await delta()).toBeUndefined()
  })

  test('of other checks, or of a run that began before, says nothing', async () => {
    const early = await begin()
    await db.transaction((tx) => registerAgents(tx, ['a1', 'a2'], 'host'))
    await recover(await begin(undefined, 'a2'), 'success')
    await succeed(early, 'npm run lint')
    await succeed(await begin(), 'npm test')
    expect(await known()).toMatchObject([{ count: 1 }])
    await succeed(await begin(), 'npm test', 'npm run lint')
    expect(await known()).toEqual([])
  })
})

const at = (minutes: number): Date => new Date(Date.UTC(2026, 0, 1) + minutes * 60_000)
const failure = (n: number, more: Partial<MachineFailure> = {}): MachineFailure => ({
  ...{ runId: `r${n}`, signature: `environment_issue/disk_full: disk ${n}`, evidence: `disk ${n}`, command: null },
  ...{ at: at(-n), action: null, status: null, decidedAt: null, confirmed: true },
  ...more,
})

describe('the delta', () => {
  test('has at most 12 signatures, those that happened most often and last, and 12 keys', () => {
    const one = Array.from({ length: 20 }, (_, n) => failure(n))
    const often = [failure(90), { ...failure(90), runId: 'other', at: at(-91) }]
    const found = deltaOf([...one, ...often], [])
    expect(found?.reasonSignatures.map(({ lastMessage }) => lastMessage)).toEqual(
      [90, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => `disk ${n}`),
    )
    expect(found).toMatchObject({
      schemaVersion: 1,
      updatedAt: at(0).toISOString(),
      expireAt: at(24 * 60).toISOString(),
    })
    const lines = ['node x', 'docker x', 'go x', 'cargo x', 'java x', 'make x', 'python3 x', 'podman x']
    const many = deltaOf(
      lines.map((command, n) => failure(n, { command })),
      [],
    )
    expect(many?.promotedKeys).toHaveLength(12)
  })

  test('holds one line of each message, without paths and colours', () => {
    const evidence = `\u001B[31mno space\u001B[0m\nin /home/me/secret/runs/r-1/x at 12:00:01 ${'y'.repeat(300)}`
    const [entry] = deltaOf([failure(1, { evidence })], [])?.reasonSignatures ?? []
    expect(entry?.lastMessage).toMatch(/^no space in <path> at <time> y+…$/)
    expect(entry?.lastMessage).toHaveLength(180)
  })

  test('is told to the next agent in three lines, with the number and kind of the others', () => {
    const found = deltaOf(
      [0, 1, 2, 3].map((n) => failure(n)),
      [],
    )
    expect(failureLines(found)).toEqual([
      ...[0, 1, 2].map((n) => `disk_full, nothing has helped yet. It said: disk ${n}`),
      'and 1 more (disk_full)',
    ])
    expect(failureLines(undefined)).toEqual([])
  })
})
