/** Recovery proposals between their decision and their outcome, on a real store: parallel tasks, narrowed lists, lost runs, killed engines. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { RecoveryProposal } from '../../src/domain/recovery-proposal.ts'
import type { RunContext } from '../../src/runtime/core/run-context.ts'
import { proposedCommandOf } from '../../src/recovery/proposal/proposal.ts'
import { proposalFile } from '../../src/runtime/agent/start-launch.ts'
import { proposalQuestion } from '../../src/runtime/core/proposal-question.ts'
import { verifyUnchanged } from '../../src/runtime/run/no-change.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { repeatForTasks } from '../../src/runtime/checks/repeated-proposals.ts'
import { commandContext } from '../../src/runtime/run/repair.ts'
import { makeCheckWorkspace } from '../../src/runtime/run/check-workspace.ts'
import { considerProposal } from '../../src/runtime/run/decide-proposal.ts'
import { diagnose } from '../../src/recovery/diagnosis.ts'
import { continueProposal } from '../../src/runtime/run/continue-proposal.ts'
import { intendProposed, runProposed } from '../../src/runtime/run/run-proposal.ts'
import { automaticLimits } from '../../src/runtime/run/automatic-proposals.ts'
import { dropNeedless, resolveProposed } from '../../src/runtime/run/settle-proposals.ts'
import { commandRecords } from '../../src/store/command-record.ts'
import { sql } from '../../src/store/db.ts'
import { listRecoveries } from '../../src/store/recovery.ts'
import { adoptProposal, closeProposals, executionsOf, getProposal } from '../../src/store/recovery-proposal.ts'
import { proposalNumbers } from '../../src/store/metrics.ts'
import {
  check,
  command,
  failedCheck,
  Killed,
  openProposalRuns,
  proposalOf,
  type ProposalRuns,
} from './proposal-runs.ts'

let place: ProposalRuns
beforeAll(async () => {
  place = await openProposalRuns()
})
afterAll(async () => place.close())
beforeEach(() => {
  place.settings.recovery = { auto_approve: [command], cooldown_seconds: 0 }
  delete place.settings.workspace
  delete place.settings.exitOf
})

const passed = { results: [{ command: check, exitCode: 0, source: 'task', durationMs: 1 }] } as never
const settled = (run: RunContext, seen: Parameters<typeof resolveProposed>[2]): Promise<void> =>
  run.context.db.transaction((tx) => resolveProposed(tx, run, seen))
const stateOf = async (id: string) => (await getProposal(place.store.db, id))?.state
const ran = (run: RunContext): number => place.started.get(run.run.id) ?? 0
const intend = async (run: RunContext, id: string, by = 'auto'): Promise<void> => {
  const proposal = await getProposal(run.context.db, id)
  if (proposal !== undefined) await intendProposed(run, await place.chosen(run, proposal, by))
}
const recoveries = async ({ goal }: RunContext) =>
  (await listRecoveries(place.store.db, goal.id)).map(({ status, detail }) => [status, detail])

/** As if the engine had ended while the last command ran. */
const interruptLast = async (run: RunContext): Promise<void> => {
  const last = (await executionsOf(place.store.db, { taskId: run.task.id })).at(-1)
  await place.store.db.query(
    sql`update recovery_execution set state = 'started', ended_at = null where id = ${last?.id}`,
  )
}

const four = async () => {
  const runs = await place.runs(4)
  const all: { run: RunContext; proposal: RecoveryProposal }[] = []
  for (const run of runs) all.push({ run, proposal: await place.propose(run) })
  return all
}

test.each([
  ['the last command of the limit', { max_auto_recoveries_per_run: 1, cooldown_seconds: 0 }],
  ['the cooldown', { max_auto_recoveries_per_run: 9, cooldown_seconds: 600 }],
])('of tasks that decide at the same time one takes %s', async (_, limits) => {
  place.settings.recovery = { auto_approve: [command], ...limits }
  const all = await four()
  await Promise.all(all.map(({ run, proposal }) => intend(run, proposal.id)))
  await Promise.all(all.map(({ run }) => runProposed(run, place.found)))
  expect(all.reduce((sum, { run }) => sum + ran(run), 0)).toBe(1)
  expect(await executionsOf(place.store.db, { goalId: all[0]?.run.goal.id ?? '' })).toHaveLength(1)
})

