/** `unstuck exec` as a user has it. What its clocks do is in test/waits. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ExecEvent } from '../../src/exec/exec-events.ts'
import { isGone, openExecScene, shortClocks } from './exec-scene.ts'
import { isLongForm } from '../support/form.ts'

const { root, work, outside, memory, program, speaksLike, plays, start, exec, events, clear } = openExecScene()
afterAll(clear)

describe('an agent that is refused', () => {
  test('Codex outside of a repository is launched again without its check', async () => {
    speaksLike('codex', 'untrusting.ts', 'made.txt')
    const { code, of, result } = await events(['--', 'codex', 'exec', 'Make it.'])
    expect(code).toBe(0)
    expect(readFileSync(join(work, 'made.txt'), 'utf8')).toBe('made\n')
    expect(of('recovery')).toEqual([
      {
        type: 'recovery',
        id: expect.stringMatching(/^rec_\w+$/),
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        payload: {
          worker: 'codex',
          issue_detected: 'Not inside a trusted directory',
          action_taken: 'RELAUNCH_WITH_SKIP_GIT_CHECK',
          status: 'success',
          retry_count: 1,
        },
      },
    ])
    expect(result).toMatchObject({ outcome: 'done', exitCode: 0, text: 'Made it.', launches: 2 })
  })

  test('what was done and why is told in sentences', async () => {
    speaksLike('codex', 'untrusting.ts', 'made.txt')
    const { stderr } = await exec(['--', 'codex', 'exec', 'Make it.'])
    expect(stderr).toContain('("Not inside a trusted directory"). Starting it again with --skip-git-repo-check.')
    expect(stderr).toContain('recovered from: Not inside a trusted directory')
    expect(stderr).not.toMatch(/RELAUNCH|success/)
  })

  test('Claude gets an allowed directory and goes on in its session', async () => {
    speaksLike('claude', 'fenced.ts', join(outside, 'made.txt'))
    const { code, of, result } = await events(['--allow-dir', outside, '--', 'claude', '-p', 'Make it.'])
    expect(code).toBe(0)
    expect(readFileSync(join(outside, 'made.txt'), 'utf8')).toBe('made\n')
    expect(of('recovery')).toMatchObject([{ payload: { action_taken: 'RELAUNCH_WITH_ADD_DIR', status: 'success' } }])
    expect(of('launch')).toMatchObject([{ resumed: false }, { resumed: true }])
    expect(result.denials).toEqual([])
  })

  test('a directory that nobody allowed is not given; the status is 3, and the refusal is told', async () => {
    rmSync(join(outside, 'made.txt'), { force: true })
    speaksLike('claude', 'fenced.ts', join(outside, 'made.txt'))
    const { code, stdout, stderr } = await exec(['--', 'claude', '-p', 'Make it.'])
    expect(code).toBe(3)
    expect(existsSync(join(outside, 'made.txt'))).toBe(false)
    expect(stderr).toContain('no file was changed')
    expect(stdout).toBe('I could not write the file.\n')
    expect(stderr).toMatch(
      /not done: claude was refused \S*made\.txt\n.*why: Claude requested .*\n.*to allow it: add --add-dir \S+outside .*--allow-dir \S+outside/,
    )
  })

  test('Claude that ends with a blocked path is launched again with it, where it is allowed', async () => {
    const path = join(outside, 'x.txt')
    const say = (is_error: boolean, result: string) =>
      `echo '${JSON.stringify({ type: 'result', subtype: 'success', is_error, result })}'`
    program(
      'claude',
      `case "$*" in *"--add-dir ${outside}"*) ${say(false, 'Made it.')}; exit 0;; esac; ${say(true, `Access blocked: ${path} is not allowed`)}; exit 1`,
    )
    const given = await events(['--allow-dir', outside, '--', 'claude', '-p', 'Make it.'])
    expect([given.code, given.result.launches]).toEqual([0, 2])
    expect(given.of('recovery')).toMatchObject([
      { payload: { issue_detected: 'Access blocked', action_taken: 'RELAUNCH_WITH_ADD_DIR', status: 'success' } },
    ])
    const { code, of, result } = await events(['--', 'claude', '-p', 'Make it.'])
    expect([code, result.label, of('recovery')]).toEqual([1, 'SANDBOX_ERROR', []])
    expect(of('blocker')).toMatchObject([{ payload: { details: expect.stringContaining(`--allow-dir ${outside}`) } }])
  })

  test('Gemini that ends with a permission of the system goes on when the folder has its bits', async () => {
    program(
      'gemini',
      `[ -f ../locked-once ] || { chmod 500 locked; echo > ../locked-once; }
if [ "$(stat -c %a locked)" = 500 ]; then echo "Permission denied writing to file: $PWD/locked/x (EACCES)" >&2; exit 1; fi
echo '{"type":"result","status":"success"}'`,
    )
    mkdirSync(join(work, 'locked'), { recursive: true })
    const { code, of } = await events(['--allow-dir', join(work, 'locked'), '--', 'gemini', '-p', 'Make it.'])
    expect([code, statSync(join(work, 'locked')).mode & 0o777]).toEqual([0, 0o700])
    expect(of('recovery')).toMatchObject([
      { payload: { issue_detected: 'Permission denied', action_taken: 'RELAUNCH_WITH_CHMOD', status: 'success' } },
    ])
  })

  test('a tool that is refused gets no directory, allowed or not', async () => {
    program(
      'codex',
      `echo '{"type":"thread.started","thread_id":"t1"}'
echo '2026-11-21T20:45:37.270737Z ERROR codex_core::tools::router: error=patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings' >&2
echo '{"type":"turn.completed","usage":{}}'`,
    )
    const { code, of, result } = await events(['--allow-dir', outside, '--', 'codex', 'exec', 'x'])
    expect([code, result.outcome, result.launches, of('recovery')]).toEqual([3, 'refused', 1, []])
    expect(result.denials).toMatchObject([{ kind: 'tool', text: expect.stringMatching(/^patch rejected: /) }])
  })

  describe('and ends with 0', () => {
    const turn = (name: string, input: object, content: string) =>
      [
        { type: 'system', subtype: 'init', cwd: work, session_id: 's', model: 'm' },
        { type: 'assistant', message: { id: 'm', content: [{ type: 'tool_use', id: 'c1', name, input }] } },
        { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 'c1', is_error: true, content }] } },
        { type: 'result', subtype: 'success', is_error: false, result: 'Done.' },
      ].map((line) => JSON.stringify(line))
    const ask = (way: string, path: string) =>
      `Claude requested permissions to ${way} ${path}, but you haven't granted it yet.`
    const play = async (lines: string[], also: string) => {
      writeFileSync(join(root, 'turn'), `${lines.join('\n')}\n`)
      program('claude', `${also}\ncat ${join(root, 'turn')}`)
      const { code, result } = await events(['--', 'claude', '-p', 'Make it.'])
      return [code, result.outcome]
    }
    const [file, secret] = [join(root, 'far', 'x.txt'), join(root, 'far', 'secret.txt')]
    const write = turn('Write', { file_path: file }, ask('write to', file))
    const read = turn('Read', { file_path: secret }, ask('read from', secret))

    test('is not done while a refused write stands, whatever else changed', async () => {
      expect(await play(write, 'date +%N > other')).toEqual([3, 'refused'])
    })
    test('is done when the write was made in another way', async () => {
      expect(await play(write, `mkdir -p ${join(root, 'far')}; date > ${file}`)).toEqual([0, 'done'])
    })
    test('is done when only a look was refused and something changed', async () => {
      expect(await play(read, 'date +%N > other')).toEqual([0, 'done'])
    })
    test('is not done when a look was refused and nothing changed', async () => {
      expect(await play(read, ':')).toEqual([3, 'refused'])
    })
    test('notes that a tool keeps in the git directory are no work; a commit is', async () => {
      mkdirSync(join(work, '.git', 'refs'), { recursive: true })
      expect(await play(read, 'date +%N > .git/opencode')).toEqual([3, 'refused'])
      expect(await play(read, 'date +%N > .git/refs/x')).toEqual([0, 'done'])
      rmSync(join(work, '.git'), { recursive: true })
    })
    test('a file in an allowed directory is a change', async () => {
      writeFileSync(join(root, 'turn'), `${turn('Bash', {}, 'x').join('\n')}\n`)
      program('claude', `date +%N > ${join(outside, 'made.txt')}\ncat ${join(root, 'turn')}`)
      const { result } = await events(['--allow-dir', outside, '--', 'claude', '-p', 'Make it.'])
      expect([result.outcome, result.changed]).toEqual(['done', true])
      rmSync(join(outside, 'made.txt'))
    })
  })

  /** Prints what Claude prints; `refusal` is JavaScript that gives the refusal of a write, or undefined when it may. */
  const claudeThat = (refusal: string): void => {
    const file = join(root, 'refused.mjs')
    const lines = `
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
const args = process.argv.slice(2)
const print = (event) => console.log(JSON.stringify({ session_id: 'session-1', ...event }))
const path = process.cwd() + '/locked/made.txt'
print({ type: 'system', subtype: 'init', cwd: process.cwd(), model: 'm' })
const content = (() => { ${refusal} })()
if (content === undefined) writeFileSync(path, 'made\\n')
else {
  print({ type: 'assistant', message: { id: 'm', content: [{ type: 'tool_use', id: 'c1', name: 'Write', input: { file_path: path } }] } })
  print({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 'c1', is_error: true, content }] } })
}
print({ type: 'result', subtype: 'success', is_error: false, result: 'done' })
`
    writeFileSync(file, lines)
    rmSync(join(work, 'locked'), { recursive: true, force: true })
    mkdirSync(join(work, 'locked'))
    program('claude', `exec ${process.execPath} ${file} "$@"`)
  }

  test('by the operating system in an allowed folder goes on when that folder has its bits', async () => {
    claudeThat(`
      if (!existsSync('tried')) { writeFileSync('tried', ''); chmodSync('locked', 0o550) }
      if ((statSync('locked').mode & 0o200) === 0) return "EACCES: permission denied, open '" + path + "'"`)
    const { code, of, result } = await events(['--allow-dir', join(work, 'locked'), '--', 'claude', '-p', 'Make it.'])
    rmSync(join(work, 'tried'))
    expect([code, result.outcome, result.launches]).toEqual([0, 'done', 2])
    expect(of('recovery')).toMatchObject([{ payload: { action_taken: 'RELAUNCH_WITH_CHMOD', status: 'success' } }])
    expect(statSync(join(work, 'locked')).mode & 0o777).toBe(0o750)
  })

  test.runIf(isLongForm)('the mode of a folder below the working folder is left as it is', async () => {
    claudeThat(`
      chmodSync('locked', 0o550)
      return "EACCES: permission denied, open '" + path + "'"`)
    const { code, of } = await events(['--', 'claude', '-p', 'Make it.'])
    expect([code, of('recovery'), statSync(join(work, 'locked')).mode & 0o777]).toEqual([3, [], 0o550])
  })

  test.runIf(isLongForm)(
    'a turn that changed files is not started again for a refusal that --allow-dir does not cover',
    async () => {
      claudeThat(`
      writeFileSync('also', String(Math.random()))
      return 'Claude requested permissions to write to ' + path + ", but you haven't granted it yet."`)
      const { result, of } = await events(['--', 'claude', '-p', 'Make it.'])
      expect([result.outcome, result.launches, of('recovery')]).toEqual(['refused', 1, []])
    },
  )

  test.runIf(isLongForm)('an edit of its own folder goes on with a rule for that folder', async () => {
    claudeThat(`
      if (!args.includes('Edit(/' + process.cwd() + '/**)')) return 'Claude requested permissions to write to ' + path + ", but you haven't granted it yet."`)
    const { code, of, result } = await events(['--', 'claude', '-p', 'Make it.'])
    expect([code, result.outcome, result.launches]).toEqual([0, 'done', 2])
    expect(of('launch')[1]).toMatchObject({ argv: expect.arrayContaining(['--allowedTools', `Edit(/${work}/**)`]) })
    expect(of('recovery')).toMatchObject([{ payload: { action_taken: 'RELAUNCH_WITH_TOOL_RULE', status: 'success' } }])
  })

  test.runIf(isLongForm)('one that is refused whatever is changed ends with a blocker and its own status', async () => {
    program('codex', 'echo "Not inside a trusted directory and --skip-git-repo-check was not specified." >&2; exit 1')
    const { code, of, result } = await events(['--', 'codex', 'exec', 'x'])
    expect(code).toBe(1)
    expect(result).toMatchObject({ outcome: 'failed', launches: 2 })
    expect(of('recovery')).toMatchObject([{ payload: { status: 'failed' } }])
    expect(of('blocker')).toMatchObject([
      { payload: { text: `Persistent permission error for Codex on ${work}. Manual intervention required.` } },
    ])
  })
})

