/**
 * Work that a check refuses, through the whole engine: what fails goes back to the agent, each round is told something new,
 * only fewer failures are progress, and a person is asked when no untried way is left.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const asserting = (name: string, file: string, value: string): string =>
  `test(${JSON.stringify(name)}, () => assert.equal(require('./${file}'), ${JSON.stringify(value)}))`
const suite = (...tests: string[]): string =>
  ["const { test } = require('node:test')\nconst assert = require('node:assert')", ...tests].join('\n')

const green = "const { test } = require('node:test')\ntest('green', () => {})"
const letters = ['a', 'b', 'c', 'd', 'e']
const files = {
  '.gitignore': 'hidden/\n',
  'ok.js': 'process.exit(0)',
  'uses.js': 'process.exit(0)',
  'sum.js': "module.exports = 'right'",
  'sum.test.js': suite(asserting('adds two numbers', 'sum.js', 'right'), "test('is loaded', () => {})"),
  ...Object.fromEntries(letters.map((letter) => [`${letter}.js`, "module.exports = 'right'"])),
  'suite/green.test.js': green,
  'all.js': "for (const name of require('node:fs').readdirSync('group')) require('./group/' + name)",
  'group/green.test.js': green,
  'group/letter.test.js': suite(asserting('letter a', '../a.js', 'right')),
  'suite/red.test.js': suite(asserting('red before', '../red.js', 'right')),
  'red.js': "module.exports = 'wrong'",
  'five.test.js': suite(...letters.map((letter) => asserting(`letter ${letter}`, `${letter}.js`, 'right'))),
}

/** `told`: what the prompt says. Prompts are kept, one file a launch. */
const prompts = (name: string): string => `
const prompt = args.join(' ') + readFileSync(0, 'utf8')
const round = count('TOP/${name}-rounds')
put('TOP/prompts/${name}-' + round, prompt)
const write = (path, value) => put(path, 'module.exports = ' + JSON.stringify(value))
`

const checks = ['node ok.js', 'node --test sum.test.js']
const cases: Record<
  string,
  { driver: FaultAgent['driver']; program: string; commands?: string[]; allowedPaths?: string[] }
> = {
  listens: {
    driver: 'command',
    program: `write('sum.js', prompt.includes('adds two numbers') ? 'right' : 'wrong'); put('note.md', 'n')`,
  },
  resumes: {
    driver: 'claude',
    program: `begin(); write('sum.js', prompt.includes('adds two numbers') ? 'right' : 'wrong'); put('note.md', 'n'); end()`,
  },
  // Its provider refuses the launch that was to be told what fails.
  'refused-feedback': {
    driver: 'command',
    program: `put('note.md', 'n'); if (round === 2) { console.error('Error: 529 Overloaded'); process.exit(1) }
write('sum.js', prompt.includes('adds two numbers') ? 'right' : 'wrong')`,
  },
  // The rules of the repository ignore the folder that it chose.
  ignored: {
    driver: 'command',
    program: `const folder = prompt.includes('git ignores it') ? 'seen' : 'hidden'
write(folder + '/made.js', 'right'); put('uses.js', "require('./" + folder + "/made.js')")`,
    commands: ['node uses.js'],
  },
  deaf: { driver: 'command', program: `write('sum.js', 'wrong')` },
  // One mended a round: five rounds, each of them progress.
  slow: {
    driver: 'command',
    program: `for (const letter of ['a', 'b', 'c', 'd', 'e']) write(letter + '.js', 'wrong' );
for (const letter of ['a', 'b', 'c', 'd', 'e'].slice(0, round - 1)) write(letter + '.js', 'right'); put('note.md', 'n')`,
    commands: ['node --test five.test.js'],
  },
  strays: {
    driver: 'command',
    program: `put('note.md', 'n'); if (prompt.includes('stray.txt')) { try { (await import('node:fs')).rmSync('stray.txt') } catch {} } else put('stray.txt', 's')`,
    commands: ['node ok.js'],
    allowedPaths: ['note.md'],
  },
  // The check passes without the test that failed.
  deletes: {
    driver: 'command',
    program: `put('note.md', 'n'); (await import('node:fs')).rmSync('suite/red.test.js', { force: true })`,
    commands: ['node --test'],
  },
  // Green before, and red with this work.
  hides: {
    driver: 'command',
    program: `write('a.js', 'wrong'); (await import('node:fs')).rmSync('group/letter.test.js', { force: true })`,
    commands: ['node --test all.js'],
  },
  // Nothing fails without it.
  tidies: {
    driver: 'command',
    program: `put('note.md', 'n'); (await import('node:fs')).rmSync('group/letter.test.js', { force: true })`,
    commands: ['node --test all.js'],
  },
  restores: {
    driver: 'command',
    program: `put('note.md', 'n')
if (prompt.includes('red before')) { put('suite/red.test.js', ${JSON.stringify(suite(asserting('red before', '../red.js', 'right')))}); write('red.js', 'right') }
else (await import('node:fs')).rmSync('suite/red.test.js', { force: true })`,
    commands: ['node --test'],
  },
  'unknown-once': {
    driver: 'command',
    program: `put('note.md', 'n'); if (round === 1) { console.error('the flux is undone'); process.exit(3) }`,
    commands: ['node ok.js'],
  },
  'unknown-always': {
    driver: 'command',
    program: `put('note.md', 'n'); console.error('the flux is undone'); process.exit(3)`,
    commands: ['node ok.js'],
  },
  // It writes half of its work, says that it failed, and leaves out its final event.
  'fails-always': {
    driver: 'claude',
    program: `print({ type: 'system', subtype: 'init', cwd: process.cwd(), model: 'm', session_id: 's' }); put('note.md', 'n'); console.error('something odd happened'); process.exitCode = round === 1 ? 1 : 255`,
    commands: ['node ok.js'],
  },
}