test.each([
  ['switched off', { enabled: false, auto_approve: [command] }, 'auto'],
  ['switched off, though a person approved it,', { enabled: false }, 'ada'],
  ['narrowed', { auto_approve: [] }, 'auto'],
])('a command whose lists were %s after the decision does not run, and is decided again', async (_, recovery, by) => {
  const [run] = (await place.runs()) as [RunContext]
  const proposal = await place.propose(run)
  await intend(run, proposal.id, by)
  place.settings.recovery = recovery
  expect(await runProposed(run, place.found)).toBe(false)
  await settled(run, { results: [], failed: failedCheck() })
  expect([ran(run), await stateOf(proposal.id)]).toEqual([0, 'open'])
  expect(await recoveries(run)).toEqual([['failed', 'the command did not run']])
})

test('a command that did not run gets no credit when the checks pass', async () => {
  const [run] = (await place.runs()) as [RunContext]
  const proposal = await place.propose(run)
  await intend(run, proposal.id)
  place.settings.recovery = { enabled: false }
  await runProposed(run, place.found)
  await settled(run, passed)
  expect(await recoveries(run)).toEqual([['failed', 'the command did not run']])
  expect(await stateOf(proposal.id)).toBe('resolved')
})

test('a repetition in a later clone counts for no number, also when it is interrupted, and bars nothing', async () => {
  const [run] = (await place.runs()) as [RunContext]
  const own = 'npm rebuild'
  place.settings.recovery = { auto_approve: [own], cooldown_seconds: 0 }
  const proposal = await place.propose(run, proposalOf({ recovery: { ...proposalOf().recovery, command: own } }))
  await intend(run, proposal.id)
  expect(await runProposed(run, place.found)).toBe(true)
  await settled(run, passed)
  expect(await stateOf(proposal.id)).toBe('succeeded')
  for (let clone = 0; clone < 4; clone += 1) {
    expect(await runProposed(run, place.found)).toBe(true)
    await settled(run, passed)
  }
  expect(ran(run)).toBe(5)
  const events = await place.store.db.query<{ repetition: boolean | null }>(
    sql`select (payload -> 'repetition')::boolean as repetition from event where type = 'recovery_executed'
      and task_id = ${run.task.id} order by id`,
  )
  expect(events.map(({ repetition }) => repetition)).toEqual([null, true, true, true, true])
  const record = async () => (await commandRecords(place.store.db)).filter((each) => each.command === own)
  expect(await record()).toMatchObject([{ worked: 1, failed: 0 }])
  const before = await proposalNumbers(place.store.db)
  // The engine ends while it runs once more.
  const last = (await executionsOf(place.store.db, { taskId: run.task.id })).at(-1)
  await place.store.db.query(
    sql`update recovery_execution set state = 'started', ended_at = null where id = ${last?.id}`,
  )
  expect(await runProposed(run, place.found)).toBe(true)
  expect(ran(run)).toBe(6)
  expect(await record()).toMatchObject([{ worked: 1, failed: 0 }])
  expect(await proposalNumbers(place.store.db)).toEqual(before)
})

test.each([
  ['sudo apt-get install -y libssl-dev', false],
  ['sudo npm ci', true],
  ['npm cache clean --force && npm ci', true],
])('%s is repeated in a later clone: %s', async (own, isRepeated) => {
  const [run] = (await place.runs()) as [RunContext]
  place.settings.recovery = { auto_approve: [own], cooldown_seconds: 0 }
  const proposal = await place.propose(run, proposalOf({ recovery: { ...proposalOf().recovery, command: own } }))
  await intend(run, proposal.id)
  expect(await runProposed(run, place.found)).toBe(true)
  await settled(run, passed)
  expect([await runProposed(run, place.found), ran(run)]).toEqual([isRepeated, isRepeated ? 2 : 1])
})

