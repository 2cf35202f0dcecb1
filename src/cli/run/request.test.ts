import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { goalCheckLines } from './request.ts'

const repository = { root: tmpdir(), commonDir: null, id: 'r', head: null, branch: null }
const goal: Parameters<typeof goalCheckLines>[1] = {
  ...{ id: 'g-1', branch: 'unstuck/goal/g-1', tasks: [], autoMerge: true, targetBranch: null, repoMode: 'local' },
}

test('a goal that should land and has no branch to land on says so before the first launch', async () => {
  const linesOf = (more: Partial<typeof goal>): Promise<string[]> =>
    goalCheckLines({ repository, stateDir: '/none' }, { ...goal, ...more }, undefined)
  expect(await linesOf({})).toEqual([expect.stringContaining('unstuck/goal/g-1')])
  const others = [{ targetBranch: 'main' }, { autoMerge: false }, { repoMode: 'direct' as const }]
  expect(await Promise.all(others.map(linesOf))).toEqual([[], [], []])
})

test('a check that the repository declares and that this machine cannot start is named', async () => {
  const root = mkdtempSync(join(tmpdir(), 'unstuck-request-'))
  try {
    writeFileSync(join(root, 'package.json'), '{"scripts":{"test":"node --test"}}')
    writeFileSync(join(root, 'go.mod'), 'module x')
    writeFileSync(join(root, 'npm'), '')
    chmodSync(join(root, 'npm'), 0o755)
    const task = {
      commands: ['npm test'],
      allowedPaths: ['**'],
      commandSource: 'inferred',
      role: 'worker',
    } as (typeof goal)['tasks'][number]
    const home = { repository: { ...repository, root }, stateDir: '/none' }
    const linesOf = (source: 'task' | 'inferred'): Promise<string[]> =>
      goalCheckLines(home, { ...goal, autoMerge: false, tasks: [{ ...task, commandSource: source }] }, root)
    expect((await linesOf('inferred')).at(-1)).toContain('go test ./...')
    expect((await linesOf('task')).join()).not.toContain('go test ./...')
  } finally {
    rmSync(root, { recursive: true })
  }
})
