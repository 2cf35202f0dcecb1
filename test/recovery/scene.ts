/**
 * An engine of its own over a small repository, with programs of a few lines as agents. Goals go in through the API and
 * everything a test looks at comes out of it, as for the command line.
 */
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sendTo } from '../../src/cli/engine/send-over-socket.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { serve, type Served, type ServeOptions } from '../../src/api/serve.ts'
import type { GoalRequest, GoalView, Recovery, Run, StatusView, EventView, TaskView } from '../../src/api/contract.ts'
import { parseRemote } from '../../src/workspace/remote-url.ts'
import { mirrorRoot } from '../../src/workspace/remote.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { faultAgent } from '../process/bench.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { createNews } from './news.ts'

export interface Scene {
  top: string
  root: string
  get: <T>(path: string) => Promise<T>
  post: <T>(path: string, body?: unknown) => Promise<T>
  /** Makes a goal of these tasks; gives its id. */
  goal: (tasks: Partial<TaskInput>[], options?: Partial<GoalRequest['options']>) => Promise<string>
  /** Waits until the goal is in one of these states. */
  until: (goal: string, ...states: string[]) => Promise<GoalView>
  waitFor: <T>(what: string, look: () => Promise<T | undefined>) => Promise<T>
  task: (goal: string, number?: number) => Promise<TaskView>
  events: (goal: string, type: string) => Promise<EventView[]>
  recoveries: (goal: string) => Promise<Recovery[]>
  runs: (goal: string) => Promise<Run[]>
  questions: () => Promise<StatusView['escalations']>
  show: (path: string, goal: string) => string
  /** `meanwhile` happens while no engine runs. */
  restart: (meanwhile?: () => void) => Promise<void>
  /** Stops the engine and leaves the folders. */
  stop: () => Promise<void>
  clear: () => Promise<void>
}

type TaskInput = GoalRequest['input']['tasks'][number]

/** What the fault agents are made of: they print what the CLIs print, as far as a reader may look at it. */
const lines = `
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
const args = process.argv.slice(2)
const after = (flag) => args.flatMap((text, at) => (text === flag ? [args[at + 1]] : []))
const print = (event) => console.log(JSON.stringify({ session_id: 'session-1', ...event }))
const put = (path, text) => { mkdirSync(dirname(path), { recursive: true }); writeFileSync(path, text) }
const count = (path) => { const n = existsSync(path) ? Number(readFileSync(path, 'utf8')) + 1 : 1; put(path, String(n)); return n }
const begin = () => print({ type: 'system', subtype: 'init', cwd: process.cwd(), model: 'm' })
const usage = (input) => print({ type: 'assistant', message: { id: 'u' + Math.random(), content: [], usage: { input_tokens: input, output_tokens: 0 } } })
const failed = (name, input, content) => {
  print({ type: 'assistant', message: { id: 'm', content: [{ type: 'tool_use', id: 'c1', name, input }] } })
  print({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 'c1', is_error: true, content }] } })
}
const denied = (path) => failed('Write', { file_path: path }, "Claude requested permissions to write to " + path + ", but you haven't granted it yet.")
const refused = (path) => failed('Write', { file_path: path }, "EACCES: permission denied, open '" + path + "'")
const call = (id, name, input) => print({ type: 'assistant', message: { id: 'm' + id, content: [{ type: 'tool_use', id, name, input }] } })
const answered = (id, content) => print({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: id, content }] } })
const hinted = args.some((text) => text.includes('You were stopped and restarted'))
const end = (more = {}) => print({ type: 'result', subtype: 'success', is_error: false, result: 'done', total_cost_usd: 0.01, ...more })
const forever = () => setInterval(() => {}, 1000)
`

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

export interface FaultAgent {
  driver: 'claude' | 'codex' | 'gemini' | 'opencode' | 'acp' | 'command'
  /** JavaScript behind the lines above, or the command line of another program. `TOP` stands for the scene's folder. */
  program: string | string[]
}