test('a command that runs again after a restart, and is interrupted then, is not asked about: its first outcome is known', async () => {
  const [run] = (await place.runs()) as [RunContext]
  const proposal = await place.propose(run)
  await intend(run, proposal.id)
  for (let clone = 0; clone < 2; clone += 1) expect(await runProposed(run, place.found)).toBe(true)
  await interruptLast(run)
  expect(await runProposed(run, place.found)).toBe(true)
  await settled(run, passed)
  expect([ran(run), await stateOf(proposal.id)]).toEqual([3, 'succeeded'])
})

test('a command whose run was lost does not run again after a person retried the task without it', async () => {
  const [run] = (await place.runs()) as [RunContext]
  const proposal = await place.propose(run)
  await intend(run, proposal.id)
  expect(await runProposed(run, place.found)).toBe(true)
  await interruptLast(run)
  await place.store.db.transaction((tx) => closeProposals(tx, run.task.id, 'retry', ['asked', 'open']))
  for (let clone = 0; clone < 2; clone += 1) expect(await runProposed(run, place.found)).toBe(false)
  await settled(run, passed)
  expect([ran(run), await stateOf(proposal.id)]).toEqual([1, 'rejected'])
  expect(await recoveries(run)).toEqual([['failed', 'the command did not run']])
})

test('where a goal lands, what helped several of its tasks runs once, and an interruption or a doubt of one task bars nothing', async () => {
  const [one, two] = (await place.runs(2)) as [RunContext, RunContext]
  for (const run of [one, two]) {
    const proposal = await place.propose(run)
    await intend(run, proposal.id)
    await runProposed(run, place.found)
    await settled(run, passed)
  }
  const taskIds = [one.task.id, two.task.id]
  const repeat = () =>
    repeatForTasks(one.context, { request: commandContext(one), commit: 'c', root: one.paths.root, taskIds })
  expect([await repeat(), ran(one)]).toEqual([true, 2])
  const repeated = (await executionsOf(place.store.db, { goalId: one.goal.id })).filter(({ repetition }) => repetition)
  expect(repeated).toMatchObject([{ state: 'succeeded', counted: false, effect: null }])
  await interruptLast({ ...one, task: { ...one.task, id: repeated[0]?.taskId ?? '' } })
  expect([await repeat(), ran(one)]).toEqual([true, 3])
  // The command of the second task ran again for another failure, and was killed there.
  await place.store.db
    .query(sql`update recovery_execution set state = 'unknown', effect = null where task_id = ${two.task.id}
    and not repetition`)
  expect([await repeat(), ran(one)]).toEqual([true, 4])
  place.settings.recovery = { auto_approve: [] }
  expect([await repeat(), ran(one)]).toEqual([false, 4])
})

test('two proposals of the same command run it once in a clone', async () => {
  const [run] = (await place.runs()) as [RunContext]
  const first = await place.propose(run)
  await intend(run, first.id)
  await runProposed(run, place.found)
  await settled(run, passed)
  const second = await place.propose(run, proposalOf(), 'another')
  await intend(run, second.id)
  await runProposed(run, place.found)
  expect(ran(run)).toBe(2)
})

