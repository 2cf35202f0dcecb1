/** What lands is signed where the owner's git signs commits; where the key cannot be used without a person, the owner decides. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Escalation } from '../../src/api/contract.ts'
import { openScene, type Scene, type SceneOptions } from '../recovery/scene.ts'
import { isLongForm } from '../support/form.ts'

let scene: Scene
afterEach(() => scene.clear())

const git = (...args: string[]): string => execFileSync('git', args, { cwd: scene.root, encoding: 'utf8' }).trim()
const key = (): string => join(scene.top, 'key')
const tip = (): string => git('rev-parse', 'main')

const agent = { driver: 'command', program: `put('made.txt', String(count('TOP/starts')))` } as const

/** An owner who signs every commit with an SSH key, of a kind that makes another signature each time. */
const openSigned = async (passphrase: string, options: SceneOptions = {}): Promise<void> => {
  scene = await openScene({ agent }, {}, options)
  execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', passphrase, '-C', 'owner', '-f', key()])
  const signers = join(scene.top, 'signers')
  writeFileSync(signers, `owner@example.com ${readFileSync(`${key()}.pub`, 'utf8')}`)
  for (const [name, value] of [
    ...[['user.name', 'Owner'] as const, ['user.email', 'owner@example.com'] as const],
    ...[['commit.gpgsign', 'true'] as const, ['gpg.format', 'ssh'] as const],
    ...[['user.signingkey', `${key()}.pub`] as const, ['gpg.ssh.allowedSignersFile', signers] as const],
  ])
    for (const root of [scene.root, ...(options.remote === true ? [mirror()] : [])])
      execFileSync('git', ['-C', root, 'config', name, value])
}

/** The engine's own clone of a repository by URL. */
const mirror = (): string => {
  const home = join(scene.top, 'home')
  const state = readdirSync(home).find((name) => existsSync(join(home, name, 'repository', '.git')))
  return join(home, state ?? '', 'repository')
}

/** Of the newest commits of the branch, oldest last: G = a good signature, N = none. */
const signatures = (count: number): string[] => git('log', `-${count}`, '--format=%G? %ce', 'main').split('\n')
const good = 'G owner@example.com'

const twoTasks = [{ id: '1' }, { id: '2', after: ['1'] }]

/** Fails once at each of these points. */
const crashing = (): { crashes: string[]; at: (point: string) => void } => {
  const crashes = ['goal-signing-intended', 'goal-signing-published']
  return {
    crashes,
    at: (point) => {
      if (crashes[0] !== point) return
      crashes.shift()
      throw new Error(`crash at ${point}`)
    },
  }
}

test('every commit that lands is signed by the owner, also after crashes in between', async () => {
  const { crashes, at } = crashing()
  await openSigned('', { at })
  const goal = await scene.goal(twoTasks, { autoMerge: true })
  await scene.until(goal, 'done', 'awaiting_human', 'paused')
  expect(crashes).toEqual([])
  expect(signatures(2)).toEqual([good, good])
  git('verify-commit', 'main', 'main^')
  const [first, second] = [await scene.task(goal, 1), await scene.task(goal, 2)]
  expect(git('log', '-2', '--format=%(trailers:key=Unstuck-Task,valueonly,separator=)', 'main').split('\n')).toEqual([
    second.id,
    first.id,
  ])
  expect(await scene.events(goal, 'goal.signed')).toMatchObject([{ payload: { commits: 2, head: tip() } }])
  expect(await scene.events(goal, 'ref.restored')).toEqual([])
  expect(await scene.events(goal, 'goal.cannot_sign')).toEqual([])
  await scene.post(`/tasks/${second.id}/revert`)
  expect(signatures(1)).toEqual([good])
})

test('a key that is locked is said at the start, and the landing waits until it is unlocked', async () => {
  await openSigned('secret')
  const before = tip()
  const goal = await scene.goal(twoTasks, { autoMerge: true })
  await scene.until(goal, 'ready')
  const question = await scene.waitFor('a question', async () => (await scene.questions())[0])
  const [said, claimed] = [await scene.events(goal, 'goal.cannot_sign'), await scene.events(goal, 'run.succeeded')]
  expect(said).toHaveLength(1)
  expect(Number(said[0]?.id)).toBeLessThan(Number(claimed[0]?.id))
  expect(question).toMatchObject({ kind: 'unsigned_commits', goalId: goal, taskId: null })
  expect(question.choices.map(({ id }) => id)).toEqual(['land', 'land_unsigned', 'cancel'])
  expect((await scene.until(goal, 'ready')).landing.refused?.reason).toBe('unsigned')
  expect(tip()).toBe(before)

  await expect(scene.post(`/escalations/${question.id}/answer`, { choice: 'land' })).resolves.toBeDefined()
  const again = await scene.waitFor('the question again', async () =>
    (await scene.questions()).find(({ id }) => id !== question.id),
  )
  execFileSync('ssh-keygen', ['-q', '-p', '-P', 'secret', '-N', '', '-f', key()])
  await scene.post(`/goals/${goal}/land`)
  await scene.until(goal, 'done')
  expect(signatures(2)).toEqual([good, good])
  expect(await scene.questions()).toEqual([])
  const asked = await scene.get<Escalation[]>(`/escalations?goal=${goal}&state=all`)
  expect(asked.map(({ id, state }) => [id, state])).toEqual([
    [question.id, 'resolved'],
    [again.id, 'expired'],
  ])
})

