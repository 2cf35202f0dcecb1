import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { allPlaybooks, demoReport, nothing, startDemo } from '../support/demo.ts'
import { isLongForm } from '../support/form.ts'

const deadlineMs = 400_000

describe('unstuck demo', () => {
  // CI has it as a step of its own.
  it.runIf(isLongForm)(
    'six tasks recover, land on main and leave nothing behind',
    async () => {
      const { code, report, leftovers } = await demoReport([])
      expect(report.missing).toEqual([])
      expect(code).toBe(0)
      expect(report.tasks.map((task) => [task.done, task.recovered?.by])).toEqual([
        [true, 'missing-script-drop (DROP_COMMAND)'],
        [true, 'transient-backoff (WAIT_AND_REQUEUE)'],
        [true, 'directory-scope-relaunch (RELAUNCH_WITH_ADD_DIR)'],
        [true, 'the restarted engine, which re-attached to the running agent'],
        [true, 'the merge queue, which rebased the work and verified it again'],
        [true, 'git-trust-relaunch (RELAUNCH_WITH_SKIP_GIT_CHECK)'],
      ])
      expect(report.tasks.every((task) => Number(task.recovered?.ms) > 0)).toBe(true)
      expect(report).toMatchObject({ ok: true, landed: true, folder: null })
      expect(report.commits).toHaveLength(6)
      expect(leftovers).toEqual(nothing)
    },
    deadlineMs,
  )

  it.runIf(isLongForm)(
    'without its four playbooks it fails and names what was not recovered',
    async () => {
      const { code, report, leftovers } = await demoReport(allPlaybooks.flatMap((name) => ['--disable', name]))
      expect(code).toBe(1)
      expect(report).toMatchObject({ ok: false, landed: false })
      const said = report.missing.join('\n')
      for (const name of allPlaybooks) expect(said).toContain(`not recovered by ${name}`)
      expect(report.tasks.filter((task) => task.done).length).toBeLessThan(3)
      expect(leftovers).toEqual(nothing)
    },
    deadlineMs,
  )

  it('an unknown playbook is refused by name before anything is made', async () => {
    const run = startDemo(['--disable', 'magic'])
    const { code, stderr } = await run.ended
    expect(code).toBe(2)
    expect(stderr).toContain('--disable magic')
    expect(stderr).toContain('git-trust-relaunch')
    expect(run.leftovers()).toEqual(nothing)
    run.remove()
  })
})

describe('a demo that is interrupted', () => {
  it('ends its engine and agents and removes its folders', async () => {
    const run = startDemo([])
    const deadline = performance.now() + 300_000
    // Task 4's agent waits for the demo, so it is at work for certain.
    while (!run.output().includes('task 4: attempt 1') && performance.now() < deadline) await delay(50)
    expect(run.leftovers().processes.length).toBeGreaterThan(3)
    run.child.kill('SIGINT')
    const { code, stderr } = await run.ended
    expect(code).toBe(130)
    expect(stderr).toContain('stopped')
    expect(run.leftovers()).toEqual(nothing)
    run.remove()
  })
})
