/**
 * A person who reads only a question picks one of the choices that it offers, and that choice mends what stopped the task.
 * One engine for all situations.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Escalation } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { isLongForm } from '../support/form.ts'

const claude = (program: string): FaultAgent => ({ driver: 'claude', program })
const made = `put('made.txt', 'made'); end()`

const agents: Record<string, FaultAgent> = {
  steady: claude(`begin(); ${made}`),
  wide: claude(`begin(); put('src/db.ts', 'x'); ${made}`),
  shell: claude(`begin()
    if (args.includes('Bash(npm --version:*)')) { ${made} }
    else {
      failed('Bash', { command: 'npm --version > v.txt' },
        "Output redirection to '" + process.cwd() + "/v.txt' needs approval. The path is inside the working directories for this session ('" + process.cwd() + "'), and Claude Code asks before a shell command creates, changes or removes files there.")
      end()
    }`),
  fenced: claude(`begin()
    if (after('--add-dir').includes('TOP/outside')) { ${made} }
    else { denied('TOP/outside/other.txt'); end() }`),
  unsure: claude(`begin()
    if (args.some((text) => text.includes('Use the new parser'))) { ${made} }
    else { put('wrong.txt', String(count('TOP/unsure'))); end() }`),
  modelled: claude(`
    if (after('--model').includes('m-1')) { begin(); ${made} }
    else { begin(); print({ type: 'result', subtype: 'success', is_error: true, api_error_status: 404, result: "There's an issue with the selected model (m-9). It may not exist or you may not have access to it." }); process.exitCode = 1 }`),
  keyed: claude(`begin()
    if (process.env.CLAUDE_CODE_OAUTH_TOKEN === 'the-new-one') { ${made} }
    else { print({ type: 'result', subtype: 'success', is_error: true, api_error_status: 401, result: 'Invalid API key · Please run /login' }); process.exitCode = 1 }`),
  locked: claude(`begin()
    if (existsSync('TOP/logged-in')) { ${made} }
    else { print({ type: 'result', subtype: 'success', is_error: true, api_error_status: 401, result: 'Invalid API key · Please run /login' }); process.exitCode = 1 }`),
}

let scene: Scene
beforeAll(async () => {
  scene = await openScene(agents, { allowedDirs: [] }, { files: { 'tests/a.txt': 'a' } })
})
afterAll(async () => scene.clear())

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: scene.root, encoding: 'utf8' })

const questionOf = async (goal: string): Promise<Escalation> => {
  await scene.until(goal, 'awaiting_human', 'paused', 'ready')
  const [question, ...more] = (await scene.questions()).filter(({ goalId }) => goalId === goal)
  expect(more).toEqual([])
  if (question === undefined) throw new Error(`goal ${goal} asks nothing`)
  return question
}

interface Situation {
  name: string
  task: Parameters<Scene['goal']>[0][number]
  happened: RegExp
  offered: Escalation['choices'][number]['kind'][]
  choice: string
  input?: string
  first?: () => void
}

const situations: Situation[] = [
  {
    name: 'a path outside the allowed ones',
    task: { harness: 'wide', allowedPaths: ['made.txt'] },
    happened: /changed src\/db\.ts, which its allowed paths do not cover\.$/,
    offered: ['widen', 'hint', 'take_over', 'cancel'],
    choice: 'widen',
  },
  {
    name: 'a refused command',
    task: { harness: 'shell' },
    happened: /stopped: shell was refused a command: `npm --version > v\.txt`\.$/,
    offered: ['allow_command', 'hint', 'take_over', 'cancel'],
    choice: 'allow_command',
  },
  {
    name: 'a refused folder',
    task: { harness: 'fenced' },
    happened: /stopped: fenced was refused the folder \S+\/outside, which is not in allowedDirs\.$/,
    offered: ['allow_directory', 'hint', 'take_over', 'cancel'],
    choice: 'allow_directory',
  },
  {
    name: 'a check whose program is not installed',
    task: { harness: 'steady', commands: ['nonexistent-checker src'] },
    happened: /the check `nonexistent-checker src` cannot run here: /,
    offered: ['retry', 'change_check', 'commit_fix', 'cancel'],
    choice: 'change_check',
    input: 'node check.js',
  },
  {
    name: 'a check whose file does not exist yet, and the owner commits it',
    task: { harness: 'steady', commands: ['node later.js'] },
    happened: /the check `node later\.js` cannot run here: exit 1, Error: Cannot find module/,
    offered: ['change_check', 'commit_fix', 'cancel'],
    choice: 'commit_fix',
    first: () => {
      writeFileSync(join(scene.root, 'later.js'), '')
      git('add', 'later.js')
      git('commit', '-qm', 'Add the check')
    },
  },
  {
    name: 'a failing check',
    task: { harness: 'unsure' },
    happened: /stopped: node check\.js: exit 1/,
    offered: ['hint', 'take_over', 'change_check', 'commit_fix', 'cancel'],
    choice: 'hint',
    input: 'Use the new parser.',
  },
  {
    name: 'a missing login',
    task: { harness: 'locked' },
    happened: /harness "locked" cannot log in at its provider/,
    offered: ['retry', 'cancel'],
    choice: 'retry',
    first: () => writeFileSync(join(scene.top, 'logged-in'), ''),
  },
  {
    name: 'a missing model',
    task: { harness: 'modelled', model: 'm-9' },
    happened: /the provider of harness "modelled" does not offer the model "m-9"/,
    offered: ['retry', 'cancel'],
    choice: 'retry',
    input: 'm-1',
  },
]

/** CI takes a path, a program and a login. */
const chosen = situations.filter((_situation, index) => index % 3 === 0 || isLongForm)

test.each(chosen)('$name', async ({ task, happened, offered, choice, input, first }) => {
  const goal = await scene.goal([task])
  const question = await questionOf(goal)
  expect(question.happened).toMatch(happened)
  expect(question.choices.map(({ kind }) => kind)).toEqual(offered)
  first?.()
  const answer = { choice, ...(input === undefined ? {} : { input }), by: 'ada' }
  await scene.post(`/escalations/${question.id}/answer`, answer)
  const end = await scene.until(goal, 'ready', 'failed', 'awaiting_human', 'paused')
  expect(end.state).toBe('ready')
  expect((await scene.questions()).filter(({ goalId }) => goalId === goal)).toEqual([])
  await expect(scene.post(`/escalations/${question.id}/answer`, answer)).rejects.toThrow(/409 .*already decided/)
})

test.runIf(isLongForm)(
  'a new key goes to the agents of a running engine, and what could not log in is tried again',
  async () => {
    const goal = await scene.goal([{ harness: 'keyed' }])
    const question = await questionOf(goal)
    expect(question.details).toContain('unstuck login')
    await expect(scene.post('/login', { variables: { PATH: '/tmp' } })).rejects.toThrow(
      /PATH is no variable of a login/,
    )
    const variables = { CLAUDE_CODE_OAUTH_TOKEN: 'the-new-one' }
    expect(await scene.post('/login', { variables, by: 'me' })).toEqual({
      taken: ['CLAUDE_CODE_OAUTH_TOKEN'],
      retried: [question.taskId],
    })
    await scene.until(goal, 'ready', 'done')
    expect(scene.show('made.txt', goal)).toBe('made')
    expect(await scene.post('/login', { variables })).toEqual({ taken: [], retried: [] })
  },
)