test.runIf(isLongForm)('a person may let the commits land as they are', async () => {
  await openSigned('secret')
  const goal = await scene.goal([{}], { autoMerge: true })
  const question = await scene.waitFor('a question', async () => (await scene.questions())[0])
  await scene.post(`/escalations/${question.id}/answer`, { choice: 'land_unsigned' })
  await scene.until(goal, 'done')
  expect(signatures(1)[0]).toMatch(/^N /)
  expect(await scene.questions()).toEqual([])
})

test.runIf(isLongForm)('what is done lands signed, and the work on top of it as well', async () => {
  await openSigned('')
  const goal = await scene.goal([{}, { commands: ['no-such-program'], after: ['1'] }])
  await scene.until(goal, 'awaiting_human')
  await scene.post(`/goals/${goal}/land`, { done: true })
  await scene.waitFor('a part landed', async () => (await scene.events(goal, 'goal.part_landed'))[0])
  expect(signatures(1)).toEqual([good])
  const landed = tip()
  const [question] = await scene.questions()
  await scene.post(`/escalations/${question?.id}/answer`, { choice: 'change_check', input: 'node -e 0' })
  await scene.until(goal, 'ready')
  await scene.post(`/goals/${goal}/land`)
  await scene.until(goal, 'done')
  expect(signatures(2)).toEqual([good, good])
  expect(git('rev-parse', 'main^')).toBe(landed)
})

test.runIf(isLongForm)('a program that only the configuration of the repository names is not run', async () => {
  await openSigned('')
  const trace = join(scene.top, 'ran')
  const program = join(scene.top, 'sign.sh')
  writeFileSync(program, `#!/bin/sh\ntouch ${trace}\nexec ssh-keygen "$@"\n`, { mode: 0o755 })
  git('config', 'gpg.ssh.program', program)
  const goal = await scene.goal([{}], { autoMerge: true })
  const question = await scene.waitFor('a question', async () => (await scene.questions())[0])
  expect(question.happened).toContain('gpg.ssh.program')
  expect(() => readFileSync(trace)).toThrow('ENOENT')
  await scene.post(`/goals/${goal}/cancel`)
  expect(await scene.questions()).toEqual([])
})

test.runIf(isLongForm)('what is pushed to a repository by URL is signed, also after crashes in between', async () => {
  const { crashes, at } = crashing()
  await openSigned('', { at, remote: true })
  const goal = await scene.goal(twoTasks, { autoMerge: true })
  await scene.until(goal, 'done', 'awaiting_human', 'paused')
  expect(crashes).toEqual([])
  expect(signatures(2)).toEqual([good, good])
  expect(await scene.events(goal, 'ref.restored')).toEqual([])
  expect(await scene.events(goal, 'goal.signed')).toHaveLength(1)
})

test.runIf(isLongForm)(
  'a person who lets the commits land as they are is heard, also while the key is being tried once more',
  async () => {
    await openSigned('secret')
    const goal = await scene.goal([{}], { autoMerge: true })
    const question = await scene.waitFor('a question', async () => (await scene.questions())[0])
    // What reads the key now waits for the test.
    rmSync(`${key()}.pub`)
    execFileSync('mkfifo', [`${key()}.pub`])
    const reader = async (): Promise<number | undefined> => {
      try {
        return openSync(`${key()}.pub`, constants.O_WRONLY | constants.O_NONBLOCK)
      } catch {
        return undefined // it is not read yet
      }
    }
    await scene.post(`/goals/${goal}/land`)
    const end = await scene.waitFor('the key is read', reader)
    await scene.post(`/escalations/${question.id}/answer`, { choice: 'land_unsigned' })
    closeSync(end)
    await scene.until(goal, 'done')
    // It stops when what it began has ended.
    await scene.restart()
    expect(signatures(1)[0]).toMatch(/^N /)
    expect(await scene.questions()).toEqual([])
  },
)