/** A fault agent of the simulation whose work is the file that the standard check asks for. */
export const faultProgram = (name: string, ...args: string[]): string[] =>
  faultAgent(name, ...args, '--answer', 'TOP/answer.json')

const task = (input: Partial<TaskInput>, index: number): TaskInput => ({
  id: String(index + 1),
  title: `Task ${index + 1}`,
  instructions: 'Do it.',
  allowedPaths: ['**'],
  deniedPaths: [],
  commands: ['node check.js'],
  after: [],
  priority: 0,
  role: 'worker',
  ...input,
})

/** The question comes right after the recoveries of the run; requeue and rework have suites of their own. */
const askAtOnce = { inPlaceLimit: 0, reworkDepth: 0 }

const makeRepository = (
  top: string,
  agents: Record<string, FaultAgent>,
  { more: moreHarness, ...config }: { more?: object },
  more: Record<string, string>,
): string => {
  const root = join(top, 'repo')
  const harness = Object.fromEntries(
    Object.entries(agents).map(([name, { driver, program }]) => {
      if (typeof program !== 'string')
        return [name, { driver, command: program.map((text) => text.replaceAll('TOP', top)) }]
      const path = join(top, `${name}.mjs`)
      writeFileSync(path, `${lines}\n${program.replaceAll('TOP', top)}`)
      return [name, { driver, command: [process.execPath, path] }]
    }),
  )
  const files = {
    'package.json': '{"scripts":{}}',
    'check.js':
      "process.exit(require('node:fs').existsSync('made.txt') || require('node:fs').existsSync('TOP/outside/made.txt') ? 0 : 1)",
    '.unstuck/config.json': JSON.stringify({
      harness: { default: Object.keys(agents)[0], ...harness, ...moreHarness },
      requeue: askAtOnce,
      // The fault agents answer no question.
      policyRecovery: { useLlm: false },
      ...config,
    }),
    ...more,
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text.replaceAll('TOP', top))
  }
  git(root, 'init', '-q', '-b', 'main')
  git(root, 'add', '-A')
  git(root, 'commit', '-qm', 'Start')
  return root
}

/** Not what a wait takes, but what it may take on a machine that is busy with others. */
const deadlineMs = 600_000

type WaitFor = <T>(what: string, look: () => Promise<T | undefined>, atLeastEveryMs?: number) => Promise<T>

/** Looks again when an event was recorded, and `atLeastEveryMs` for what has none, such as a file that an agent writes. */
const waiterOf = (get: Scene['get']): WaitFor => {
  const newsSince = createNews((after) => get<EventView[]>(`/events?after=${after}&limit=1000`))
  return async (what, look, atLeastEveryMs = 250) => {
    const deadline = performance.now() + deadlineMs
    const news = newsSince()
    for (;;) {
      const found = await look()
      if (found !== undefined) return found
      if (performance.now() > deadline) throw new Error(`${what}: not within ${deadlineMs / 1000} s`)
      await news(atLeastEveryMs)
    }
  }
}

const callerOf =
  (served: () => Served, token: () => string) =>
  async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await sendTo(served().socket)(`${served().url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token()}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const value: unknown = await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(value)}`)
    return value as T
  }

type Looks = 'until' | 'waitFor' | 'task' | 'events' | 'recoveries' | 'runs' | 'questions'

const looks = (get: Scene['get']): Pick<Scene, Looks> => {
  const waitFor = waiterOf(get)
  const view = (id: string): Promise<GoalView> => get<GoalView>(`/goals/${id}`)
  return {
    waitFor: (what, look) => waitFor(what, look),
    until: (id, ...states) =>
      waitFor(
        `goal ${id} is ${states.join(' or ')}`,
        async () => {
          const goal = await view(id)
          return states.includes(goal.state) ? goal : undefined
        },
        // No goal changes its state without an event.
        5_000,
      ),
    task: async (id, number = 1) => (await view(id)).tasks[number - 1] as TaskView,
    events: async (id, type) =>
      (await get<EventView[]>(`/events?goal=${id}&limit=1000`)).filter((event) => event.type === type),
    recoveries: (id) => get<Recovery[]>(`/recoveries?goal=${id}`),
    runs: (id) => get<Run[]>(`/runs?goal=${id}`),
    questions: async () => (await get<StatusView>('/status')).escalations,
  }
}

