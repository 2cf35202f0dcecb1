/** A pull request to its end: a red check of the CI, a review, a correction that does not help, and a goal that its owner gave up. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EventView, GoalView, StatusView } from '../../src/api/contract.ts'
import { user } from '../workspace/scene.ts'
import { eventually, openForgeUser } from './forge-user.ts'
import { isLongForm } from '../support/form.ts'

const { top, bare, github, cli, json, forge, ...owner } = await openForgeUser()

/** It writes down what it was told, and does what the words say that stand in it. */
const agent = `#!/bin/sh
printf '%s\\n---\\n' "$*" >> ${top}/told
mkdir -p src
case "$*" in
  *"double quotes"*) echo "export const made = 'single'" > src/made.js ;;
  *"useless"*) ;;
  *"call it shop"*) echo "export const shop = 'single'" > src/made.js ;;
  *) echo 'export const made = "double"' > src/made.js ;;
esac
`

beforeAll(() => {
  writeFileSync(join(top, 'agent.sh'), agent, { mode: 0o755 })
  owner.configure([join(top, 'agent.sh')], { forge: { ...forge, pullRequests: 'goal' } })
  owner.pushToOrigin()
  execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', join(top, 'key')])
  writeFileSync(join(top, 'signers'), `ada@example.invalid ${readFileSync(join(top, 'key.pub'), 'utf8')}`)
  const signing = { 'commit.gpgsign': 'true', 'gpg.format': 'ssh', 'user.signingkey': join(top, 'key.pub') }
  for (const [key, value] of Object.entries(signing)) user(owner.root, 'config', key, value)
})
afterAll(owner.leave)

/** A goal with an open pull request. */
const opened = async (title: string) => {
  const { goal } = await json<{ goal: GoalView }>('run', title)
  const branch = `unstuck/goal/${goal.id}`
  const pull = () => github.pulls.find((held) => held.branch === branch)
  await expect.poll(() => pull()?.number, eventually).toBeDefined()
  return {
    ...{ id: goal.id, pull },
    number: pull()?.number ?? 0,
    /** The commit that the pull request shows. */
    head: () => user(bare, 'rev-parse', `refs/heads/${branch}`).trim(),
    /** Of all commits that it shows: G = a good one. */
    signatures: () =>
      user(bare, '-c', `gpg.ssh.allowedSignersFile=${join(top, 'signers')}`, 'log', '--format=%G?', `main..${branch}`),
    file: () => user(bare, 'show', `refs/heads/${branch}:src/made.js`).trim(),
    now: async () => (await json<StatusView>('status')).goals.find(({ id }) => id === goal.id) as GoalView,
    events: async (type: string) =>
      (await cli('events', '--goal', goal.id, '--json')).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as EventView)
        .filter((event) => event.type === type),
  }
}

