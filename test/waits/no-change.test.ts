/** Turns that end well and change nothing: done only where checks that were asked for show that nothing had to be done. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPaint, goalLines } from '../../src/cli/render.ts'
import { sentenceOf } from '../../src/runtime/people/event-sentences.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const claude = (program: string): FaultAgent => ({ driver: 'claude', program })

const note = (name: string): string => `
  const start = count('TOP/${name}.starts'); put('TOP/${name}.args.' + start, JSON.stringify(args))
  const nudged = args.some((text) => text.includes('You ended your turn'));`

const agents: Record<string, FaultAgent> = {
  satisfied: claude(`${note('satisfied')} begin(); end({ result: 'It is like that already.' })`),
  second: claude(`begin(); put('made.txt', 'made'); end()`),
  talkative: claude(
    `${note('talkative')} begin(); if (nudged) put('made.txt', 'made'); end({ result: 'Here is my plan.' })`,
  ),
  lazy: claude(`${note('lazy')} begin(); end()`),
  // Exit 0 and no work: the fault agent without a protocol.
  'exit-0': { driver: 'command', program: note('exit-0') },
  asking: claude(`${note('asking')}
    begin()
    if (JSON.stringify(args).includes('Port 8080')) put('made.txt', '8080')
    end({ result: 'The task names no port.\\n\\nWhich one should it be, 80 or 8080?' })`),
  unproven: claude(`${note('unproven')} begin(); end()`),
  unable: claude(`${note('unable')} begin(); end({ result: 'I was unable to edit it: permission denied by policy.' })`),
  claiming: claude(`${note('claiming')} begin(); end({ result: 'I have implemented the change and all tests pass.' })`),
  limited: claude(
    `${note('limited')} begin(); if (count('TOP/limited') > 1) { put('made.txt', 'made'); end() } else end({ result: "You've hit your usage limit. Try again in 1 second." })`,
  ),
  missing: claude(`${note('missing')} begin(); end()`),
  writer: claude(`${note('writer')} begin(); put('docs/guide.md', 'How.'); end()`),
  looping: {
    driver: 'gemini',
    program: `${note('looping')}
      print({ type: 'init', session_id: 'session-1', model: 'm' })
      if (hinted) put('made.txt', 'made')
      else {
        for (const id of ['a', 'b', 'c', 'd']) {
          print({ type: 'tool_use', tool_name: 'run_shell_command', tool_id: id, parameters: { command: 'ls' } })
          print({ type: 'tool_result', tool_id: id, status: 'success', output: 'README.md' })
        }
        print({ type: 'error', severity: 'warning', message: 'Loop detected, stopping execution' })
      }
      print({ type: 'message', role: 'assistant', content: 'ok' })
      print({ type: 'result', status: 'success', stats: {} })`,
  },
}

const files = {
  'package.json': '{"scripts":{"test":"node pass.js"}}',
  'pass.js': '',
  'empty.js': "console.log('collected 0 items')",
}

let scene: Scene
const goals = new Map<string, string>()
const goalOf = (name: string): string => goals.get(name) as string

beforeAll(async () => {
  scene = await openScene(agents, { maxParallel: 3 }, { files })
  const asks: [string, string[]][] = [
    ['talkative', ['node check.js']],
    ['lazy', ['node check.js']],
    ['exit-0', []],
    ['unproven', ['node empty.js']],
    ['looping', ['node check.js']],
    ['missing', ['npm run none']],
    ['writer', ['npm run none']],
    // They pass as they are, so without its question the task would count as done.
    ['asking', ['node pass.js']],
    // So without its words.
    ['unable', ['node pass.js']],
    ['claiming', ['node pass.js']],
    ['limited', ['node pass.js']],
  ]
  const both = [
    { harness: 'satisfied', commands: ['node pass.js'] },
    { harness: 'second', after: ['1'] },
  ]
  goals.set('satisfied', await scene.goal(both))
  goals.set('alone', await scene.goal([{ harness: 'satisfied', commands: ['node pass.js'] }]))
  for (const [name, commands] of asks) goals.set(name, await scene.goal([{ harness: name, commands }]))
})
afterAll(async () => scene.clear())

const ended = (name: string) => scene.until(goalOf(name), 'ready', 'done', 'awaiting_human', 'paused')
const startsOf = (name: string): number => Number(readFileSync(join(scene.top, `${name}.starts`), 'utf8'))
const argsOf = (name: string, start: number): string[] =>
  JSON.parse(readFileSync(join(scene.top, `${name}.args.${start}`), 'utf8')) as string[]

describe('nothing had to be done, as the checks show', () => {
  test('asked once more, the task is done by its verdict, without a commit, and what waited for it goes on', async () => {
    await ended('satisfied')
    const goal = goalOf('satisfied')
    const [first, second] = await scene.runs(goal)
    expect(first).toMatchObject({
      state: 'success',
      commit: null,
      launches: [{ number: 1 }, { number: 2 }],
      verdict: {
        outcome: 'verified',
        noChange: true,
        changedPaths: [],
        checks: [{ command: 'node pass.js', exitCode: 0 }],
        notes: [expect.stringContaining('changed nothing')],
      },
    })
    expect(second).toMatchObject({ state: 'success', baseCommit: first?.baseCommit })
    expect((await scene.task(goal)).place).toBe('done')
    expect(scene.show('made.txt', goal)).toBe('made')
    expect(await scene.recoveries(goal)).toMatchObject([{ playbook: 'no-change-restart', status: 'failed' }])
    expect(await scene.questions()).not.toContainEqual(expect.objectContaining({ goalId: goal }))
  })

  test('a goal of which nothing is left to land ends', async () => {
    await scene.until(goalOf('alone'), 'done')
    const log = execFileSync('git', ['rev-list', '--count', 'main'], { cwd: scene.root, encoding: 'utf8' })
    expect(log.trim()).toBe('1')
    expect((await scene.questions()).filter(({ goalId }) => goalId === goalOf('alone'))).toEqual([])
  })
})

describe('nothing can be checked: it ends without a question, and nothing says "verified"', () => {
  const reason = expect.stringMatching(/^cannot run here: package\.json has no script "none"/) as string
  const questionsOf = async (name: string) => (await scene.questions()).filter(({ goalId }) => goalId === goalOf(name))

  test('no change and a missing script: asked once more, then over', async () => {
    await ended('missing')
    const [run, ...more] = await scene.runs(goalOf('missing'))
    expect(more).toEqual([])
    expect(startsOf('missing')).toBe(2)
    expect(run).toMatchObject({
      ...{ state: 'success', commit: null },
      verdict: {
        outcome: 'nothing to verify',
        noChange: true,
        checks: [],
        dropped: [{ command: 'npm run none', reason }],
      },
    })
    expect(await questionsOf('missing')).toEqual([])
    const story = goalLines(createPaint(false), await scene.get(`/goals/${goalOf('missing')}`), '').join(' ')
    expect(story).toContain('nothing to verify: no check ran')
  })

  test('documentation alone and a missing script: landed as it is', async () => {
    await ended('writer')
    const goal = goalOf('writer')
    expect((await scene.task(goal)).place).toBe('done')
    const [run, ...more] = await scene.runs(goal)
    expect([more.length, run?.launches.length]).toEqual([0, 1])
    expect(run?.verdict).toMatchObject({ outcome: 'nothing to verify', checks: [], dropped: [{ reason }] })
    expect(await questionsOf('writer')).toEqual([])
    expect(await scene.recoveries(goal)).toMatchObject([{ playbook: 'missing-script-drop', status: 'success' }])
    const log = execFileSync('git', ['log', '-1', '--format=%B', `unstuck/goal/${goal}`], {
      cwd: scene.root,
      encoding: 'utf8',
    })
    expect(log).toContain('Nothing to verify: no check ran.')
    expect(log).not.toMatch(/verified/i)
    const [event] = await scene.events(goal, 'task.awaiting_judge')
    expect(event === undefined ? '' : sentenceOf(event)).toContain('nothing to verify')
  })
})

describe('is not done', () => {
  test('by a plan: asked once more in its session, the agent does the work', async () => {
    await ended('talkative')
    const goal = goalOf('talkative')
    expect(scene.show('made.txt', goal)).toBe('made')
    expect(startsOf('talkative')).toBe(2)
    const args = argsOf('talkative', 2)
    expect(args).toContain('--resume')
    expect(args.join(' ')).toContain('node check.js does not pass')
    expect(await scene.recoveries(goal)).toMatchObject([
      { playbook: 'no-change-restart', label: 'no_changes', rung: 3, status: 'success', attempt: 1 },
    ])
  })

  test.each([
    ['lazy', /node check\.js does not pass/],
    // What was inferred passes whatever the task is about.
    ['exit-0', /the task has no check of its own/],
    ['unproven', /node empty\.js does not pass/],
    ['unable', /I was unable to edit it/],
    ['claiming', /I have implemented the change.*no file differs/],
  ])('%s: asked once more, and then a person is', async (name, why) => {
    await ended(name)
    const goal = goalOf(name)
    expect(await scene.task(goal)).toMatchObject({ status: 'blocked(awaiting_human)' })
    expect(startsOf(name)).toBe(2)
    const [run, ...more] = await scene.runs(goal)
    expect(more).toEqual([])
    expect(run).toMatchObject({ state: 'failed', errorMeta: { failureCode: 'no_actionable_changes' } })
    expect(run?.errorMeta?.evidence).toMatch(why)
    expect(await scene.recoveries(goal)).toMatchObject([{ playbook: 'no-change-restart', status: 'failed' }])
    const questions = (await scene.questions()).filter(({ goalId }) => goalId === goal)
    expect(questions).toMatchObject([
      { kind: 'exhausted', choices: [{ kind: 'hint' }, { kind: 'take_over' }, { kind: 'cancel' }] },
    ])
  })

  test('by a refusal of the provider in place of an answer: it waits, and the agent is called again', async () => {
    await ended('limited')
    const goal = goalOf('limited')
    expect(scene.show('made.txt', goal)).toBe('made')
    expect(await scene.recoveries(goal)).toMatchObject([{ label: 'llm_quota', rung: 2 }])
  })

  test('by a question in its last words: a person reads it, and the answer reaches the next agent', async () => {
    await ended('asking')
    const goal = goalOf('asking')
    expect([startsOf('asking'), (await scene.task(goal)).status]).toEqual([1, 'blocked(awaiting_human)'])
    const [question] = (await scene.questions()).filter(({ goalId }) => goalId === goal)
    expect(question).toMatchObject({ kind: 'agent_question', choices: [{ kind: 'reply' }, { kind: 'cancel' }] })
    expect(question?.happened).toContain('The task names no port. Which one should it be, 80 or 8080?')
    await scene.post(`/escalations/${question?.id}/answer`, { choice: 'reply', input: 'Port 8080, please.' })
    await scene.until(goal, 'ready', 'done')
    expect([startsOf('asking'), scene.show('made.txt', goal)]).toEqual([2, '8080'])
    const told = argsOf('asking', 2).join(' ')
    expect(told).toContain('Which one should it be')
  })

  test('by a CLI that ended its own circles and calls that a success', async () => {
    await ended('looping')
    const goal = goalOf('looping')
    expect(scene.show('made.txt', goal)).toBe('made')
    expect(await scene.recoveries(goal)).toMatchObject([
      {
        playbook: 'doom-loop-restart',
        status: 'success',
        issueDetected: expect.stringContaining('4 of the last 4): run_shell_command: ls'),
      },
    ])
    expect(existsSync(join(scene.top, 'looping.args.3'))).toBe(false)
  })
})

test('finished work that does not fit a newer base is not dropped by a turn that changes nothing there', async () => {
  const program = `begin(); if (count('TOP/launches') === 1) put('shared.txt', 'agent'); end({ result: 'All done.' })`
  const other = await openScene(
    { agent: claude(program) },
    { playbooks: { disabled: ['conflict-auto-fix'] } },
    { files: { 'shared.txt': 'base' } },
  )
  try {
    const goal = await other.goal([{ commands: ['node -e 0'] }])
    await other.until(goal, 'ready', 'awaiting_human')
    expect(await other.task(goal)).toMatchObject({ status: 'done' })
    writeFileSync(join(other.root, 'shared.txt'), 'owner')
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-qam', 'Mine'], { cwd: other.root })
    await other.post(`/goals/${goal}/land`, {}).catch(() => undefined)
    await other.until(goal, 'awaiting_human', 'done')
    expect((await other.task(goal)).status).not.toBe('done')
    const [question] = await other.questions()
    expect(question?.happened).toContain('its finished work')
  } finally {
    await other.clear()
  }
})
