/** Agents that leave a secret, or a name that some file system takes for one of ours: on no branch, and told by its place alone. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { GoalView } from '../../src/api/contract.ts'
import { user } from '../workspace/scene.ts'
import { expectDone, expectOneQuestion, filesAt, holders, openScene, type Scene } from './scene.ts'
import { isLongForm } from '../support/form.ts'

/** As in the agents' programs: put together, so that it stands in no file. */
const token = ['sk', 'live', '4eC39HqLyjWDarjtT1zdp7dc'].join('_')
const known = ['sk', 'live', '9aB71KqLyjWDarjtT1zdp7dc'].join('_')

let scene: Scene
beforeAll(async () => {
  scene = await openScene(
    ['secret-line', 'secret-known', 'secret-binary', 'folded-config', 'folded-git', 'only-left-out'],
    {
      files: { 'src/old.txt': `one\nkey = ${known}\ntwo\n`, 'src/moved.txt': `key = ${known}\n` },
    },
  )
})
beforeEach(async () => scene.begin())
afterAll(async () => scene.clear())

const work = (harness: string): Promise<GoalView> => scene.work([{}], { harness })

const everythingTold = async (goal: GoalView): Promise<string> => {
  const runs = await scene.api<{ id: string }[]>(`/runs?goal=${goal.id}`)
  const texts = await Promise.all(runs.map(async ({ id }) => (await scene.cli('explain', id)).stdout))
  return JSON.stringify([await scene.status(), await scene.events(), runs, texts])
}

test('a token in a line that was added is one question, which names the line and the rule and not the token', async () => {
  const goal = await work('secret-line')
  await expectOneQuestion(scene, goal, /src\/settings\.txt \(secret: Stripe key \(line 3\)\)/)
  const told = await everythingTold(goal)
  expect(told).toContain('Stripe key (line 3)')
  expect(told).not.toContain(token)
  expect(user(scene.root, 'log', '--all', '--format=%H', `-S${token}`)).toBe('')
  expect(holders(scene.stateDir, token).filter((path) => /log|store|prompt|message/.test(path))).toEqual([])
  await scene.expectUnharmed()
})

test.runIf(isLongForm)(
  'what stood in the base lands, changed around, moved and indented, and a file that was not searched is named',
  async () => {
    const goal = await work('secret-known')
    expectDone(goal)
    expect(user(scene.root, 'show', `${goal.branch}:src/old.txt`)).toContain(known)
    expect(user(scene.root, 'show', `${goal.branch}:src/elsewhere.txt`)).toContain(known)
    expect(user(scene.root, 'log', '-1', '--format=%b', goal.branch)).toContain(
      'src/large.txt is larger than 8 MiB and was not searched for secrets',
    )
    await scene.expectUnharmed()
  },
)

test('a token is found in a file that says it is no text', async () => {
  const goal = await work('secret-binary')
  await expectOneQuestion(scene, goal, /data\.bin \(secret: Stripe key \(line 2\)\)/)
  expect(await everythingTold(goal)).not.toContain(token)
  await scene.expectUnharmed()
})

test.runIf(isLongForm)('a configuration of ours in another case is denied', async () => {
  const goal = await work('folded-config')
  await expectOneQuestion(scene, goal, /\.Unstuck\/config\.json \(denied: \.unstuck\)/)
  await scene.expectUnharmed()
})

test.runIf(isLongForm)(
  'a folder that is .git but for a character that cannot be seen is denied, and the character is shown',
  async () => {
    const goal = await work('folded-git')
    await expectOneQuestion(scene, goal, /\.g<U\+200C>it\/config \(outside: not a path that git may store\)/)
    expect(filesAt(scene.root, goal.branch).filter((path) => path.endsWith('config'))).toEqual([])
    await scene.expectUnharmed()
  },
)

test.runIf(isLongForm)('work of which nothing can be committed is not called work without a change', async () => {
  const goal = await work('only-left-out')
  await expectOneQuestion(scene, goal, /src\/git~1\/work\.txt \(git does not store this name/)
  const told = await everythingTold(goal)
  expect(told).not.toContain('no path differs')
  await scene.expectUnharmed()
})