test('a correction that the command has already is no reason to launch it again', async () => {
  program('codex', 'echo "Not inside a trusted directory and --skip-git-repo-check was not specified." >&2; exit 1')
  const { code, of, result } = await events(['--', 'codex', 'exec', '--skip-git-repo-check', 'x'])
  expect([code, result.outcome, result.launches, of('recovery')]).toEqual([1, 'failed', 1, []])
  expect(of('blocker')).toHaveLength(1)
})

describe('a provider that does not answer', () => {
  const overloaded = (): void => {
    rmSync(memory, { force: true })
    speaksLike('claude', 'overloaded.ts', 'made.txt', memory)
  }

  test('is waited for', async () => {
    overloaded()
    const { code, of, result } = await events(['--', 'claude', '-p', 'x'])
    expect(code).toBe(0)
    expect(of('waiting')).toMatchObject([{ payload: { reason: 'provider_overloaded', seconds: 1 } }])
    expect(of('recovery')).toMatchObject([{ payload: { action_taken: 'WAIT_AND_REQUEUE', status: 'success' } }])
    expect(result).toMatchObject({ outcome: 'done', launches: 2 })
  })

  test('longer than was allowed: the command ends with 75', async () => {
    overloaded()
    const { code, of, result } = await events(['--max-wait', '1', '--', 'claude', '-p', 'x'], {
      FAILED_TASK_RETRY_COOLDOWN_MS: '5000',
    })
    expect(code).toBe(75)
    expect(result).toMatchObject({ outcome: 'waiting', exitCode: 75, launches: 1 })
    expect(of('waiting')).toEqual([])
  })
})

