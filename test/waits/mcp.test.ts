/**
 * `unstuck mcp` with a real MCP client over standard input and output, against a real engine: what the agent of a run may do with the
 * token of its run, what is refused, and what the owner may do.
 */
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sendTo } from '../../src/cli/engine/send-over-socket.ts'
import type { ActivityView, Escalation, EventView, Goal, GoalRequest, GoalView, Run } from '../../src/api/contract.ts'
import { openScene, standardTask, until, type Scene } from '../hostile/scene.ts'
import { isLongForm } from '../support/form.ts'

const entry = join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js')
const agent = join(import.meta.dirname, '..', 'fixture', 'mcp', 'agent.mjs')

interface Launched {
  run: string
  launch: number
  environment: Record<string, string>
  prompt: string
}

let scene: Scene
let notes: string
const open: Client[] = []

const config = (waitSeconds: number): Record<string, unknown> => ({
  env: ['MCP_TEST_DIR'],
  mcp: { waitSeconds },
  recovery: { enabled: true },
})

/** The engine reads the configuration again for each call. */
const setWait = (seconds: number): void => {
  const path = join(scene.root, '.unstuck', 'config.json')
  const before = JSON.parse(readFileSync(path, 'utf8')) as object
  writeFileSync(path, JSON.stringify({ ...before, ...config(seconds) }))
}

beforeAll(async () => {
  notes = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-mcp-')))
  scene = await openScene(['agent'], {
    commands: { agent: [process.execPath, agent] },
    environment: { MCP_TEST_DIR: notes },
    config: { ...config(60), maxParallel: 3 },
  })
})
afterAll(async () => {
  for (const client of open) await client.close()
  await scene.clear()
  rmSync(notes, { recursive: true, force: true })
})

const connect = async (environment: Record<string, string>): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' })
  // Without the mark of its run, with which the engine would end it as a process of the agent.
  const { UNSTUCK_RUN: _run, UNSTUCK_LAUNCH: _launch, ...own } = environment
  const env = { ...scene.environment, ...own }
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [entry, 'mcp'],
      env,
      cwd: scene.root,
      stderr: 'ignore',
    }),
  )
  open.push(client)
  return client
}

interface Said {
  text: string
  isError: boolean
}

const use = async (client: Client, name: string, given: Record<string, unknown> = {}): Promise<Said> => {
  const { content, isError = false } = await client.callTool({ name, arguments: given })
  return { text: (content as { text: string }[]).map(({ text }) => text).join('\n'), isError: isError === true }
}

const create = async (title: string): Promise<Goal> => {
  const task = { ...standardTask, title, allowedPaths: ['**'] }
  const input: GoalRequest['input'] = { title, requirement: title, tasks: [task], allowedDirs: [], warnings: [] }
  const options = { autoMerge: false, repoMode: 'local' as const, allowedDirs: [], harness: null, limits: {} }
  return scene.api<Goal>('/goals', { input, options })
}

/** What the agent of a goal's newest run noted when its launch began. */
const launched = (goal: string, launch = 1, number = 1): Promise<Launched> =>
  until(async () => {
    const runs = await scene.api<Run[]>(`/runs?goal=${goal}`)
    const run = runs.find((candidate) => candidate.number === number)
    const path = join(notes, `${run?.id}-${launch}.json`)
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Launched) : undefined
  }, `launch ${launch} of run ${number}`)

const begin = async (title: string): Promise<{ goal: Goal; agent: Launched; client: Client }> => {
  const goal = await create(title)
  const agent = await launched(goal.id)
  return { goal, agent, client: await connect(agent.environment) }
}

/** Renamed to its name: the agent polls for the file, and half a word would mean another thing. */
const end = ({ run, launch }: Launched, how: 'work' | 'stop'): void => {
  const path = join(notes, `${run}-${launch}.go`)
  writeFileSync(`${path}.new`, how)
  renameSync(`${path}.new`, path)
}

const goalIn = (id: string, state: string): Promise<GoalView> =>
  until(async () => {
    const goal = await scene.api<GoalView>(`/goals/${id}`)
    return goal.state === state ? goal : undefined
  }, `${id} to be ${state}`)

const questionOf = (goal: string): Promise<Escalation> =>
  until(
    async () => (await scene.api<Escalation[]>(`/escalations?goal=${goal}&state=pending`))[0],
    `the question of ${goal}`,
  )

