/** Reviews where the repository is a git remote: the branch that others push is fetched, and what passes is pushed to the goal branch. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene?.clear())

const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

const agents = { maker: { driver: 'command' as const, program: `put('made.txt', 'made')` } }
const requeue = { failedSeconds: 0.2, blockedSeconds: 0.2 }

/** Somebody pushes a commit with this file to the branch; gives the commit. */
const pushTo = (branch: string, path: string, text: string, from = 'main'): string => {
  const blob = execFileSync('git', ['hash-object', '-w', '--stdin'], { cwd: scene.root, input: text, encoding: 'utf8' })
  const index = { ...process.env, GIT_INDEX_FILE: join(scene.top, 'index') }
  const run = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
      ...{ cwd: scene.root, encoding: 'utf8', env: index },
    }).trim()
  run('read-tree', from)
  run('update-index', '--add', '--cacheinfo', `100644,${blob.trim()},${path}`)
  const made = run('commit-tree', run('write-tree'), '-p', git(scene.root, 'rev-parse', from), '-m', branch)
  git(scene.root, 'update-ref', `refs/heads/${branch}`, made)
  return made
}

const check = {
  'feature.js': `process.exit(require('node:fs').readFileSync('feature.txt', 'utf8') === 'good' ? 0 : 1)`,
}
const reviewOf = (review: { branch: string } | { mergeEntry: number }, command: string) => ({
  ...{ title: 'Review it', instructions: 'Review it.', role: 'judge' as const, review, commands: [command] },
})

it('a branch is fetched, and again when others push a correction to it', async () => {
  scene = await openScene(agents, { requeue }, { remote: true, files: check })
  const goal = await scene.goal([reviewOf({ branch: 'feature' }, 'node feature.js')])
  const missing = await scene.waitFor('a question', async () => (await scene.questions())[0])
  expect(missing.happened).toContain(`there is no branch feature in ${scene.root} to review`)

  pushTo('feature', 'feature.txt', 'bad')
  await scene.post(`/tasks/${missing.taskId}/retry`)
  const failed = await scene.waitFor('the question about its checks', async () =>
    (await scene.questions()).find(({ id }) => id !== missing.id),
  )
  expect(failed.happened).toContain('could not review branch feature')
  const head = pushTo('feature', 'feature.txt', 'good')
  await scene.until(goal, 'ready')
  expect(await scene.questions()).toEqual([])
  expect(git(scene.root, 'show', `unstuck/goal/${goal}:feature.txt`)).toBe('good')
  const runs = await scene.runs(goal)
  expect(runs.find(({ state }) => state === 'success')?.reviewed).toBe(head)
  expect(runs.every(({ launches }) => launches.length === 0)).toBe(true)
  expect(git(scene.root, 'for-each-ref', 'refs/unstuck')).toBe('')
})

it('a merge entry is reviewed for another goal', async () => {
  scene = await openScene(agents, { requeue }, { remote: true })
  const made = await scene.goal([{}])
  await scene.until(made, 'ready')
  const [queued] = await scene.events(made, 'merge.enqueued')
  const taken = await scene.goal([reviewOf({ mergeEntry: Number(queued?.payload['number']) }, 'node check.js')])
  await scene.until(taken, 'ready')
  expect(git(scene.root, 'show', `unstuck/goal/${taken}:made.txt`)).toBe('made')
})