describe('an agent that does not get on', () => {
  test('what stays behind its final event is ended and has done its work', async () => {
    plays('lingering', 'once')
    const { code, of, result } = await events([...shortClocks, '--', 'claude', '-p', 'x'])
    expect([code, result, of('stalled')]).toMatchObject([0, { outcome: 'done', launches: 1, text: 'Made it.' }, []])
    expect(isGone(readFileSync(memory, 'utf8'))).toBe(true)
  })

  test.runIf(isLongForm)(
    'a command without a session or a place for a hint is ended, told of, and not run again',
    async () => {
      const { code, of, result } = await events([...shortClocks, '--', 'sh', '-c', 'printf "Go on? [y/N] "; sleep 600'])
      expect(code).toBe(1)
      expect(of('stalled')).toMatchObject([{ payload: { stall: 'waiting_for_person', unfinished: 'Go on? [y/N] ' } }])
      expect(result).toMatchObject({ outcome: 'failed', label: 'waiting_for_person', launches: 1 })
      expect(result.text).toContain('at a question that nobody will answer: Go on? [y/N]')
    },
  )

  test('one that goes in circles is told the call in a session of its own', async () => {
    rmSync(memory, { force: true })
    const call = (at: number): string[] =>
      [
        {
          type: 'assistant',
          message: {
            id: `m${at}`,
            content: [{ type: 'tool_use', id: `c${at}`, name: 'Bash', input: { command: 'ls' } }],
          },
        },
        { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: `c${at}`, content: 'a' }] } },
      ].map((line) => JSON.stringify({ session_id: 's', ...line }))
    writeFileSync(join(root, 'circle'), `${[1, 2, 3, 4, 5].flatMap(call).join('\n')}\n`)
    const end = JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: 'Out of it.' })
    program(
      'claude',
      `if [ -e ${memory} ]; then echo '${end}'; else touch ${memory}; cat ${join(root, 'circle')}; sleep 600; fi`,
    )
    const { code, of, result } = await events(['--', 'claude', '-p', 'x'])
    expect([code, result]).toMatchObject([0, { outcome: 'done', launches: 2, text: 'Out of it.' }])
    expect(of('stalled')).toMatchObject([{ payload: { stall: 'doom_loop' } }])
    const [, second] = of('launch') as Extract<ExecEvent, { type: 'launch' }>[]
    expect([second?.resumed, second?.argv.join(' ')]).toEqual([
      false,
      expect.stringContaining('the same call 5 times in a row and got the same result: Bash: ls'),
    ])
  })
})

