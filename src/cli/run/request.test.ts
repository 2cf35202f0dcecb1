import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { goalCheckLines } from './request.ts'

const repository = { root: tmpdir(), commonDir: null, id: 'r', head: null, branch: null }
const goal: Parameters<typeof goalCheckLines>[1] = {
  ...{ id: 'g-1', tasks: [], autoMerge: true, targetBranch: null, repoMode: 'local' },
}

test('a goal that should land and has no branch to land on says so before the first launch', () => {
  const linesOf = (more: Partial<typeof goal>): string[] =>
    goalCheckLines({ repository, stateDir: '/none' }, { ...goal, ...more })
  expect(linesOf({})).toEqual([expect.stringContaining('unstuck/goal/g-1')])
  expect([linesOf({ targetBranch: 'main' }), linesOf({ autoMerge: false }), linesOf({ repoMode: 'direct' })]).toEqual([
    [],
    [],
    [],
  ])
})