test('a set-up that fails is repaired like a check: the command runs before it is tried again, in each clone once', async () => {
  const [run] = (await place.runs()) as [RunContext]
  const setup = 'make env'
  place.settings.workspace = { setup }
  const tried: string[] = []
  place.settings.exitOf = (text) => (tried.push(text), text === setup && tried.at(-2) !== command ? 1 : 0)
  const proposal = await place.propose(run, proposalOf(), setup, setup)
  // Without an approved command nothing has changed, so the set-up is not tried again.
  expect(await makeCheckWorkspace(run, place.found, 1)).toMatchObject({ kind: 'check', check: { command: setup } })
  expect(tried).toEqual([setup])
  await intend(run, proposal.id)
  for (let clone = 0; clone < 2; clone += 1) {
    tried.length = 0
    expect(await makeCheckWorkspace(run, place.found, 1)).toBeUndefined()
    expect(tried).toEqual([setup, command, setup])
    // A set-up that passes is in no result; another check fails after it.
    await settled(run, { results: [], failed: failedCheck('npm run lint') })
    expect(await stateOf(proposal.id)).toBe('succeeded')
  }
})

test('an open proposal of a lost run is taken over with what that run had decided, and not counted twice', async () => {
  const [run, later] = (await place.runs(2)) as [RunContext, RunContext]
  const proposal = await place.propose(run)
  await intend(run, proposal.id)
  // As if the later run were the next one of the same task.
  await adoptProposal(place.store.db, proposal.id, later.run.id)
  expect(await continueProposal(run)).toBe(true)
  expect((await getProposal(place.store.db, proposal.id))?.runId).toBe(run.run.id)
  await runProposed(run, place.found)
  await settled(run, passed)
  expect([ran(run), await stateOf(proposal.id)]).toEqual([1, 'succeeded'])
})

