/** What a review task meets: no such branch, and work that is contained already. */
import { execFileSync } from 'node:child_process'
import { afterEach, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const agent: FaultAgent = { driver: 'command', program: `put('made.txt', 'made')` }
const review = (branch: string) => ({
  ...{ title: `Review ${branch}`, instructions: 'Review it.', role: 'judge' as const, review: { branch } },
  commands: ['node always.js'],
})

let scene: Scene
afterEach(() => scene.clear())

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd: scene.root,
    encoding: 'utf8',
  }).trim()

/** Makes or moves a branch by objects alone, so that no checkout changes. */
const commit = (branch: string, contents: Record<string, string>, parent = 'main'): string => {
  const base = git('rev-parse', parent)
  const index = { GIT_INDEX_FILE: `${scene.top}/index-${branch}` }
  const run = (args: string[], input?: string): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
      ...{ cwd: scene.root, encoding: 'utf8', env: { ...process.env, ...index } },
      ...(input === undefined ? {} : { input }),
    }).trim()
  run(['read-tree', base])
  for (const [path, text] of Object.entries(contents)) {
    const blob = run(['hash-object', '-w', '--stdin'], text)
    run(['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`])
  }
  const made = run(['commit-tree', run(['write-tree']), '-p', base, '-m', branch])
  git('update-ref', `refs/heads/${branch}`, made)
  return made
}

const questionAbout = (goal: string) =>
  scene.waitFor('a question', async () => (await scene.questions()).find(({ goalId }) => goalId === goal))

test('a missing branch is named and reviewed once it is there, and contained work is done', async () => {
  scene = await openScene(
    { agent },
    { change: { maxFiles: 1 }, requeue: { failedSeconds: 0.2, blockedSeconds: 0.2 } },
    { files: { 'always.js': '', 'shared.txt': 'start\n' } },
  )
  // No such branch: a question names it, and the branch is reviewed as soon as it is there.
  const missing = await scene.goal([review('late')])
  expect((await questionAbout(missing)).happened).toContain('there is no branch late in')
  commit('late', { 'late.txt': 'late' })
  await scene.until(missing, 'ready')
  expect(scene.show('late.txt', missing)).toBe('late')

  // Contained already: done, and nothing is merged.
  git('branch', 'old', 'main')
  const contained = await scene.goal([review('old')])
  await scene.until(contained, 'done')
  const [nothing] = await scene.runs(contained)
  expect(nothing?.verdict).toMatchObject({ noChange: true, outcome: 'nothing to verify' })
  expect(nothing?.verdict?.notes[0]).toMatch(/^branch old \([0-9a-f]{12}\) is contained in the goal branch already$/)
  expect(await scene.events(contained, 'merge.enqueued')).toEqual([])
})
