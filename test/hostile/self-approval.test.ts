/**
 * An agent that asks for what only a person may do, by ways that hide who asks; beside it the command line and the browser of a person, who
 * are served.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { tmpdir } from 'node:os'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GoalView, LoginUrl } from '../../src/api/contract.ts'
import { processTable, type ProcessRow } from '../../src/platform/process.ts'
import { user } from '../workspace/scene.ts'
import { fixture, openScene, until, type Scene } from './scene.ts'

const hasPython = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'python3')))
const cli = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

interface Address {
  url: string
  socket: string
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-self-approval-')))
let scene: Scene
let address: Address
let token = ''
beforeAll(async () => {
  scene = await openScene(['asks', 'honest'], {
    commands: {
      asks: ['/bin/sh', '-c', `. "${folder}/start.sh"`],
      honest: ['sh', '-c', 'echo done > src/work.txt'],
    },
    config: { verify: { proof: 'off' } },
  })
  address = JSON.parse(readFileSync(join(scene.stateDir, 'engine.json'), 'utf8')) as Address
  token = readFileSync(join(scene.stateDir, 'token'), 'utf8').trim()
})
afterAll(async () => {
  await scene.clear()
  rmSync(folder, { recursive: true })
})

const post = async (path: string, secret: string, body: object = {}): Promise<{ status: number; text: string }> => {
  const answer = await fetch(`${address.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, text: await answer.text() }
}

/** As a browser does it. */
const beginSession = async (): Promise<string> => {
  const { url } = await scene.api<LoginUrl>('/login-codes', {})
  const begun = await post('/sessions', '', { code: /#login=(.+)$/.exec(url)?.[1] })
  return (JSON.parse(begun.text) as { token: string }).token
}

const commandLine = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return '' // it has ended
  }
}

/** How many tries a file records. Each of them must have been refused. */
const refusedIn = (name: string): number => {
  const tries = Object.entries(JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, string>)
  expect(tries.filter(([, text]) => !/^HTTP\/1\.1 403 [\s\S]*"(?:FROM_A_RUN|NOT_PROVED)"/.test(text))).toEqual([])
  return tries.length
}

test.skipIf(!hasPython)('no way of hiding makes an agent a person', async () => {
  const waiting = await scene.work([{}], { harness: 'honest' })
  expect(waiting.state).toBe('ready')
  const main = user(scene.root, 'rev-parse', 'main')
  const { hostname, port } = new URL(address.url)
  const args = [address.socket, hostname, port, token, await beginSession(), folder, `/goals/${waiting.id}/land`]
  writeFileSync(
    join(folder, 'start.sh'),
    `python3 "${fixture('asks-as-person.py')}" ${args.map((each) => `'${each}'`).join(' ')}\necho done > src/work.txt\n`,
  )
  const goal = await scene.work([{}], { harness: 'asks' })
  expect(goal.tasks[0]?.place).toBe('done')
  expect(refusedIn('during.json')).toBeGreaterThanOrEqual(64)
  // What it left behind was ended with it, or is refused as well when nothing runs any more.
  writeFileSync(join(folder, 'go'), '')
  const helpers = (): ProcessRow[] => processTable().filter(({ pid }) => commandLine(pid).includes(folder))
  await until(async () => (existsSync(join(folder, 'after.json')) || helpers().length === 0 ? true : undefined), 'it')
  if (existsSync(join(folder, 'after.json'))) expect(refusedIn('after.json')).toBeGreaterThanOrEqual(64)
  expect(await scene.api<GoalView>(`/goals/${waiting.id}`)).toMatchObject({ state: 'ready' })
  expect(user(scene.root, 'rev-parse', 'main')).toBe(main)
  expect((await scene.events('person_only.refused')).map(({ payload }) => payload.action)).toEqual(
    expect.arrayContaining(['POST /goals/:id/land', 'POST /login-codes']),
  )
})

describe('a person', () => {
  test('is served over TCP with a session that began with a login code, and not with the token alone', async () => {
    const bare = await post('/drain', token)
    expect([bare.status, JSON.parse(bare.text)]).toMatchObject([403, { error: { code: 'NOT_PROVED' } }])
    expect(bare.text).toContain(address.socket)
    const session = await beginSession()
    expect((await post('/goals/g-nosuch/pause', session)).status).toBe(404)
    expect((await post('/login-codes', session)).text).toContain('NOT_PROVED')
  })

  const kinds: [string, string[]][] = [
    ['in a terminal', []],
    ['in another session', ['setsid', '--wait']],
    ['of cron, whose parent has ended', ['sh', '-c', '"$@" & ', 'sh']],
  ]
  test.each(kinds)('is served by the command line %s', async (_name, before) => {
    const out = join(folder, `out-${Math.random()}`)
    const [program = '', ...args] = [
      ...before,
      ...[
        'sh',
        '-c',
        'out=$1; shift; "$@" > "$out.new" 2>&1; echo "exit $?" >> "$out.new"; mv "$out.new" "$out"',
        'sh',
        out,
      ],
      ...[process.execPath, cli, 'pause', 'g-nosuch'],
    ]
    const child = spawn(program, args, { cwd: scene.root, env: scene.environment, stdio: 'ignore' })
    await once(child, 'exit')
    const text = await until(async () => (existsSync(out) ? readFileSync(out, 'utf8') : undefined), 'the command')
    // Who may not ask is not told whether the goal exists.
    expect(text).toContain('g-nosuch')
    expect(text).not.toContain('only a person')
  })
})
