/** `unstuck exec` around the real Codex and the real Claude, as somebody without a project has them. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { installClis } from '../../scripts/install-clis.ts'
import { pointersTo } from '../../sim/main.ts'
import { openUser, type Printed, type User } from './user.ts'

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

const clis = () => installClis(process.env)
const printed = (stdout: string): Printed[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Printed)
const outside = (root: string): string => join(root, 'outside')

test('Codex outside of a repository is launched again without its check', async () => {
  user = await openUser(() => [{ name: 'job', match: 'Make the file', steps: [{ text: 'Nothing to do here.' }] }])
  const { flags } = pointersTo(user.sim.url).codex
  const ended = await user.unstuck('exec', '--json', '--', clis().codex, 'exec', ...flags, 'Make the file')
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  const events = printed(ended.stdout)
  expect(events.filter(({ type }) => type === 'recovery')).toMatchObject([
    { payload: { worker: 'codex', action_taken: 'RELAUNCH_WITH_SKIP_GIT_CHECK', status: 'success', retry_count: 1 } },
  ])
  expect(events.at(-1)).toMatchObject({
    type: 'result',
    payload: { outcome: 'done', launches: 2, text: 'Nothing to do here.' },
  })
})

test('Claude is given the allowed directory and goes on in its session', async () => {
  user = await openUser((root) => [
    {
      name: 'job',
      match: 'Make the file',
      steps: [
        { write: { path: join(outside(root), 'made.txt'), content: 'made\n' } },
        { text: 'I may not write there.' },
        { write: { path: join(outside(root), 'made.txt'), content: 'made\n' } },
        { text: 'Made.' },
      ],
    },
  ])
  const dir = outside(user.root)
  mkdirSync(dir)
  const agent = [clis().claude, '-p', 'Make the file', '--permission-mode', 'acceptEdits']
  const ended = await user.unstuck('exec', '--json', '--allow-dir', dir, '--', ...agent)
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  expect(readFileSync(join(dir, 'made.txt'), 'utf8')).toBe('made\n')
  const events = printed(ended.stdout)
  expect(events.filter(({ type }) => type === 'recovery')).toMatchObject([
    { payload: { worker: 'claude', action_taken: 'RELAUNCH_WITH_ADD_DIR', status: 'success', retry_count: 1 } },
  ])
  const launches = events.filter(({ type }) => type === 'launch')
  expect(launches).toMatchObject([{ resumed: false }, { resumed: true }])
  expect(events.at(-1)).toMatchObject({ type: 'result', payload: { outcome: 'done', text: 'Made.', denials: [] } })
  // The first turn was not cut short, and the second went on behind it.
  expect(user.sim.requests().flatMap(({ step }) => step ?? [])).toEqual([0, 1, 2, 3])
})
