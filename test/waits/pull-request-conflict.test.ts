/** The branch of an open pull request conflicts with what others merged on the forge meanwhile. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EventView, GoalView, StatusView } from '../../src/api/contract.ts'
import { commitAll, put, user } from '../workspace/scene.ts'
import { eventually, openForgeUser } from './forge-user.ts'

const { top, root, bare, github, cli, json, forge, ...owner } = await openForgeUser()

/** Asked to do its work again on the newer base, beside a diff of the old work, it keeps both sides, unless the goal says that it is stubborn. */
const agent = `#!/bin/sh
printf '%s\\n---\\n' "$*" >> ${top}/told
mkdir -p src
case "$*" in
  *stubborn*) [ -e src/stubborn.js ] || echo 'ours' > src/stubborn.js ;;
  *earlier.diff*) printf 'theirs\\nours\\n' > src/made.js ;;
  *) echo 'ours' > src/made.js ;;
esac
`

beforeAll(() => {
  writeFileSync(join(top, 'agent.sh'), agent, { mode: 0o755 })
  owner.configure([join(top, 'agent.sh')], {
    forge: { ...forge, pullRequests: 'goal' },
    // The question comes right after the recoveries of the run.
    requeue: { inPlaceLimit: 0, reworkDepth: 0 },
  })
  owner.pushToOrigin()
  user(top, 'clone', '--quiet', bare, join(top, 'colleague'))
})
afterAll(owner.leave)

/** A colleague's change is merged on the forge. */
const theirs = (files: Record<string, string>): string => {
  const clone = join(top, 'colleague')
  user(clone, 'pull', '--quiet', '--ff-only', 'origin', 'main')
  put(clone, files)
  const commit = commitAll(clone, 'Theirs')
  user(clone, 'push', '--quiet', 'origin', 'HEAD:main')
  return commit
}

const merges = (branch: string): boolean => {
  try {
    user(bare, 'merge-tree', '--write-tree', 'main', branch)
    return true
  } catch {
    return false
  }
}

const opened = async (title: string) => {
  const { goal } = await json<{ goal: GoalView }>('run', title)
  const branch = `unstuck/goal/${goal.id}`
  const pull = () => github.pulls.find((held) => held.branch === branch)
  await expect.poll(() => pull()?.number, eventually).toBeDefined()
  const held = pull()
  if (held !== undefined) held.mergeable = () => merges(branch)
  return {
    ...{ id: goal.id, branch },
    head: () => user(bare, 'rev-parse', `refs/heads/${branch}`),
    now: async () => (await json<StatusView>('status')).goals.find(({ id }) => id === goal.id) as GoalView,
    events: async (type: string) =>
      (await cli('events', '--goal', goal.id, '--json')).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as EventView)
        .filter((event) => event.type === type),
  }
}

const polled = async (count: number): Promise<void> => {
  const before = github.requests.length
  const looks = () => github.requests.slice(before).filter((line) => line.endsWith('/check-runs')).length
  await expect.poll(looks, eventually).toBeGreaterThan(count)
}

test(
  'it is solved on the newer base, verified and pushed; a base that only moved is left alone, and so is the own branch of the owner',
  { timeout: 240_000 },
  async () => {
    const { now, head, branch, events } = await opened('Make it')
    const first = head()
    const before = user(root, 'rev-parse', 'main')
    theirs({ 'other.txt': 'other' })
    await polled(1)
    expect(head()).toBe(first)
    expect(await events('goal.outdated')).toEqual([])

    const merged = theirs({ 'src/made.js': 'theirs\n' })
    await expect.poll(head, eventually).not.toBe(first)
    expect(merges(branch)).toBe(true)
    expect(user(bare, 'merge-base', merged, branch)).toBe(merged)
    expect(user(bare, 'show', `${branch}:src/made.js`)).toBe('theirs\nours')
    await expect.poll(async () => (await now()).state, eventually).toBe('ready')
    await polled(1)
    expect((await now()).landing.refused).toBeNull()
    expect(await events('goal.outdated')).toHaveLength(1)
    expect(github.pulls.filter((pull) => pull.branch === branch)).toHaveLength(1)
    expect(user(root, 'rev-parse', 'main')).toBe(before)

    // The owner can still land it here, on the branch that lacks their work.
    user(root, 'pull', '--quiet', '--ff-only', 'origin', 'main')
    expect(await cli('land', (await now()).id)).toMatchObject({ exitCode: 0 })
    await expect.poll(async () => (await now()).state, eventually).toBe('done')
    expect(user(root, 'show', 'main:src/made.js')).toBe('theirs\nours')
  },
)

test('what no agent solves is a question, and the work stays as it was', { timeout: 240_000 }, async () => {
  const { id, head, now } = await opened('Make it in a stubborn way')
  const first = head()
  theirs({ 'src/stubborn.js': 'theirs\n' })
  const asked = async () =>
    (await json<StatusView>('status')).escalations.filter(({ goalId, state }) => goalId === id && state === 'pending')
  await expect.poll(asked, { ...eventually, timeout: 120_000 }).toHaveLength(1)
  expect((await now()).state).not.toBe('ready')
  expect(head()).toBe(first)
})