describe('an agent that was not at fault', () => {
  test('whose login another process renewed is launched again with the same line', async () => {
    // It is refused before it opens a session, so that nothing but the login differs.
    // The new file is older than the launch: its time is no measure.
    const refused = `mv "$HOME/renewed" "$HOME/.claude/.credentials.json"
echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Login expired"}'; exit 1`
    const done = `echo '{"type":"result","subtype":"success","is_error":false,"result":"Made it."}'; exit 0`
    program('claude', `[ -e "$HOME/seen" ] && { ${done}; }\ntouch "$HOME/seen"\n${refused}`)
    mkdirSync(join(root, '.claude'))
    writeFileSync(join(root, '.claude', '.credentials.json'), 'old')
    writeFileSync(join(root, 'renewed'), 'new')
    const { code, of, result, stderr } = await events(['--', 'claude', '-p', 'Make it.'])
    expect([code, result], stderr).toMatchObject([0, { outcome: 'done', launches: 2 }])
    expect(of('recovery')).toMatchObject([
      { payload: { action_taken: 'RELAUNCH_WITH_RENEWED_LOGIN', status: 'success' } },
    ])
    for (const path of ['.claude', 'seen']) rmSync(join(root, path), { recursive: true })
  })

  test('and crashed with words of its own is launched again, in its session', async () => {
    const done = `echo '{"type":"result","subtype":"success","is_error":false,"result":"Made it."}'; exit 0`
    program(
      'claude',
      `[ -e "$HOME/seen" ] && { ${done}; }\ntouch "$HOME/seen"
echo '{"type":"system","subtype":"init","session_id":"s-1"}'; echo 'TypeError: x is not a function' >&2; exit 1`,
    )
    const { code, of, result, stderr } = await events(['--', 'claude', '-p', 'Make it.'])
    expect([code, result], stderr).toMatchObject([0, { outcome: 'done', launches: 2 }])
    expect(of('launch')[1]).toMatchObject({ resumed: true })
    expect(of('recovery')).toMatchObject([
      { payload: { issue_detected: expect.stringContaining('TypeError: x is not a function') as string } },
    ])
    rmSync(join(root, 'seen'))
  })

  test("of no CLI's own waits for its provider, and its other failures are its own", async () => {
    program(
      'agent',
      `[ -e "$HOME/seen" ] && { echo made; exit 0; }\ntouch "$HOME/seen"\necho "rate limit exceeded, try again in 1s" >&2; exit 3`,
    )
    const { code, of, result, stderr } = await events(['--', 'agent'])
    expect([code, result], stderr).toMatchObject([0, { outcome: 'done', launches: 2 }])
    expect(of('waiting')).toMatchObject([{ payload: { reason: 'llm_quota' } }])
    program('agent', `echo 'it says: rate limit exceeded' >&2; exit 3`)
    const other = await events(['--', 'agent'])
    expect([other.code, other.result]).toMatchObject([3, { outcome: 'failed', label: 'unknown', launches: 1 }])
    rmSync(join(root, 'seen'))
  })

  test('and was killed is launched again and told so', async () => {
    plays('midline', 'once')
    const { code, of, result, stderr } = await events(['--', 'claude', '-p', 'Make it.'])
    expect([code, result], stderr).toMatchObject([0, { outcome: 'done', launches: 2 }])
    expect(of('recovery')).toMatchObject([
      {
        payload: {
          action_taken: 'RESTART_WITH_HINT',
          status: 'success',
          issue_detected: expect.stringContaining('SIGKILL') as string,
        },
      },
    ])
  })
})

