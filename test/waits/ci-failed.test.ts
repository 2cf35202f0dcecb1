/** The default branch turns red on the forge while no person is there: a goal repairs it in a pull request. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ScheduleJson } from '../../src/api/contract.ts'
import { commitAll, put, user } from '../workspace/scene.ts'
import { eventually, openForgeUser } from './forge-user.ts'

const { top, root, bare, github, cli, json, forge, ...owner } = await openForgeUser()

beforeAll(() => {
  const agent = `#!/bin/sh\nprintf '%s\\n' "$*" > ${top}/told\necho repaired > src.js\n`
  writeFileSync(join(top, 'agent.sh'), agent, { mode: 0o755 })
  owner.configure([join(top, 'agent.sh')], { forge: { ...forge, pullRequests: 'goal' } })
  owner.pushToOrigin()
  user(bare, 'symbolic-ref', 'HEAD', 'refs/heads/main')
  user(top, 'clone', '--quiet', bare, join(top, 'colleague'))
})
afterAll(owner.leave)

test('a red head of a colleague is repaired in one pull request on top of it', { timeout: 180_000 }, async () => {
  expect(await cli('schedule', 'add', '--on', 'ci-failed', 'Repair the branch')).toMatchObject({ exitCode: 0 })
  const only = async () => (await json<ScheduleJson[]>('schedule', 'list'))[0] as ScheduleJson
  expect(await only()).toMatchObject({ trigger: 'ci-failed', branch: null, goalId: null })

  const clone = join(top, 'colleague')
  put(clone, { 'src.js': 'broken\n' })
  const head = commitAll(clone, 'Theirs')
  user(clone, 'push', '--quiet', 'origin', 'HEAD:main')
  github.checks.push({ id: 1, ref: head, name: 'lint', conclusion: 'failure', log: 'src.js:1: error: it is broken' })

  await expect.poll(() => github.pulls.length, eventually).toBe(1)
  const { goalId, seen, problem } = await only()
  expect({ seen, problem }).toEqual({ seen: head, problem: '' })
  const [pull] = github.pulls
  expect(pull).toMatchObject({ base: 'main', branch: `unstuck/goal/${goalId}` })
  expect(user(bare, 'log', '--format=%P', `${head}..${pull?.branch}`)).toBe(head)
  expect(readFileSync(join(top, 'told'), 'utf8')).toContain('it is broken')
  // The branch of the owner stays behind, as pull requests leave it.
  expect(user(root, 'rev-parse', 'main')).not.toBe(head)
})
