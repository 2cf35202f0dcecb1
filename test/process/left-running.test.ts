/** What cannot be ended: it is told with its pid and name, and no check of the run begins. */
import { afterAll, expect, test } from 'vitest'
import type { ExecEvent, ExecParts } from '../../src/exec/exec-events.ts'
import { leftRunningEnding as endOfExec } from '../../src/exec/ending.ts'
import type { RunSigns } from '../../src/process/sweep.ts'
import { diagnose } from '../../src/recovery/diagnosis.ts'
import { questionOf } from '../../src/runtime/core/question.ts'
import type { RunContext } from '../../src/runtime/core/run-context.ts'
import { endLeftRunning } from '../../src/runtime/run/end-left-running.ts'
import { openPlainUser } from '../support/plain-user.ts'
import { openGate, requestStop } from '../../src/process/shim-client.ts'
import { allLines, createBench, exitOf, isGone, shell, until } from './bench.ts'

const bench = createBench()
afterAll(() => bench.clear())

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'a process of another user is found by its limit, left alone and told of',
  async () => {
    const program = 'test/fixture/process/end-left.ts'
    const plain = openPlainUser({ parts: ['src', program], packages: false })
    const shim = await bench.start(shell('echo $$; exec sleep 300'))
    openGate(shim.dir)
    const pid = Number(await until('its pid', () => allLines(shim.dir).lines[0]))
    const { stdout } = plain.run(program, [JSON.stringify(shim.identity)], { cwd: '/' })
    plain.close()
    expect(JSON.parse(stdout)).toEqual([{ pid, name: 'sleep' }])
    expect(isGone(pid)).toBe(false)
    requestStop(shim, 'shutdown')
    await exitOf(shim.dir)
  },
)

const shim = { host: 'h', bootId: 'b', pid: 5, startTime: '9' }

const sessionWith = (repoMode: 'local' | 'direct', left: { pid: number; name: string }[]) => {
  const asked: [string, RunSigns][] = []
  const endLeft = async (marker: string, signs: RunSigns) => {
    asked.push([marker, signs])
    return left
  }
  const session = {
    context: { ports: { processes: { endLeft } }, repository: { root: '/user' } },
    ...{ goal: { repoMode }, paths: { root: '/run', workspace: '/run/workspace' }, driver: { name: 'command' } },
    task: { id: 'tsk_1', number: 1, title: 'Work', review: null },
    run: { id: 'run_1', launches: [{ shim: null }, { shim }] },
  }
  return { session: session as unknown as RunContext, asked }
}

test('a run is looked at by its id, the shims of its launches and its own clone', async () => {
  const { session, asked } = sessionWith('local', [])
  expect(await endLeftRunning(session)).toBeUndefined()
  expect(asked).toEqual([['run_1', { shims: [shim], folder: '/run/workspace' }]])
})

test('exec ends with 3 and says which they are', () => {
  const told: ExecEvent[] = []
  const parts = { emit: (event: ExecEvent) => told.push(event) } as unknown as ExecParts
  expect(endOfExec(parts, [{ pid: 7, name: 'sleep' }])).toEqual({
    ...{ outcome: 'failed', exitCode: 3, label: 'processes_left' },
  })
  expect(told).toMatchObject([
    { type: 'blocker', payload: { text: expect.stringContaining('ended: 7 (sleep). Manual') } },
  ])
})

test("in place the user's own folder says nothing", async () => {
  const { session, asked } = sessionWith('direct', [])
  await endLeftRunning(session)
  expect(asked).toEqual([['run_1', { shims: [shim] }]])
})

test('what stays alive is a diagnosis that names it and what can be done', async () => {
  const left = [1, 2, 3, 4, 5, 6].map((pid) => ({ pid, name: pid === 2 ? 'e\u001b[2Jvil' : 'sleep' }))
  const { session } = sessionWith('local', left)
  const evidence = await endLeftRunning(session)
  const diagnosis = diagnose(evidence!)
  expect(diagnosis).toMatchObject({ label: 'processes_left', failureCode: 'environment_issue', retryable: false })
  const { question, details } = questionOf(session, diagnosis, {
    reason: 'no playbook answers it',
    recoveries: [],
    then: 'escalate',
  })
  expect(question).toBe(
    'Task 1 "Work" cannot be checked: the agent left processes that cannot be ended: 1 (sleep), 2 (e?[2Jvil), 3 (sleep), 4 (sleep), 5 (sleep), and 1 more.',
  )
  expect(details).toContain('end them as their user or as root, then unstuck retry tsk_1.')
})