describe('exec itself killed with SIGKILL', () => {
  const pidIn = (name: string): number => Number(readFileSync(join(work, name), 'utf8'))
  const commandLines = (): string[] =>
    readdirSync('/proc').flatMap((name) => {
      try {
        return /^\d+$/.test(name) ? readFileSync(`/proc/${name}/cmdline`, 'utf8') : []
      } catch {
        return [] // it ended meanwhile
      }
    })
  const written = (name: string): boolean => existsSync(join(work, name)) && pidIn(name) > 0
  const until = async (what: string, look: () => boolean): Promise<void> => {
    const deadline = performance.now() + 120_000
    while (!look()) {
      if (performance.now() > deadline) throw new Error(`not within 120 s: ${what}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  test('leaves no process of its agent running, in whatever session or without the marker', async () => {
    const script = `env -i sh -c 'echo $$ > bare; exec sleep 600' & setsid sh -c 'echo $$ > apart; exec sleep 600' &
      env -i setsid -f sh -c 'echo $$ > both; exec sleep 600'
      echo $$ > agent; echo "$UNSTUCK_RUN" > marker; trap '' TERM; while :; do sleep 1; done`
    const { child, ended } = start(['--', 'bash', '-c', script])
    const all = ['bare', 'apart', 'both', 'agent']
    try {
      for (const name of all) await until(`${name} runs`, () => written(name))
      child.kill('SIGKILL')
      await ended
      for (const name of all) await until(`${name} is gone`, () => isGone(pidIn(name)))
      const marker = readFileSync(join(work, 'marker'), 'utf8').trim()
      await until('the guard is gone', () => !commandLines().some((line) => line.includes(marker)))
    } finally {
      for (const name of all.filter(written)) if (!isGone(pidIn(name))) process.kill(pidIn(name), 'SIGKILL')
    }
  })
})

describe('any other command', () => {
  test('gives its output, its status and an empty standard input', async () => {
    expect(await exec(['--', 'sh', '-c', 'cat; printf "a\\nb"; echo bad >&2; exit 3'])).toEqual({
      code: 3,
      stdout: 'a\nb\n',
      stderr: expect.stringMatching(/^bad\nunstuck: the agent failed with status 3/),
    })
  })

  test('reads the file that is given for its standard input', async () => {
    writeFileSync(join(work, 'in.txt'), 'from a file\n')
    expect(await exec(['--stdin', 'in.txt', '--', 'cat'])).toMatchObject({ code: 0, stdout: 'from a file\n' })
  })

  test('shows no secret of the environment', async () => {
    const env = { OPENAI_API_KEY: 'a-secret-that-is-long' }
    expect(await exec(['--', 'sh', '-c', 'echo "$OPENAI_API_KEY"'], env)).toMatchObject({ stdout: '[redacted]\n' })
  })

  test('leaves nothing running when it ends, nor when it is stopped', async () => {
    const detached = `setsid sh -c 'echo $$ > detached; sleep 600' & while [ ! -s detached ]; do :; done`
    const alive = (): boolean => !isGone(readFileSync(join(work, 'detached'), 'utf8').trim())
    expect(await exec(['--', 'sh', '-c', detached])).toMatchObject({ code: 0 })
    expect(alive()).toBe(false)
    rmSync(join(work, 'detached'))
    const { child, ended, text } = start(['--', 'sh', '-c', `trap '' TERM; ${detached}; echo ready; sleep 600`])
    await new Promise<void>((resolve) => child.stdout.on('data', () => text.stdout.includes('ready') && resolve()))
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 143, stderr: expect.stringContaining('no process of the agent is left') })
    expect(alive()).toBe(false)
  })
})

describe('what cannot be run', () => {
  beforeAll(() => symlinkSync(root, join(root, 'to-home')))
  test.each([
    [['--', 'claude', 'do it'], 2, /waits for a person at a terminal.*claude -p/],
    [['--', 'no-such-agent'], 78, /no-such-agent was not found/],
    [['--allow-dir', 'nowhere', '--', 'true'], 2, /--allow-dir "nowhere" is not an existing directory/],
    [['--allow-dir', '/', '--', 'true'], 2, /--allow-dir \/ is the whole file system: too wide to be given/],
    [['--allow-dir', root, '--', 'true'], 2, /is the home folder: too wide to be given to an agent/],
    [['--allow-dir', '../to-home', '--', 'true'], 2, /to-home leads to \S+, which is the home folder/],
    [['--stdin', 'nowhere', '--', 'true'], 2, /--stdin "nowhere" is not an existing file/],
    [['--harness', 'cursor', '--', 'true'], 2, /--harness "cursor" is unknown/],
    [['--max-wait', 'long', '--', 'true'], 2, /max-wait/],
    [['--set', 'stall.silence=1', '--', 'true'], 2, /keys are stall\.silenceSeconds/],
    [['--set', 'stall.silenceSeconds=soon', '--', 'true'], 2, /is not <key>=<number>/],
    [[], 2, /command/],
  ])('%j is told so', async (args, code, text) => {
    expect(await exec(args)).toMatchObject({ code, stderr: expect.stringMatching(text) })
  })

  test('nothing is written anywhere', () => {
    expect(readdirSync(root).filter((name) => name.startsWith('.'))).toEqual([])
    expect(execFileSync('find', [root, '-name', '*unstuck*'], { encoding: 'utf8' }).trim()).toBe(root)
  })
})
