/** What a run needs before its launch: mended where that is safe, else one question or blocker, until a person goes on. */
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { playbooks } from '../../src/recovery/ladder.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const steady: FaultAgent = { driver: 'claude', program: `begin(); put('made.txt', 'made'); end()` }

/** Stands for an installed CLI. */
const codex: FaultAgent = {
  driver: 'codex',
  program: `
    if (args[0] === '--version') console.log('codex-cli 0.900.0')
    if (args[0] === 'exec') {
      print({ type: 'thread.started', thread_id: 'thread-1' })
      put('made.txt', 'made')
      print({ type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1, cached_input_tokens: 0 } })
    }`,
}

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8)

describe('before the launch', () => {
  const home = mkdtempSync(join(tmpdir(), 'unstuck-home-'))
  const bin = join(home, 'bin')
  let scene: Scene
  let claimed: (() => void) | undefined
  beforeAll(async () => {
    mkdirSync(bin)
    const environment = { PATH: [bin, process.env.PATH ?? ''].join(delimiter), HOME: home }
    const at = (point: string): void => (point === 'claimed' ? claimed?.() : undefined)
    scene = await openScene({ steady, installed: codex }, {}, { environment, at })
    const program = `#!/bin/sh\nexec '${process.execPath}' '${join(scene.top, 'installed.mjs')}' "$@"\n`
    writeFileSync(join(bin, 'codex'), program, { mode: 0o755 })
  })
  afterAll(async () => {
    await scene.clear()
    rmSync(home, { recursive: true, force: true })
  })

  test('a repository without the write bit of its owner is mended, and the old mode is recorded', async () => {
    chmodSync(scene.root, 0o550)
    const goal = await scene.goal([{}])
    await scene.until(goal, 'ready', 'paused', 'awaiting_human')
    expect(await scene.task(goal)).toMatchObject({ status: 'done' })
    expect(modeOf(scene.root)).toBe('750')
    const events = await scene.events(goal, 'recovery')
    expect(events.map(({ payload }) => payload)).toMatchObject([
      {
        id: expect.stringMatching(/^rec_\w+$/),
        worker: 'steady',
        issue_detected: `${scene.root} cannot be read, written and entered by this user`,
        action_taken: 'CHMOD',
        status: 'success',
        retry_count: 1,
        ...{ directory: scene.root, old_mode: '0550', new_mode: '0750' },
      },
    ])
  })

  test('a repository that is gone is named by one blocker and not made', async () => {
    const elsewhere = join(scene.top, 'elsewhere')
    claimed = () => {
      claimed = undefined
      renameSync(scene.root, elsewhere)
    }
    const goal = await scene.goal([{}])
    await scene.until(goal, 'paused', 'awaiting_human')
    const [blocker, ...more] = await scene.events(goal, 'blocker')
    expect([blocker?.payload['text'], more]).toEqual([
      `Critical directory missing: ${scene.root}. Manual intervention required.`,
      [],
    ])
    renameSync(elsewhere, scene.root)
    await scene.post('/resume', { goal })
    await scene.until(goal, 'ready')
  })

  test('a CLI without credentials is one question, and is not started', async () => {
    const goal = await scene.goal([{ harness: 'codex' }])
    await scene.until(goal, 'ready', 'paused', 'awaiting_human')
    const task = await scene.task(goal)
    expect(task).toMatchObject({ status: 'blocked(awaiting_human)' })
    expect(await scene.questions()).toMatchObject([
      {
        question: expect.stringMatching(
          /harness "codex" cannot log in.*neither CODEX_API_KEY is set, nor is there .*auth\.json/,
        ),
        details: expect.stringContaining('codex login'),
      },
    ])
    expect((await scene.runs(goal)).map(({ launches }) => launches)).toEqual([[]])

    mkdirSync(join(home, '.codex'))
    writeFileSync(join(home, '.codex', 'auth.json'), '{}')
    await scene.post(`/tasks/${task.id}/retry`)
    await scene.until(goal, 'ready')
    const launched = await scene.events(goal, 'run.launched')
    expect(launched.map(({ payload }) => payload)).toEqual([
      { launch: 1, driver: 'codex', version: '0.900.0', measured: '0.169.0', exact: false, resumed: false },
    ])
  })
})

test('a chmod that does not help pauses the goal with the words of the founding document, and a resume goes on', async () => {
  // Root can mend everything: the change is replaced by one without effect.
  const vain = playbooks.map((playbook) =>
    playbook.id === 'owner-bits'
      ? {
          ...playbook,
          plan: (...given: Parameters<typeof playbook.plan>) => {
            const action = playbook.plan(...given)
            return action?.type === 'chmod' ? { ...action, newMode: action.oldMode } : action
          },
        }
      : playbook,
  )
  const scene = await openScene({ steady }, {}, { playbooks: vain })
  try {
    chmodSync(scene.root, 0o550)
    const goal = await scene.goal([{}])
    await scene.until(goal, 'ready', 'paused', 'awaiting_human')
    expect(await scene.task(goal)).toMatchObject({ status: 'blocked(awaiting_human)' })
    expect(await scene.recoveries(goal)).toMatchObject([{ playbook: 'owner-bits', status: 'failed' }])
    const [blocker, ...more] = await scene.events(goal, 'blocker')
    expect(more).toEqual([])
    expect(blocker?.payload).toEqual({
      text: `Persistent permission error for Claude on ${scene.root}. Manual intervention required.`,
      details: expect.stringMatching(/^Chmod failed\. Please check directory ownership\.\n/),
    })
    expect(await scene.events(goal, 'task.recovery_escalated')).toHaveLength(1)
    expect(await scene.questions()).toMatchObject([
      { kind: 'blocker', choices: [{ kind: 'resume' }, { kind: 'cancel' }] },
    ])

    chmodSync(scene.root, 0o750)
    await scene.post('/resume', { goal })
    await scene.until(goal, 'ready')
    expect(await scene.questions()).toEqual([])
  } finally {
    await scene.clear()
  }
})

test('a refusal that names no path is cured by the allowed directories, one after the other', async () => {
  const rejected =
    '2026-11-21T20:45:37.270737Z ERROR codex_core::tools::router: error=patch rejected: writing outside of the project; rejected by user approval settings'
  const codex: FaultAgent = {
    driver: 'codex',
    program: `
    print({ type: 'thread.started', thread_id: 'thread-1' })
    print({ type: 'turn.started' })
    if (after('--add-dir').includes('TOP/outside')) put('made.txt', 'made')
    else console.error(${JSON.stringify(rejected)})
    print({ type: 'turn.completed', usage: { input_tokens: 10, output_tokens: 1, cached_input_tokens: 0 } })`,
  }
  const scene = await openScene({ codex }, { allowedDirs: ['TOP/other', 'TOP/outside'] })
  try {
    mkdirSync(join(scene.top, 'other'))
    const goal = await scene.goal([{}])
    await scene.until(goal, 'ready', 'paused')
    expect(await scene.task(goal)).toMatchObject({ status: 'done' })
    const events = await scene.events(goal, 'recovery')
    expect(events.map(({ payload }) => [payload['action_taken'], payload['status']])).toEqual([
      ['RELAUNCH_WITH_ADD_DIR', 'failed'],
      ['RELAUNCH_WITH_ADD_DIR', 'success'],
    ])
  } finally {
    await scene.clear()
  }
})