let scene: Scene
const goals = new Map<string, string>()
beforeAll(async () => {
  const agents = Object.fromEntries(
    Object.entries(cases).map(([name, { driver, program }]) => [name, { driver, program: prompts(name) + program }]),
  )
  scene = await openScene(
    agents,
    { maxParallel: 4, retry: { transientBaseSeconds: 1, transientMaxSeconds: 1 } },
    { files },
  )
  for (const [name, { commands = checks, allowedPaths = ['**'] }] of Object.entries(cases))
    goals.set(name, await scene.goal([{ harness: name, commands, allowedPaths }]))
})
afterAll(async () => scene.clear())

const goalOf = (name: string): string => goals.get(name) as string
const ended = async (name: string): Promise<string> =>
  (await scene.until(goalOf(name), 'ready', 'awaiting_human', 'paused')).state
const promptsOf = (name: string): string[] =>
  readdirSync(join(scene.top, 'prompts'))
    .filter((file) => file.startsWith(`${name}-`))
    .toSorted((one, other) => Number(one.split('-').at(-1)) - Number(other.split('-').at(-1)))
    .map((file) => readFileSync(join(scene.top, 'prompts', file), 'utf8'))
const questionsOf = async (name: string) => (await scene.questions()).filter(({ goalId }) => goalId === goalOf(name))
const tried = async (name: string) =>
  (await scene.recoveries(goalOf(name))).map(({ playbook, status }) => [playbook, status])

describe('a check that fails by the work', () => {
  test.each(['listens', 'resumes'])('goes back to the agent, which mends it (%s)', async (name) => {
    expect(await ended(name)).toBe('ready')
    expect(await questionsOf(name)).toEqual([])
    expect(await tried(name)).toEqual([['check-feedback', 'success']])
    const [, second = ''] = promptsOf(name)
    expect(second).toContain('node --test sum.test.js (exit status 1)')
    expect(second).toContain('- adds two numbers')
    expect(second).toMatch(/'wrong'/)
    expect(second).toContain('Passed: node ok.js')
    expect(second).not.toContain('node:internal')
    const [run] = await scene.runs(goalOf(name))
    expect(run?.launches.map(({ resumeSession }) => resumeSession)).toEqual([
      null,
      name === 'resumes' ? 'session-1' : null,
    ])
  })

  test('is told again in the next run where the provider refused the launch that was to hear it', async () => {
    expect(await ended('refused-feedback')).toBe('ready')
    const [, second = '', third = '', ...more] = promptsOf('refused-feedback')
    expect([second, third].map((prompt) => prompt.includes('- adds two numbers'))).toEqual([true, true])
    expect(more).toEqual([])
    expect(third).not.toContain('take another approach')
  })

  test('where the agent wrote what is missing, but git ignores it, it is told so', async () => {
    expect(await ended('ignored')).toBe('ready')
    expect(await tried('ignored')).toEqual([['check-feedback', 'success']])
    expect(promptsOf('ignored')[1]).toContain('You wrote hidden')
    expect(scene.show('seen/made.js', goalOf('ignored'))).toContain('right')
  })

  test('the same failure twice is told to a new session, and then to a person', async () => {
    expect(await ended('deaf')).toBe('awaiting_human')
    expect(await tried('deaf')).toEqual([
      ['check-feedback', 'failed'],
      ['fresh-feedback', 'failed'],
    ])
    expect(await questionsOf('deaf')).toHaveLength(1)
    expect(new Set(promptsOf('deaf')).size).toBe(3)
  })

  test('fewer failures are progress, however many rounds it takes', async () => {
    expect(await ended('slow')).toBe('ready')
    expect(await tried('slow')).toEqual(Array.from({ length: 5 }, () => ['check-feedback', 'success']))
    expect(await questionsOf('slow')).toEqual([])
  })
})

