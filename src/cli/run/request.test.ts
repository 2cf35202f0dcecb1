import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

test('a folder that no check runs in is named, with the setting that adds its check', async () => {
  const root = mkdtempSync(join(tmpdir(), 'unstuck-request-'))
  try {
    const git = (...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' })
    mkdirSync(join(root, 'api'))
    writeFileSync(join(root, 'package.json'), '{"scripts":{"test":"node --test"}}')
    writeFileSync(join(root, 'api/Makefile'), 'test:\n\t./run\n')
    git('init', '-q')
    git('add', '-A')
    git('commit', '-qm', 'x')
    mkdirSync(join(root, 'untracked'))
    writeFileSync(join(root, 'untracked/Makefile'), 'test:\n\t./run\n')
    const head = git('rev-parse', 'HEAD').trim()
    const home = { repository: { ...repository, root, head, commonDir: join(root, '.git') }, stateDir: '/none' }
    const task = { commands: ['npm test'], allowedPaths: ['**'], commandSource: 'inferred', role: 'worker' }
    const tasks = [task as (typeof goal)['tasks'][number]]
    const lines = await goalCheckLines(home, { ...goal, autoMerge: false, tasks }, undefined)
    expect(lines).toHaveLength(2)
    expect(lines[1]).toContain(JSON.stringify(['npm test', 'cd api && make test']))
    expect(lines[1]).not.toContain('untracked')
  } finally {
    rmSync(root, { recursive: true })
  }
})
