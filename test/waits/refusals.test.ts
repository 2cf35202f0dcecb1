/** What an agent was refused: corrected where the owner allowed it, whatever else the turn did; told of where not. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPaint, goalLines } from '../../src/cli/render.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

/** Makes what its check asks for, and is refused one more file unless it was given that folder. */
const half = (path: string): FaultAgent => ({
  driver: 'claude',
  program: `
    begin()
    put('made.txt', 'made')
    if (after('--add-dir').some((dir) => '${path}'.startsWith(dir + '/'))) put('${path}', 'here')
    else denied('${path}')
    end()`,
})

const codexTurn = (inner: string): string => `
  print({ type: 'thread.started', thread_id: 'thread-1' })
  print({ type: 'turn.started' })
  ${inner}
  print({ type: 'turn.completed', usage: { input_tokens: 10, output_tokens: 1, cached_input_tokens: 0 } })`

const readOnly =
  '2026-11-21T20:45:37.270737Z ERROR codex_core::tools::router: error=patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings'

const trust = 'Not inside a trusted directory and --skip-git-repo-check was not specified.'

const agents: Record<string, FaultAgent> = {
  half: half('TOP/outside/more.txt'),
  halfElsewhere: half('TOP/elsewhere/more.txt'),
  // Needs two folders, and asks for the second when it has the first.
  greedy: {
    driver: 'claude',
    program: `
      begin()
      const missing = ['TOP/outside', 'TOP/elsewhere'].find((dir) => !after('--add-dir').includes(dir))
      if (missing === undefined) put('made.txt', after('--resume').join(' '))
      else denied(missing + '/part.txt')
      end()`,
  },
  // Told so, it never tries again; another failure comes between.
  obedient: {
    driver: 'claude',
    program: `
      begin()
      put('made.txt', 'made')
      if (args.some((text) => text.includes('It is granted now'))) put('TOP/outside/obeyed.txt', 'here')
      else if (count('TOP/outside/tries') === 1) {
        denied('TOP/outside/obeyed.txt')
        end({ is_error: true, result: 'No conversation found with session ID: x' })
        process.exit(1)
      }
      end()`,
  },
  second: {
    driver: 'claude',
    program: `
      begin()
      if (!after('--add-dir').includes('TOP/later')) denied('TOP/later/x.txt')
      else put('made.txt', 'made')
      end()`,
  },
  locked: {
    driver: 'claude',
    program: `
      begin()
      if (!existsSync('locked')) { mkdirSync('locked'); chmodSync('locked', 0o500) }
      put('made.txt', 'made')
      if ((statSync('locked').mode & 0o200) === 0) refused(process.cwd() + '/locked/more.txt')
      else put('locked/more.txt', 'here')
      end()`,
  },
  readOnly: { driver: 'codex', program: codexTurn(`console.error(${JSON.stringify(readOnly)})`) },
  trusted: {
    driver: 'codex',
    program: `
      print({ type: 'thread.started', thread_id: 'thread-1' })
      console.error(${JSON.stringify(trust)})
      process.exitCode = 1`,
  },
  blocked: {
    driver: 'claude',
    program: `
      begin()
      if (after('--add-dir').includes('TOP/outside')) { put('made.txt', 'made'); end() }
      else { end({ is_error: true, result: 'Access blocked: TOP/outside/x.txt is not allowed' }); process.exitCode = 1 }`,
  },
  suspended: {
    driver: 'gemini',
    program: `
      const body = { error: { code: 403, message: "Permission denied: Consumer 'projects/7' has been suspended.", status: 'PERMISSION_DENIED' } }
      print({ type: 'init', session_id: 's1', model: 'm' })
      print({ type: 'result', status: 'error', error: { type: 'unknown', message: '[API Error: ' + JSON.stringify(body) + ']' } })
      process.exitCode = 147`,
  },
  fenced: {
    driver: 'gemini',
    program: `
      print({ type: 'init', session_id: 's1', model: 'm' })
      if (after('--include-directories').includes('TOP/outside')) { put('made.txt', 'made'); print({ type: 'result', status: 'success' }) }
      else { console.error('Error: Path must be within one of the workspace directories: ' + process.cwd() + '. Asked for "TOP/outside/x.txt"'); process.exitCode = 1 }`,
  },
  bitless: {
    driver: 'gemini',
    program: `
      print({ type: 'init', session_id: 's1', model: 'm' })
      if (!existsSync('TOP/outside/once')) { put('TOP/outside/once', ''); mkdirSync('locked'); chmodSync('locked', 0o500) }
      if ((statSync('locked').mode & 0o200) === 0) { console.error('Permission denied writing to file: ' + process.cwd() + '/locked/x (EACCES)'); process.exitCode = 1 }
      else { put('made.txt', 'made'); print({ type: 'result', status: 'success' }) }`,
  },
}

