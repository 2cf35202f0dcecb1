/** `unstuck exec` as a user has it: a program of ours that speaks like the real CLI stands in for it on the PATH. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ExecEvent, ExecResult } from '../../src/exec/supervise.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-exec-')))
const [bin, work, outside] = ['bin', 'work', 'outside'].map((name) => join(root, name)) as [string, string, string]
for (const dir of [bin, work, outside]) mkdirSync(dir)
afterAll(() => rmSync(root, { recursive: true, force: true }))

const agents = join(import.meta.dirname, '..', '..', 'sim', 'agents')
const program = (name: string, script: string): void => {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(bin, name), 0o755)
}
const speaksLike = (name: string, agent: string, path: string, ...args: string[]): void => {
  const answer = join(root, `${name}.json`)
  writeFileSync(answer, JSON.stringify({ edits: [{ path, after: 'made\n' }], text: 'Made it.' }))
  program(name, `exec ${process.execPath} ${join(agents, agent)} ${[answer, ...args].join(' ')} "$@"`)
}

const entry = join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js')
const environment = { PATH: [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter), HOME: root }

const start = (args: string[], env: Record<string, string> = {}) => {
  const child = spawn(process.execPath, [entry, 'exec', ...args], {
    cwd: work,
    env: { ...environment, ...env },
    // An open pipe that never ends: what hangs two of the CLIs must not reach them.
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const text = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text.stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text.stderr += chunk))
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...text }))
  return { child, ended, text }
}

const exec = (args: string[], env?: Record<string, string>) => start(args, env).ended

const events = async (args: string[], env?: Record<string, string>) => {
  const { code, stdout, stderr } = await exec(['--json', ...args], env)
  const all = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ExecEvent)
  const result = all.findLast((event) => event.type === 'result')?.payload as ExecResult
  return { code, stderr, all, result, of: (type: ExecEvent['type']) => all.filter((event) => event.type === type) }
}

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
          issue_detected: expect.stringContaining('Not inside a trusted directory'),
          action_taken: 'RELAUNCH_WITH_SKIP_GIT_CHECK',
          status: 'success',
          retry_count: 1,
        },
      },
    ])
    expect(result).toMatchObject({ outcome: 'done', exitCode: 0, text: 'Made it.', launches: 2 })
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

  test('a directory that nobody allowed is not given; the status is the CLI’s, and the refusal is told', async () => {
    rmSync(join(outside, 'made.txt'), { force: true })
    speaksLike('claude', 'fenced.ts', join(outside, 'made.txt'))
    const { code, stdout, stderr } = await exec(['--', 'claude', '-p', 'Make it.'])
    expect(code).toBe(0)
    expect(existsSync(join(outside, 'made.txt'))).toBe(false)
    expect(stdout).toBe('I could not write the file.\n')
    expect(stderr).toMatch(/refused on the way: Claude requested permissions to write to .*\(--allow-dir\)/)
  })

  test('one that is refused whatever is changed ends with a blocker and its own status', async () => {
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
    rmSync(join(root, 'memory'), { force: true })
    speaksLike('claude', 'overloaded.ts', 'made.txt', join(root, 'memory'))
  }

  test('is waited for', async () => {
    overloaded()
    const { code, of, result } = await events(['--', 'claude', '-p', 'x'], { FAILED_TASK_RETRY_COOLDOWN_MS: '20' })
    expect(code).toBe(0)
    expect(of('waiting')).toMatchObject([{ payload: { reason: 'provider_overloaded', seconds: 1 } }])
    expect(of('recovery')).toMatchObject([{ payload: { action_taken: 'WAIT_AND_REQUEUE', status: 'success' } }])
    expect(result).toMatchObject({ outcome: 'done', launches: 2 })
  })

  test('longer than was allowed: the command ends with 75', async () => {
    overloaded()
    const { code, of, result } = await events(['--max-wait', '1', '--', 'claude', '-p', 'x'])
    expect(code).toBe(75)
    expect(result).toMatchObject({ outcome: 'waiting', exitCode: 75, launches: 1 })
    expect(of('waiting')).toHaveLength(1)
  })
})

describe('any other command', () => {
  test('gives its output, its status and an empty standard input', async () => {
    expect(await exec(['--', 'sh', '-c', 'cat; printf "a\\nb"; echo bad >&2; exit 3'])).toEqual({
      code: 3,
      stdout: 'a\nb\n',
      stderr: expect.stringMatching(/^bad\nunstuck: failed with status 3/),
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
    const alive = (): boolean => {
      try {
        // One that has ended and waits for its parent to look is no running process.
        const pid = readFileSync(join(work, 'detached'), 'utf8').trim()
        return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
      } catch {
        return false
      }
    }
    expect(await exec(['--', 'sh', '-c', detached])).toMatchObject({ code: 0 })
    expect(alive()).toBe(false)
    rmSync(join(work, 'detached'))
    const { child, ended, text } = start(['--', 'sh', '-c', `trap '' TERM; ${detached}; echo ready; sleep 600`])
    await new Promise<void>((resolve) => child.stdout.on('data', () => text.stdout.includes('ready') && resolve()))
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 130, stderr: expect.stringContaining('nothing of the agent is left') })
    expect(alive()).toBe(false)
  })
})

describe('what cannot be run', () => {
  test.each([
    [['--', 'claude', 'do it'], 2, /waits for a person at a terminal.*claude -p/],
    [['--', 'no-such-agent'], 78, /no-such-agent was not found/],
    [['--allow-dir', 'nowhere', '--', 'true'], 2, /--allow-dir "nowhere" is no directory/],
    [['--stdin', 'nowhere', '--', 'true'], 2, /--stdin "nowhere" is no file/],
    [['--harness', 'cursor', '--', 'true'], 2, /--harness "cursor" is unknown/],
    [['--max-wait', 'long', '--', 'true'], 2, /max-wait/],
    [[], 2, /command/],
  ])('%j is told so', async (args, code, text) => {
    expect(await exec(args)).toMatchObject({ code, stderr: expect.stringMatching(text) })
  })

  test('nothing is written anywhere', () => {
    expect(readdirSync(root).filter((name) => name.startsWith('.'))).toEqual([])
    expect(execFileSync('find', [root, '-name', '*unstuck*'], { encoding: 'utf8' }).trim()).toBe(root)
  })
})
