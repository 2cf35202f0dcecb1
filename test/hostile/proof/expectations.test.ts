/** Work that changed what a test expects is on the goal branch, and lands on the user's branch only when a person lands it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GoalView } from '../../../src/api/contract.ts'
import { user } from '../../workspace/scene.ts'
import { until } from '../scene.ts'
import { javascript } from './javascript.ts'
import { openProofScene, type ProofScene } from './play.ts'

let proofs: ProofScene
beforeAll(async () => {
  proofs = await openProofScene(
    javascript.base,
    javascript.honest.filter(({ name }) => name === 'changes-what-is-expected'),
  )
})
afterAll(async () => proofs.clear())

test('changed expectations wait for `land`, which shows the tests and their changes', async () => {
  const { scene } = proofs
  const { place, proof, goal } = await proofs.play('changes-what-is-expected', { autoMerge: true })
  expect([place, proof?.kind, proof?.tests]).toEqual(['done', 'expectations changed', ['greets']])
  const held = await until(async () => {
    const found = await scene.api<GoalView>(`/goals/${goal}`)
    return found.landing.refused === null ? undefined : found
  }, 'the refused landing')
  expect(held.state).toBe('ready')
  expect(held.landing.refused?.detail).toContain('greets')
  expect(user(scene.root, 'show', 'main:src/index.js')).not.toContain('hello')
  // What the user of the scene left uncommitted is not the subject here.
  user(scene.root, 'reset', '--hard', '--quiet')
  const landed = await scene.here('land', goal)
  expect([landed.exitCode, landed.stdout.includes('greets'), landed.stdout.includes('hello you')]).toEqual([
    0,
    true,
    true,
  ])
  expect(user(scene.root, 'show', 'main:src/index.js')).toContain('hello')
})