/** Brings the scene's repository to where a URL can name it, with the owner's configuration where it then belongs. */
const makeRemote = (top: string, work: string, home: string): { bare: string; id: string } => {
  const bare = join(top, 'origin.git')
  git(top, 'clone', '-q', '--bare', work, bare)
  const { id } = parseRemote(bare, top)
  const owners = join(mirrorRoot(stateDirOf({ UNSTUCK_HOME: home }, id)), '.unstuck')
  mkdirSync(owners, { recursive: true, mode: 0o700 })
  renameSync(join(work, '.unstuck', 'config.json'), join(owners, 'config.json'))
  return { bare, id }
}

export interface SceneOptions extends Pick<ServeOptions, 'playbooks' | 'notifications' | 'at'> {
  /** The engine works on a bare repository by URL, which is the scene's root then. */
  remote?: true
  environment?: Record<string, string>
  /** More keys of the configuration's `harness`. */
  harness?: object
  /** More files of the first commit. */
  files?: Record<string, string>
  /** Its engine has a database server for itself, instead of that of the test run. */
  ownServer?: boolean
  /** Instead of an engine in this process. */
  start?: (root: string, environment: Record<string, string | undefined>) => Promise<Served>
}

export const openScene = async (
  agents: Record<string, FaultAgent>,
  config: object = {},
  { environment: more, files = {}, harness = {}, start: startOther, remote, ownServer, ...options }: SceneOptions = {},
): Promise<Scene> => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-scene-')))
  mkdirSync(join(top, 'outside'))
  writeFileSync(
    join(top, 'answer.json'),
    JSON.stringify({ edits: [{ path: 'made.txt', after: 'made' }], text: 'Done.' }),
  )
  const work = makeRepository(top, agents, { ...config, more: harness }, files)
  const home = join(top, 'home')
  const { bare, id } =
    remote === true ? makeRemote(top, work, home) : { ...(await openRepository(work)), bare: undefined }
  const root = bare ?? work
  // The store's template is the only thing taken from the machine: making it takes seconds.
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  const environment = {
    PATH,
    HOME,
    XDG_CACHE_HOME,
    UNSTUCK_HOME: home,
    ...(bare === undefined ? {} : { UNSTUCK_REPO_URL: bare }),
    ...more,
  }
  const start = (): Promise<Served> =>
    startOther?.(root, environment) ?? serve({ root, environment, version: '0.0.0', ...options })
  if (ownServer !== true) prepareEngineHome(home)
  let served = await start()
  const call = callerOf(
    () => served,
    () => readFileSync(join(stateDirOf(environment, id), 'token'), 'utf8').trim(),
  )
  const get: Scene['get'] = (path) => call('GET', path)
  return {
    ...{ top, root, get },
    ...looks(get),
    post: (path, body = {}) => call('POST', path, body),
    goal: async (tasks, chosen = {}) => {
      const input = { title: 'Goal', requirement: 'Goal', tasks: tasks.map(task), allowedDirs: [], warnings: [] }
      const plain = {
        autoMerge: false,
        repoMode: bare === undefined ? 'local' : 'remote',
        allowedDirs: [],
        harness: null,
        limits: {},
      }
      return (await call<GoalView>('POST', '/goals', { input, options: { ...plain, ...chosen } })).id
    },
    show: (path, goal) => git(root, 'show', `unstuck/goal/${goal}:${path}`),
    restart: async (meanwhile) => {
      await served.stop()
      meanwhile?.()
      served = await start()
    },
    stop: () => served.stop(),
    clear: async () => {
      await served.stop()
      endAgents(top)
      rmSync(top, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Agents outlive their engine on purpose; those of an ended test must not. */
const endAgents = (top: string): void => {
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)) {
    try {
      if (readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(top)) process.kill(Number(name), 'SIGKILL')
    } catch {
      // It ended meanwhile, or it is not ours to read.
    }
  }
}
