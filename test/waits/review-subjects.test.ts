/** What a review task meets: no such branch, work that is contained already, a commit that was judged before, and a conflict. */
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

const nextQuestion = (goal: string, before: { id: string }) =>
  scene.waitFor('the next question', async () =>
    (await scene.questions()).find(({ goalId, id }) => goalId === goal && id !== before.id),
  )

test('a retry does not have the same commit judged again, and a conflict names what to rebase onto', async () => {
  scene = await openScene(
    { agent },
    { change: { maxFiles: 1 }, requeue: { failedSeconds: 0.2, blockedSeconds: 0.2, reworkDepth: 0 } },
    { files: { 'always.js': '', 'shared.txt': 'start\n' } },
  )
  // Nobody decided about it: the retry asks about the same work, which may still be approved.
  commit('large', { 'a.txt': 'a', 'b.txt': 'b' })
  const large = await scene.goal([review('large')])
  const asked = await questionAbout(large)
  await scene.post(`/tasks/${asked.taskId}/retry`)
  const again = await nextQuestion(large, asked)
  expect(again.happened).toContain('its commit was judged before')
  expect(await scene.events(large, 'judge.review')).toHaveLength(1)
  await scene.post(`/tasks/${again.taskId}/approve`)
  await scene.until(large, 'ready')

  // It was decided: the retry is refused before any check runs.
  commit('wrong', { 'c.txt': 'c' })
  const wrong = await scene.goal([{ ...review('wrong'), judge: 'human' }])
  const first = await questionAbout(wrong)
  await scene.post(`/tasks/${first.taskId}/reject`, { note: 'Not like this.' })
  const both = await nextQuestion(wrong, first)
  expect(both.choices.map(({ id }) => id)).toEqual(['approve', 'cancel'])
  await scene.post(`/tasks/${both.taskId}/retry`)
  const refused = await nextQuestion(wrong, both)
  expect(refused.happened).toMatch(/of branch wrong was reviewed and not approved: .* rejected it/)
  expect(refused.choices.map(({ id }) => id)).toEqual(['cancel'])
  expect(refused.details).toContain('A new commit on wrong is reviewed by itself.')
  expect(await scene.events(wrong, 'judge.review')).toHaveLength(2)

  // What landed on the goal branch is one commit of Unstuck, so the branch has to be rebased onto that.
  commit('first', { 'shared.txt': 'first\n' })
  commit('second', { 'shared.txt': 'second\n' })
  const conflicting = await scene.goal([review('first'), { ...review('second'), after: ['1'] }])
  const conflict = await questionAbout(conflicting)
  expect(conflict.happened).toContain('conflicts with the goal branch in shared.txt')
  expect(conflict.happened).toContain(`rebase second onto unstuck/goal/${conflicting}`)
  commit('second', { 'shared.txt': 'first\nsecond\n' }, `unstuck/goal/${conflicting}`)
  await scene.until(conflicting, 'ready')
  expect(scene.show('shared.txt', conflicting)).toBe('first\nsecond')
})

test('a merge entry is reviewed for another goal, and one that does not exist is named', async () => {
  scene = await openScene(
    { agent },
    { requeue: { failedSeconds: 0.2, blockedSeconds: 0.2 } },
    { files: { 'always.js': '' } },
  )
  const entry = (mergeEntry: number) => ({
    ...{ title: `Review entry ${mergeEntry}`, instructions: 'Review it.', role: 'judge' as const },
    ...{ review: { mergeEntry }, commands: ['node always.js'] },
  })
  const made = await scene.goal([{}])
  await scene.until(made, 'ready')
  const [queued] = await scene.events(made, 'merge.enqueued')
  const number = Number(queued?.payload['number'])

  // Its goal did not land: another one takes the work over.
  const taken = await scene.goal([entry(number)])
  await scene.until(taken, 'ready')
  expect(scene.show('made.txt', taken)).toBe('made')
  const [run] = await scene.runs(taken)
  expect(run).toMatchObject({ launches: [], reviewed: queued?.payload['commit'] })

  // In a goal that has it already there is nothing to do.
  const twice = await scene.goal([entry(number), { ...entry(number), after: ['1'] }])
  await scene.until(twice, 'ready')
  expect(await scene.events(twice, 'merge.enqueued')).toHaveLength(1)
  const nothing = (await scene.runs(twice)).find(({ verdict }) => verdict?.noChange === true)
  expect(nothing?.verdict?.notes[0]).toContain(`merge entry ${number} (`)

  await expect(scene.goal([entry(9999)])).rejects.toThrow(
    /task 1: there is no merge entry 9999; .*unstuck events --json.* names the numbers/,
  )
})