const bodyOf = (scene: Scene, goal: string): string =>
  execFileSync('git', ['log', '-1', '--format=%B', `unstuck/goal/${goal}`], { cwd: scene.root, encoding: 'utf8' })

const taken = async (scene: Scene, goal: string) =>
  (await scene.events(goal, 'recovery')).map(({ payload }) => [
    payload['issue_detected'],
    payload['action_taken'],
    payload['status'],
  ])

describe('a refusal', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene(agents, { allowedDirs: ['TOP/outside'] })
    mkdirSync(join(scene.top, 'elsewhere'))
  })
  afterAll(() => scene.clear())

  const play = async (harness: string) => {
    rmSync(join(scene.top, 'outside', 'made.txt'), { force: true })
    const goal = await scene.goal([{ harness }])
    const { state } = await scene.until(goal, 'ready', 'paused', 'awaiting_human')
    return { goal, state, taken: await taken(scene, goal) }
  }

  test('inside the allowed directories is corrected although the turn changed something else and the checks pass', async () => {
    const more = join(scene.top, 'outside', 'more.txt')
    const { state, taken } = await play('half')
    expect([state, existsSync(more)]).toEqual(['ready', true])
    expect(taken).toEqual([
      [
        `Claude requested permissions to write to ${more}, but you haven't granted it yet.`,
        'RELAUNCH_WITH_ADD_DIR',
        'success',
      ],
    ])
  })

  test('is told in the frame of the founding document, in a list and in the stream alike', async () => {
    const { goal } = await play('blocked')
    const [event, ...more] = await scene.events(goal, 'recovery')
    const id = expect.stringMatching(/^rec_\w+$/)
    expect([event, more]).toMatchObject([
      {
        ...{
          type: 'recovery',
          id,
          timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          seq: expect.any(Number),
        },
        payload: {
          worker: 'blocked',
          issue_detected: 'Access blocked',
          action_taken: 'RELAUNCH_WITH_ADD_DIR',
          status: 'success',
          retry_count: 1,
        },
      },
      [],
    ])
    const [recovery] = await scene.recoveries(goal)
    expect(event?.id).toBe(recovery?.id)
  })

  test('that follows another leaves what was granted before granted, in the same session', async () => {
    const goal = await scene.goal([{ harness: 'greedy' }], { allowedDirs: [join(scene.top, 'elsewhere')] })
    await scene.until(goal, 'ready')
    expect(scene.show('made.txt', goal)).toBe('session-1')
    expect((await taken(scene, goal)).map(([, action, status]) => [action, status])).toEqual([
      ['RELAUNCH_WITH_ADD_DIR', 'success'],
      ['RELAUNCH_WITH_ADD_DIR', 'success'],
    ])
  })

  test('elsewhere is noted in the verdict, the commit and the last lines, where the checks pass', async () => {
    const { goal, state, taken } = await play('halfElsewhere')
    expect([state, taken]).toEqual(['ready', []])
    const sentence = `Claude requested permissions to write to ${scene.top}/elsewhere/more.txt, but you haven't granted it yet.`
    const [run] = await scene.runs(goal)
    expect(run?.verdict?.notes).toEqual([sentence])
    expect(bodyOf(scene, goal)).toContain(`Noted:\n- ${sentence}`)
    const lines = goalLines(createPaint(false), await scene.until(goal, 'ready'), new Date().toISOString())
    expect(lines.join('\n')).toContain(`note: ${sentence}`)
  })

  test('is corrected also when another failure came between and the agent never tried again', async () => {
    const { state, taken } = await play('obedient')
    expect([state, existsSync(join(scene.top, 'outside', 'obeyed.txt'))]).toEqual(['ready', true])
    expect(taken.map(([, action, status]) => [action, status])).toEqual([
      ['RESTART_WITH_HINT', 'success'],
      ['RELAUNCH_WITH_ADD_DIR', 'success'],
    ])
  })

  test('that the owner allows meanwhile is granted to the next attempt from its start, not only to a relaunch', async () => {
    mkdirSync(join(scene.top, 'later'))
    const { goal, state } = await play('second')
    expect(state).toBe('paused')
    const config = join(scene.root, '.unstuck', 'config.json')
    const before = readFileSync(config, 'utf8')
    writeFileSync(config, before.replace('"allowedDirs":[', `"allowedDirs":["${scene.top}/later",`))
    await scene.post('/resume', { goal })
    await scene.until(goal, 'ready')
    writeFileSync(config, before)
    expect(await taken(scene, goal)).toEqual([])
    const runs = await scene.runs(goal)
    expect(runs.map(({ launches }) => launches.map(({ corrections }) => corrections.addDirs))).toEqual([
      [[]],
      [[join(scene.top, 'later')]],
    ])
  })

  test('is answered with no folder that is everything: a goal cannot name one', async () => {
    await expect(scene.goal([{}], { allowedDirs: ['/'] })).rejects.toThrow(
      'allowedDirs: / is the whole file system: too wide to be given to an agent; name a folder inside it',
    )
  })

  test('of the system inside the workspace is corrected as well', async () => {
    const { goal, state, taken } = await play('locked')
    expect([state, scene.show('locked/more.txt', goal)]).toEqual(['ready', 'here'])
    expect(taken).toEqual([
      [
        expect.stringMatching(/^EACCES: permission denied, open '.*\/locked\/more\.txt'$/),
        'RELAUNCH_WITH_CHMOD',
        'success',
      ],
    ])
  })

  test('of a tool is never answered with a directory, and none is named', async () => {
    const { goal, state, taken } = await play('readOnly')
    expect([state, taken]).toEqual(['paused', []])
    const [blocker] = await scene.events(goal, 'blocker')
    expect(blocker?.payload['text']).toBe(
      `Persistent permission error for Codex on ${scene.root}. Manual intervention required.`,
    )
    expect(blocker?.payload['details']).toContain('A tool or a command was refused, so no directory would help')
    expect(JSON.stringify(blocker?.payload)).not.toContain('outside')
  })

  test('with which Claude ends is answered with the directory that it names', async () => {
    const { state, taken } = await play('blocked')
    expect([state, taken]).toEqual(['ready', [['Access blocked', 'RELAUNCH_WITH_ADD_DIR', 'success']]])
  })

  test('with which Gemini ends is answered with the directory that it names', async () => {
    const { state, taken } = await play('fenced')
    expect([state, taken]).toEqual([
      'ready',
      [['Path must be within one of the workspace directories', 'RELAUNCH_WITH_ADD_DIR', 'success']],
    ])
  })

  test('of the system with which Gemini ends is answered with the missing bits of the folder that it names', async () => {
    const { state, taken } = await play('bitless')
    expect([state, taken]).toEqual(['ready', [['Permission denied', 'RELAUNCH_WITH_CHMOD', 'success']]])
  })

  test('by the provider is the account’s error, and nothing is launched again', async () => {
    const { goal, taken } = await play('suspended')
    expect(taken).toEqual([])
    expect((await scene.runs(goal)).map(({ launches }) => launches.length)).toEqual([1])
    expect(await scene.questions()).toContainEqual(
      expect.objectContaining({ question: expect.stringContaining('harness "suspended" cannot log in') }),
    )
  })

  test('to begin is one only before a session opens', async () => {
    const { goal } = await play('trusted')
    expect(await scene.recoveries(goal)).not.toContainEqual(expect.objectContaining({ playbook: 'git-trust-relaunch' }))
  })
})