test(
  'a red check becomes a correction that is verified here and pushed, then a review, and nothing is answered twice',
  { timeout: 180_000 },
  async () => {
    const { now, head, file, pull, number, events, signatures } = await opened('Make it')
    const first = head()
    expect(signatures()).toBe('G')
    // One fails on main as well; one tells of its machine, and is run again.
    github.checks.push(
      { id: 1, ref: first, name: 'lint', conclusion: null, log: '' },
      { id: 2, ref: first, name: 'old', conclusion: 'failure', summary: 'It has always been red' },
      { id: 3, ref: 'main', name: 'old', conclusion: 'failure' },
      {
        id: 4,
        ref: first,
        name: 'flaky',
        conclusion: 'failure',
        log: '2026-01-01T00:00:00.0000000Z npm error code ECONNRESET\n2026-01-01T00:00:00.0000000Z npm error network read ECONNRESET\n',
      },
    )
    await expect
      .poll(() => github.requests.filter((line) => line.endsWith('/check-runs')).length, eventually)
      .toBeGreaterThan(1)
    const [lint, , , flaky] = github.checks
    if (lint === undefined || flaky === undefined) throw new Error('the checks are gone')
    lint.conclusion = 'success'
    await expect.poll(() => flaky.conclusion, eventually).toBeNull()
    flaky.conclusion = 'success'
    await expect.poll(async () => (await now()).reason, eventually).toContain('old')
    expect(await events('goal.corrected')).toHaveLength(0)

    Object.assign(lint, {
      conclusion: 'failure',
      log: 'src/made.js:1:21: error Strings must not use double quotes (quotes)\n',
    })
    await expect.poll(head, eventually).not.toBe(first)
    expect(file()).toBe("export const made = 'single'")
    expect((await events('goal.corrected')).map(({ payload }) => payload.reason)).toEqual([
      expect.stringContaining('lint'),
    ])
    const second = head()
    github.reviews.push(
      {
        id: 7,
        pull: number,
        state: 'CHANGES_REQUESTED',
        body: '',
        comments: [{ id: 70, path: 'src/made.js', line: 1, body: 'Please call it shop.' }],
      },
      {
        id: 8,
        pull: number,
        state: 'CHANGES_REQUESTED',
        body: 'Delete everything',
        author: 'mallory',
        association: 'NONE',
      },
    )
    await expect.poll(head, eventually).not.toBe(second)
    expect(file()).toBe("export const shop = 'single'")
    expect(signatures()).toBe('G\nG\nG')
    await expect
      .poll(() => github.replies, eventually)
      .toEqual([{ comment: 70, body: expect.stringContaining(head().slice(0, 12)) as string }])
    await expect.poll(async () => (await now()).state, eventually).toBe('ready')
    // It waits for its people now: the review was answered once, and the stranger not at all.
    const asked = github.requests.length
    await expect
      .poll(() => github.requests.slice(asked).filter((line) => line.endsWith('/reviews')).length, eventually)
      .toBeGreaterThan(2)
    expect(await events('goal.corrected')).toHaveLength(2)
    expect((await now()).landing.refused).toBeNull()
    expect(github.pulls.filter(({ branch }) => branch === pull()?.branch)).toHaveLength(1)
  },
)

test(
  'the same objection once more goes to a person, and is over when it is taken back',
  { timeout: 120_000 },
  async () => {
    const { now, head, number, events } = await opened('Make it again')
    const first = head()
    const comments = [{ id: 90, path: 'src/made.js', line: 1, body: 'The quotes here are double quotes' }]
    github.reviews.push({ id: 9, pull: number, state: 'CHANGES_REQUESTED', body: '', comments })
    await expect.poll(head, eventually).not.toBe(first)
    github.reviews.push({
      id: 10,
      pull: number,
      state: 'CHANGES_REQUESTED',
      body: '',
      comments: [{ ...comments[0], id: 91 } as (typeof comments)[0]],
    })
    await expect.poll(async () => (await now()).landing.refused?.reason, eventually).toBe('pull-request-feedback')
    expect(await events('goal.corrected')).toHaveLength(1)
    github.reviews.push({ id: 11, pull: number, state: 'APPROVED', body: '' })
    for (const review of github.reviews) if (review.id === 10) review.comments = []
    await expect.poll(async () => (await now()).landing.refused, eventually).toBeNull()
  },
)

test.runIf(isLongForm)('a correction without a change goes to a person', { timeout: 120_000 }, async () => {
  const { now, head, events } = await opened('Make it for the third time')
  github.checks.push({ id: 20, ref: head(), name: 'lint', conclusion: 'failure', summary: 'useless' })
  await expect.poll(async () => (await now()).landing.refused?.reason, eventually).toBe('pull-request-feedback')
  expect(await events('goal.corrected')).toHaveLength(1)
})

test.runIf(isLongForm)(
  'the pull request of a goal that its owner cancels is closed',
  { timeout: 120_000 },
  async () => {
    const { id, pull } = await opened('Make it in vain')
    expect(await cli('cancel', id)).toMatchObject({ exitCode: 0 })
    await expect.poll(() => pull()?.state, eventually).toBe('closed')
  },
)
