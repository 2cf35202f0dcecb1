/**
 * A branch that somebody else works on is reviewed beside two tasks of agents: the engine is killed between a success and its verdict, the
 * judge is switched off and on, and the branch moves before it is judged.
 */
import { execFileSync, type ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { StatusView } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { killable } from '../support/killable.ts'

const agent: FaultAgent = {
  driver: 'command',
  program: `
const prompt = args.join(' ') + readFileSync(0, 'utf8')
const name = ['one', 'two'].find((each) => prompt.includes('TASK-' + each))
put(name + '.txt', 'good')
`,
}

const isGood = (name: string): string =>
  `process.exit(require('node:fs').existsSync('${name}.txt') && require('node:fs').readFileSync('${name}.txt', 'utf8').trim() === 'good' ? 0 : 1)`
const files = { 'one.js': isGood('one'), 'two.js': isGood('two'), 'feature.js': isGood('feature') }
const requeue = { failedSeconds: 0.2, blockedSeconds: 0.2, inPlaceLimit: 5, reworkDepth: 2 }

const work = (name: string) => ({
  ...{ title: `Make ${name}`, instructions: `TASK-${name}: make ${name}.txt.`, commands: [`node ${name}.js`] },
  allowedPaths: [`${name}.txt`],
})
const review = {
  ...{ title: 'Review the feature', instructions: 'Review it.', role: 'judge' as const },
  ...{ review: { branch: 'feature' }, commands: ['node feature.js'] },
}

let scene: Scene
const engines: ChildProcess[] = []
afterEach(() => scene.clear())

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd: scene.root,
    encoding: 'utf8',
  }).trim()

/** Somebody commits to the branch, in a checkout of their own. */
const commitFeature = (text: string): string => {
  const folder = join(scene.top, 'elsewhere')
  execFileSync('rm', ['-rf', folder])
  const hasBranch = git('branch', '--list', 'feature') !== ''
  git('worktree', 'prune')
  git('worktree', 'add', '-q', ...(hasBranch ? [folder, 'feature'] : ['-b', 'feature', folder]))
  writeFileSync(join(folder, 'feature.txt'), text)
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', 'add', '-A'], { cwd: folder })
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-qm', `Say ${text}`], { cwd: folder })
  return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim()
}

const reasonsOf = async (goal: string): Promise<unknown[]> =>
  (await scene.events(goal, 'task.requeued')).map(({ payload }) => payload['reason'])

test('a branch is reviewed beside other work, whatever stops the judge on the way', async () => {
  scene = await openScene({ agent }, { requeue }, { files, start: killable(engines) })
  commitFeature('bad')
  await scene.post('/judge', { off: true, by: 'me' })
  const goal = await scene.goal([work('one'), work('two'), review])
  // The work does not pass: the review is tried once more, then a person is asked. No agent is launched on it.
  const question = await scene.waitFor('a question', async () => (await scene.questions())[0])
  expect(question.happened).toContain('could not review branch feature')
  expect((await scene.task(goal, 3)).status).toBe('blocked(awaiting_human)')
  expect(await reasonsOf(goal)).toContain('pr_review_needs_rework_missing_run_retry')
  // A new commit of the branch is reviewed by itself, and the question is withdrawn.
  const head = commitFeature('good')
  await scene.waitFor('it waits for the judge', async () =>
    (await scene.task(goal, 3)).status === 'blocked(awaiting_judge)' ? 1 : undefined,
  )
  expect(await scene.questions()).toEqual([])
  expect((await scene.task(goal, 3)).review).toEqual({ branch: 'feature', head })
  // The judge is off: nothing is judged, also after a restart, and the status says so.
  await scene.waitFor('both others wait for the judge', async () =>
    (await Promise.all([1, 2].map((number) => scene.task(goal, number)))).every(
      ({ status }) => status === 'blocked(awaiting_judge)',
    )
      ? 1
      : undefined,
  )
  await scene.restart()
  const status = await scene.get<StatusView>('/status')
  expect(status.notices.join('\n')).toContain('unstuck resume --judge')
  expect((await scene.task(goal, 3)).nextStep).toMatchObject({ owner: 'person' })
  expect(await scene.events(goal, 'judge.review')).toEqual([])
  await scene.post('/judge', { off: false, by: 'me' })
  await scene.until(goal, 'ready')
  expect(scene.show('feature.txt', goal).trim()).toBe('good')
  const reviews = await scene.events(goal, 'judge.review')
  expect(reviews).toHaveLength(3)
  const launched = (await scene.runs(goal)).filter(({ reviewed }) => reviewed !== null)
  expect(launched.length).toBeGreaterThan(2)
  expect(launched.every(({ launches }) => launches.length === 0)).toBe(true)
})

test('a commit that arrives while the reviewer is to be asked again is reviewed before anything lands', async () => {
  const reviewer: FaultAgent = {
    driver: 'claude',
    program: `
const round = count('TOP/reviews')
begin()
if (round === 1) {
  print({ type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: Math.ceil(Date.now() / 1000) + 5, rateLimitType: 'five_hour' } })
  print({ type: 'assistant', error: 'rate_limit', message: { content: [{ type: 'text', text: "You've hit your limit" }] } })
  end({ is_error: true, api_error_status: 429, result: "You've hit your limit" })
  process.exit(1)
}
end({ result: JSON.stringify({ verdict: 'approve', risk: 'low', points: [], summary: '' }) })
`,
  }
  const judge = { mode: 'llm', harness: 'reviewer' }
  scene = await openScene({ agent, reviewer }, { judge }, { files: { 'pass.js': '' } })
  commitFeature('old')
  const goal = await scene.goal([{ ...review, commands: ['node pass.js'] }])
  await scene.waitFor(
    'the reviewer is to be asked again',
    async () => (await scene.events(goal, 'judge.task_requeued'))[0],
  )
  const head = commitFeature('new')
  await scene.until(goal, 'ready', 'done')
  expect(scene.show('feature.txt', goal).trim()).toBe('new')
  expect((await scene.task(goal)).review).toEqual({ branch: 'feature', head })
  const reviewed = (await scene.runs(goal)).map((run) => run.reviewed)
  expect(reviewed).toHaveLength(2)
  expect(reviewed.at(-1)).toBe(head)
})