test('free texts of a proposal are stored without secrets', async () => {
  const [run] = (await place.runs()) as [RunContext]
  const token = ['ghp', 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6'].join('_')
  const { diagnosis, recovery } = proposalOf()
  const { body } = await place.propose(
    run,
    proposalOf({
      diagnosis: { ...diagnosis, root_cause: `the token ${token} is refused`, evidence: [`out.txt:1: ${token}`] },
      recovery: { ...recovery, expected_outcome: `${token} works` },
    }),
  )
  expect(JSON.stringify(body)).not.toContain(token)
  expect(body).toMatchObject({ diagnosis: { root_cause: 'the token [redacted] is refused' }, recovery: { command } })
})

test('an agent that changed nothing because its environment is broken is heard as well', async () => {
  const [run] = (await place.runs()) as [RunContext]
  mkdirSync(run.paths.agentDir, { recursive: true })
  writeFileSync(proposalFile(run), JSON.stringify(proposalOf()))
  const report = { results: [], findings: [], failed: failedCheck() }
  const planned = { commands: [check], fromContract: new Set<string>() }
  const unchanged = { planned, dropped: [], check: async () => report }
  expect(await verifyUnchanged(run, unchanged)).toBe('on')
  expect(await recoveries(run)).toEqual([['acting', '']])
  await runProposed(run, place.found)
  expect(ran(run)).toBe(1)
  // Without effect the same checks lead on to a person, as for any other work.
  expect(await verifyUnchanged(await place.again(run), unchanged)).toBe('ended')
  const [question] = await listEscalations(place.store.db, { goalId: run.goal.id, pendingOnly: true })
  expect(question?.kind).toBe('recovery_failed')
})

test('a cooldown is never longer than itself, also after the clock was set back by a day', async () => {
  const [run] = (await place.runs()) as [RunContext]
  const proposal = await place.propose(run)
  await intend(run, proposal.id)
  await runProposed(run, place.found)
  place.settings.recovery = { auto_approve: [command], cooldown_seconds: 600 }
  await place.store.db.query(
    sql`update recovery_execution set started_at = started_at + interval '1 day', ended_at = ended_at + interval '1 day' where task_id = ${run.task.id}`,
  )
  expect((await automaticLimits(place.store.db, run)).delayMs).toBe(600_000)
})

test('a proposal that nobody reads is resolved by an event: the checks pass without it, or recovery is off', async () => {
  const [needless, off] = (await place.runs(2)) as [RunContext, RunContext]
  const leave = (run: RunContext): void => {
    mkdirSync(run.paths.agentDir, { recursive: true })
    writeFileSync(proposalFile(run), JSON.stringify(proposalOf()))
  }
  const resolvedBy = async ({ run }: RunContext) =>
    (await place.store.db.query(
      sql`select payload->>'by' as by, payload->>'method' as method from event where run_id = ${run.id} and type = 'recovery_resolved'`,
    )) as object[]
  leave(needless)
  await dropNeedless(needless)
  await dropNeedless(needless)
  expect(await resolvedBy(needless)).toEqual([{ by: 'unstuck', method: 'not_needed' }])
  leave(off)
  place.settings.recovery = { enabled: false }
  const failed = failedCheck()
  const diagnosis = diagnose({ kind: 'check', check: failed })
  expect(await considerProposal(off, { failed, diagnosis }, { kind: 'exhausted' } as never)).toBeUndefined()
  expect(await resolvedBy(off)).toEqual([{ by: 'config', method: 'not_run' }])
})

test('in direct mode nothing is repeated, and the question says where the command would run', async () => {
  const [run] = (await place.runs()) as [RunContext]
  const direct: RunContext = { ...run, goal: { ...run.goal, repoMode: 'direct' } }
  const proposal = await place.propose(run)
  await intend(direct, proposal.id)
  expect(await runProposed(direct, place.found)).toBe(true)
  await settled(direct, passed)
  expect(await runProposed(direct, place.found)).toBe(false)
  expect(ran(run)).toBe(1)
  const proposed = proposedCommandOf(proposalOf(), 'primary')
  const asked = { kind: 'recovery_approval_required', reason: 'r', evidence: 'e', proposed } as const
  const textIn = (where: 'clone' | 'folder'): string =>
    JSON.stringify(proposalQuestion(proposal, run.task, { ...asked, place: where }))
  expect(textIn('folder')).not.toContain('clone')
  expect(textIn('clone')).not.toContain('your folder')
})

/** Everything from the decision to the judged effect, as far as the engine lives. */
const wholeWay = async (run: RunContext, id: string): Promise<'asked' | 'judged'> => {
  const acting = (await listRecoveries(run.context.db, run.goal.id)).some(({ status }) => status === 'acting')
  if (!acting && (await getProposal(run.context.db, id))?.state === 'open') await intend(run, id)
  if (typeof (await runProposed(run, place.found)) !== 'boolean') return 'asked'
  await settled(run, passed)
  return 'judged'
}

test('an engine that is killed before any statement, commit or command: the command runs again only where its outcome is known', async () => {
  const seen = { asked: 0, repeated: 0, once: 0 }
  for (let at = 1, isOver = false; !isOver; at += 1) {
    const [run] = (await place.runs()) as [RunContext]
    const { id } = await place.propose(run)
    const mortal = await place.mortal(run, at)
    const first = await wholeWay(mortal.run, id).catch((error: unknown) => {
      if (error instanceof Killed) return 'killed'
      throw error
    })
    isOver = first !== 'killed'
    const before = ran(run)
    const stored = await executionsOf(place.store.db, { taskId: run.task.id })
    const end = isOver ? first : await wholeWay(await place.again(run), id)
    const executions = await executionsOf(place.store.db, { taskId: run.task.id })
    expect(executions.filter(({ repetition }) => !repetition).length, `killed before step ${at}`).toBe(1)
    expect(executions.filter(({ repetition, effect }) => repetition && effect !== null)).toEqual([])
    if (stored.some(({ state }) => state === 'started')) {
      expect([end, ran(run), executions[0]?.state], `killed before step ${at}`).toEqual(['asked', before, 'unknown'])
      seen.asked += 1
    } else {
      expect([end, await stateOf(id)], `killed before step ${at}`).toEqual(['judged', 'succeeded'])
      expect(ran(run), `killed before step ${at}`).toBe(executions.length)
      expect(ran(run) - before, `killed before step ${at}`).toBeLessThanOrEqual(1)
      seen[executions.length > 1 ? 'repeated' : 'once'] += 1
    }
  }
  // Before its start, while it runs, and after its outcome.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(2)
})
