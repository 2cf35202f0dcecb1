import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { allPlaybooks, demoReport, nothing, startDemo } from '../support/demo.ts'

describe('the demo without one of its playbooks', () => {
  it.each(allPlaybooks)('without %s it fails for that one', async (name) => {
    const { code, report, leftovers } = await demoReport(['--disable', name])
    expect(code).toBe(1)
    expect(
      report.missing.filter((entry) => entry.includes('not recovered by') && entry.includes('is disabled')),
    ).toEqual([expect.stringContaining(`not recovered by ${name}`)])
    expect(leftovers).toEqual(nothing)
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