test('a file outside of the task goes back to the agent, which takes it back', async () => {
  expect(await ended('strays')).toBe('ready')
  expect(await tried('strays')).toEqual([['policy-feedback', 'success']])
})

describe('a failing test that the work took away', () => {
  test('goes back to the agent, which mends the code instead', async () => {
    expect(await ended('restores')).toBe('ready')
    expect(await tried('restores')).toEqual([['weakened-feedback', 'success']])
    expect(scene.show('red.js', goalOf('restores'))).toContain('right')
  })

  test('is a question where it stays away, and nothing lands', async () => {
    expect(await ended('deletes')).toBe('awaiting_human')
    expect(await tried('deletes')).toEqual([['weakened-feedback', 'failed']])
    expect(await questionsOf('deletes')).toHaveLength(1)
    expect(scene.show('suite/red.test.js', goalOf('deletes'))).toContain('red before')
  })

  test('a test that the work would fail and that it deletes is no work either', async () => {
    expect(await ended('hides')).toBe('awaiting_human')
    expect(await tried('hides')).toEqual([['weakened-feedback', 'failed']])
    const [question] = await questionsOf('hides')
    expect(question?.details).toContain('letter a')
    expect(question?.details).toContain('group/letter.test.js')
  })

  test('one that passes with the work is told once, and then a person is asked', async () => {
    expect(await ended('tidies')).toBe('awaiting_human')
    expect(await tried('tidies')).toEqual([['weakened-feedback', 'failed']])
    const [question] = await questionsOf('tidies')
    expect(question?.choices.map(({ kind }) => kind)).toEqual(['approve', 'reject', 'hint', 'cancel'])
    expect(question?.details).toContain('file deleted')
  })
})

describe('an error that no rule knows', () => {
  test('costs one restart where it comes once', async () => {
    expect(await ended('unknown-once')).toBe('ready')
    expect(await tried('unknown-once')).toEqual([['unknown-restart', 'success']])
    expect(promptsOf('unknown-once')[1]).toContain('the flux is undone')
  })

  test('is restarted, queued again after a pause, and then a question', async () => {
    expect(await ended('unknown-always')).toBe('awaiting_human')
    expect(await tried('unknown-always')).toEqual([
      ['unknown-restart', 'failed'],
      ['unknown-requeue', 'failed'],
      // It passes its checks, and a person decides.
      ['last-check', 'success'],
    ])
    expect(await questionsOf('unknown-always')).toHaveLength(1)
    expect(new Set(promptsOf('unknown-always')).size).toBe(3)
  })

  test('is a question, too, where half of the work is there and passes the checks', async () => {
    expect(await ended('fails-always')).toBe('awaiting_human')
    expect(await questionsOf('fails-always')).toHaveLength(1)
  })
})

test('a retry is told how the attempt before it ended, and begins on its work', async () => {
  await ended('deaf')
  const [task] = [await scene.task(goalOf('deaf'))]
  await scene.post(`/tasks/${task?.id}/retry`)
  await scene.waitFor('the next attempt', async () => (promptsOf('deaf').length > 3 ? true : undefined))
  const next = promptsOf('deaf')[3] ?? ''
  expect(next).toContain('The attempt before this one')
  expect(next).toContain('node --test sum.test.js')
  expect(next).toContain('Recoveries in it that did not finish the task: sent the failure back to the agent')
  expect(next).toContain('sum.js')
  expect(await ended('deaf')).toBe('awaiting_human')
})