const raw = async (path: string, token: string, body?: unknown): Promise<{ status: number; text: string }> => {
  const { url, socket } = JSON.parse(readFileSync(join(scene.stateDir, 'engine.json'), 'utf8')) as {
    url: string
    socket?: string
  }
  const answer = await sendTo(socket)(`${url}${path}`, {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: answer.status, text: await answer.text() }
}

const proposal = {
  version: 1,
  timestamp: '2026-01-23T05:36:33Z',
  category: 'dependency',
  severity: 'blocking',
  diagnosis: {
    error_pattern: 'Cannot start service: Host version .* does not match binary version',
    root_cause: 'two versions of one package',
    evidence: ['test-output.txt:3: Host version "0.21.5" does not match binary version "0.27.2"'],
  },
  recovery: {
    command: 'rm -rf node_modules && npm install',
    working_dir: '.',
    timeout_seconds: 300,
    expected_outcome: 'the tests can start',
    confidence: 'high',
  },
}

/** Files of the state folder, and events, that hold the token of this agent. */
const placesOf = async ({ environment }: Launched, goal: string): Promise<string[]> => {
  const mac = environment.UNSTUCK_RUN_TOKEN?.split('.').at(-1) ?? ''
  expect(mac).toHaveLength(43)
  const files = readdirSync(scene.stateDir, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  const events = JSON.stringify(await scene.api<EventView[]>(`/events?goal=${goal}&limit=1000`))
  return [
    ...files.map((each) => join(each.parentPath, each.name)).filter((path) => readFileSync(path).includes(mac)),
    ...(events.includes(mac) ? ['an event'] : []),
  ]
}

test('an agent reports, asks once, gets the answer and does its work; its token ends with its run and is stored nowhere', async () => {
  const { goal, agent, client } = await begin('Ask and get an answer')
  expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual([
    'ask_person',
    'propose_recovery',
    'report_progress',
  ])
  expect(
    await use(client, 'report_progress', { text: 'The parser is done;\n next are its tests. \u001b[31m' }),
  ).toEqual({
    text: expect.stringContaining('Recorded: The parser is done; next are its tests.'),
    isError: false,
  })
  const activity = await scene.api<ActivityView>(`/runs/${agent.run}/activity`)
  expect(activity.report).toBe('The parser is done; next are its tests. [31m')

  const asked = use(client, 'ask_person', { question: 'Tabs or spaces?' })
  const question = await questionOf(goal.id)
  expect(question).toMatchObject({ kind: 'agent_question', runId: agent.run })
  expect(question.happened).toBe('The agent of task 1 "Ask and get an answer" asks: Tabs or spaces?')
  const [task] = (await scene.api<GoalView>(`/goals/${goal.id}`)).tasks
  expect(task?.nextStep).toMatchObject({ owner: 'person', text: `its agent asks you: unstuck answer ${task?.id}` })
  const answered = await scene.cli('answer', task?.id ?? '', 'reply', '--text', 'Spaces, two of them.')
  expect([answered.exitCode, answered.stderr]).toEqual([0, ''])
  expect(await asked).toEqual({ text: 'A person answered: Spaces, two of them.', isError: false })
  expect(await use(client, 'ask_person', { question: 'And the width?' })).toMatchObject({
    text: expect.stringContaining('has asked its one question already'),
    isError: true,
  })
  end(agent, 'work')
  const done = await goalIn(goal.id, 'ready')
  expect(done.tasks.map(({ status }) => status)).toEqual(['done'])
  // The answer was read, so the agent was not started again for it.
  expect((await scene.api<Run>(`/runs/${agent.run}`)).launches).toHaveLength(1)

  expect(await use(client, 'report_progress', { text: 'still here' })).toEqual({
    text: expect.stringContaining(`run ${agent.run} has ended`),
    isError: true,
  })
  expect(await placesOf(agent, goal.id)).toEqual([])
})

test('without an answer the task waits with its work, and the next launch begins with the answer', async () => {
  setWait(0)
  const { goal, agent, client } = await begin('Ask and wait')
  expect(await use(client, 'ask_person', { question: 'Which database?' })).toEqual({
    text: expect.stringContaining('No answer yet. End your turn now'),
    isError: false,
  })
  end(agent, 'stop')
  const waiting = await goalIn(goal.id, 'awaiting_human')
  expect(waiting.tasks.map(({ status }) => status)).toEqual(['blocked(awaiting_human)'])
  const { id, taskId } = await questionOf(goal.id)
  await scene.api(`/escalations/${id}/answer`, { choice: 'reply', input: 'PostgreSQL.' })
  const next = await launched(goal.id, 1, 2)
  expect(next.prompt).toContain('PostgreSQL.')
  expect(next.prompt).toContain('src/notes.txt')
  end(next, 'work')
  expect((await goalIn(goal.id, 'ready')).tasks.map((task) => [task.id, task.status])).toEqual([[taskId, 'done']])
  const recoveries = await scene.api<unknown[]>(`/recoveries?goal=${goal.id}`)
  expect(recoveries).toEqual([])
})

test.runIf(isLongForm)(
  'an answer that comes after the wait of the tool starts the agent again with it, in the same run',
  async () => {
    setWait(0)
    const { goal, agent, client } = await begin('Ask and miss the answer')
    await use(client, 'ask_person', { question: 'Which port?' })
    const { id } = await questionOf(goal.id)
    await scene.api(`/escalations/${id}/answer`, { choice: 'reply', input: 'Port 8080.' })
    end(agent, 'stop')
    const next = await launched(goal.id, 2)
    expect(next.prompt).toMatch(/asks: Which port\?\nA person answered: Port 8080\./)
    end(next, 'work')
    await goalIn(goal.id, 'ready')
  },
)

test.runIf(isLongForm)('a cancelled task takes the question of its agent with it', async () => {
  setWait(60)
  const { goal, client } = await begin('Ask and be cancelled')
  const asked = use(client, 'ask_person', { question: 'Go on?' })
  const { id } = await questionOf(goal.id)
  await scene.api(`/escalations/${id}/answer`, { choice: 'cancel' })
  expect((await asked).text).toMatch(/has ended|was closed without an answer/)
  const [question] = await scene.api<Escalation[]>(`/escalations?goal=${goal.id}&state=all`)
  expect(question?.state).not.toBe('pending')
})

describe('a run that goes on:', () => {
  let one: Awaited<ReturnType<typeof begin>>
  let token: string
  beforeAll(async () => {
    one = await begin('Go on')
    token = one.agent.environment.UNSTUCK_RUN_TOKEN ?? ''
  })
  afterAll(() => end(one.agent, 'work'))

  test('a proposal is stored as the recovery.json of the run, and a wrong field is named', async () => {
    const { agent, client } = one
    const file = join(agent.environment.UNSTUCK_RUN_DIR ?? '', 'recovery.json')
    const wrong = { ...proposal, recovery: { ...proposal.recovery, command: undefined } }
    expect(await use(client, 'propose_recovery', wrong)).toEqual({
      text: expect.stringContaining('recovery.command'),
      isError: true,
    })
    expect(existsSync(file)).toBe(false)
    for (const [recovery, part] of [
      [{ command: 'NPM_TOKEN=npm_a1b2c3 npm ci' }, 'NPM_TOKEN'],
      [{ working_dir: 'nowhere' }, 'working_dir'],
    ] as const) {
      const judged = { ...proposal, recovery: { ...proposal.recovery, ...recovery } }
      const refused = await use(client, 'propose_recovery', judged)
      expect(refused).toMatchObject({ isError: true })
      expect(JSON.stringify(refused)).toContain(part)
    }
    expect(await use(client, 'propose_recovery', proposal)).toMatchObject({ isError: false })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(proposal)
    // Another file of the agent's in its place is replaced, not followed.
    const victim = join(notes, 'victim')
    writeFileSync(victim, 'mine')
    rmSync(file)
    symlinkSync(victim, file)
    await use(client, 'propose_recovery', proposal)
    expect(readFileSync(victim, 'utf8')).toBe('mine')
    rmSync(file)
  })

  test('refuses the token of another run, of another attempt, a forged one, and none', async () => {
    const other = await begin('Another run')
    const foreign = other.agent.environment.UNSTUCK_RUN_TOKEN ?? ''
    const path = `/runs/${one.agent.run}/progress`
    const [prefix, run, epoch, mac] = token.split('.')
    const tokens = [foreign, [prefix, run, Number(epoch) + 1, mac].join('.'), `${token.slice(0, -1)}_`, '']
    for (const wrong of tokens) expect((await raw(path, wrong, { text: 'x' })).status).toBe(401)
    expect((await raw(path, foreign, { text: 'x' })).text).toContain(`this token belongs to run ${other.agent.run}`)
    expect((await raw(path, token, { text: 'x' })).status).toBe(200)
    end(other.agent, 'work')
  })

  test('refuses the owner in the name of an agent', async () => {
    const owner = readFileSync(join(scene.stateDir, 'token'), 'utf8').trim()
    for (const route of ['progress', 'question', 'proposal']) {
      const answer = await raw(`/runs/${one.agent.run}/${route}`, owner, { text: 'x' })
      expect([route, answer.status, answer.text]).toEqual([route, 401, expect.stringContaining('only its agent has')])
    }
  })

  test('refuses an agent at every route of the owner', async () => {
    const { goal, agent } = one
    const routes: [string, unknown?][] = [
      ['/status'],
      [`/runs/${agent.run}`],
      [`/runs/${agent.run}/log?launch=0&stdout=0&stderr=0`],
      ['/goals', {}],
      [`/goals/${goal.id}/land`, {}],
      ['/escalations/q-x/answer', { choice: 'reply', input: 'x' }],
      ['/grants', { path: 'a', area: 'src', why: 'so' }],
      ['/login-codes', {}],
      ['/shutdown', {}],
      ['/openapi.json'],
    ]
    for (const [route, body] of routes) {
      const answer = await raw(route, token, body)
      expect([route, answer.status, answer.text]).toEqual([
        route,
        401,
        expect.stringContaining('requires the token of the owner'),
      ])
    }
  })

  const long = 'x'.repeat(1024 * 1024)
  const wrong: [string, string, Record<string, unknown>, RegExp][] = [
    ['a NUL in a report', 'report_progress', { text: 'a\0b' }, /text.*NUL/],
    ['a report of a megabyte', 'report_progress', { text: long }, /text/],
    ['a report of 600 characters', 'report_progress', { text: 'x'.repeat(600) }, /text.*at most 500/],
    ['an empty report', 'report_progress', { text: ' \n ' }, /text.*empty/],
    ['a report that is no text', 'report_progress', { text: 7 }, /text/],
    ['a report without its text', 'report_progress', {}, /text/],
    ['another field', 'report_progress', { text: 'x', run: 'r-other' }, /run/],
    ['a NUL in a question', 'ask_person', { question: 'a\0' }, /question.*NUL/],
    ['a question of a megabyte', 'ask_person', { question: long }, /question/],
    ['an empty question', 'ask_person', { question: '' }, /question.*empty/],
    ['a tool of the owner', 'add_task', { task: 'x' }, /there is no tool/],
    ['a tool that does not exist', '../status', {}, /there is no tool/],
  ]
  test.each(wrong)('refuses %s', async (_title, tool, given, message) => {
    const answer = await use(one.client, tool, given)
    expect(answer).toEqual({ text: expect.stringMatching(message), isError: true })
    expect(await scene.api<Escalation[]>(`/escalations?goal=${one.goal.id}&state=all`)).toEqual([])
  })

  test('reads over lines that are no message', async () => {
    const env = { ...scene.environment, ...one.agent.environment }
    const server = spawn(process.execPath, [entry, 'mcp'], { env, cwd: scene.root, stdio: ['pipe', 'pipe', 'pipe'] })
    let said = ''
    server.stdout.setEncoding('utf8').on('data', (chunk: string) => (said += chunk))
    server.stderr.resume()
    server.stdin.write('garbage\n{"jsonrpc":"2.0"}\n\u0000\u0001\n[[[[\n')
    const list = { jsonrpc: '2.0', id: 7, method: 'tools/list', params: {} }
    server.stdin.write(`${JSON.stringify(list)}\n`)
    await expect.poll(() => said, { timeout: 30_000 }).toContain('"id":7')
    // It ends with its input.
    server.stdin.end()
    const [code] = (await once(server, 'exit')) as [number]
    expect(code).toBe(0)
  })

  test('refuses a process of a run without a token, which would be the owner otherwise', async () => {
    const { UNSTUCK_RUN_TOKEN: _token, ...rest } = one.agent.environment
    const env = { ...scene.environment, ...rest }
    const server = spawn(process.execPath, [entry, 'mcp'], { env, cwd: scene.root, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    server.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk))
    const [code] = (await once(server, 'exit')) as [number]
    expect([code, said]).toEqual([69, expect.stringContaining(`belongs to run ${one.agent.run}`)])
  })
})

test.runIf(isLongForm)('the owner adds a task, and reads what became of it', async () => {
  const client = await connect({})
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['add_task', 'status', 'explain'])
  expect(await use(client, 'add_task', { task: 'x\0' })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/task.*NUL/),
  })
  expect(await use(client, 'add_task', { tsk: 'x' })).toMatchObject({ isError: true })
  expect(await use(client, 'add_task', { task: ' ' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('empty'),
  })
  const { text, isError } = await use(client, 'add_task', { task: 'From an agent of mine', checks: ['node check.mjs'] })
  expect([isError, text]).toEqual([false, expect.stringMatching(/^Goal g-\w+ "From an agent of mine" was accepted/)])
  const id = /g-\w+/.exec(text)?.[0] ?? ''
  end(await launched(id), 'work')
  await goalIn(id, 'ready')
  expect((await use(client, 'status')).text).toContain(id)
  expect((await use(client, 'explain', { id })).text).toContain('was accepted')
  expect(await use(client, 'explain', { id: 'g-nosuch' })).toMatchObject({ isError: true })
})
