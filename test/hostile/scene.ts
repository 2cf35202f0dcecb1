/**
 * One engine over one repository of a user, with a hostile program as the agent. The picture of everything that is the
 * user's (files, index, refs, configuration, hooks) is taken before and compared afterwards; the canary is a file that
 * only a program started by mistake would make.
 */
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect } from 'vitest'
import { sendTo } from '../../src/cli/engine/send-over-socket.ts'
import type { DoctorView, GoalRequest, GoalView, StatusView, EventView } from '../../src/api/contract.ts'
import { serve, type Served } from '../../src/api/serve.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { goalEnded } from '../../src/domain/goal.ts'
import { processesWithEnvironment } from '../../src/platform/process.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { runHere, type Ended } from '../cli/in-process.ts'
import { createNews, type News } from '../recovery/news.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { commitAll, makeCanary, put, user, type Canary } from '../workspace/scene.ts'
import { commitsOf, processesIn, unclearGoals, unverifiedCommits } from './oracle.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))
export const fixture = (name: string): string => join(checkout, 'test', 'fixture', 'hostile', name)

export interface SceneOptions {
  /** Files of the user's first commit; `check.mjs` is what verification runs. */
  files?: Record<string, string>
  /** Nothing but `files`, and a README. */
  bare?: boolean
  /** More patterns of the repository's .gitignore. */
  ignored?: string[]
  /** Agents that are another program than the fixture of their name. */
  commands?: Record<string, string[]>
  /** Drivers of agents that speak a protocol. */
  drivers?: Record<string, 'claude' | 'codex'>
  /** More environment of the engine. */
  environment?: Record<string, string>
  config?: Record<string, unknown>
  /** Called with the finished repository before its picture is taken. */
  arrange?: (scene: Pick<Scene, 'top' | 'root' | 'canary' | 'outside'>) => void
}

export interface Scene {
  top: string
  root: string
  /** A folder that is nobody's business here. */
  outside: string
  stateDir: string
  canary: Canary
  environment: Record<string, string>
  api<T>(path: string, body?: unknown): Promise<T>
  /** Runs one goal to where nothing moves any more. */
  work(tasks?: Partial<Task>[], options?: Partial<GoalRequest['options']>): Promise<GoalView>
  status(): Promise<StatusView>
  /** From here on only new events count, and the picture is a new one. For tests that share an engine. */
  begin(): Promise<void>
  /** Since `begin`. */
  events(type?: string): Promise<EventView[]>
  /** The command line in this process: what it prints and its exit status, without the start of a program. */
  here: (...args: string[]) => Promise<Ended>
  cli(...args: string[]): Promise<{ stdout: string; stderr: string; exitCode?: number | undefined }>
  /** Nothing foreign ran, what is the user's is as before, and so far as somebody outside can see the promises hold. */
  expectUnharmed(except?: (path: string) => boolean): Promise<void>
  /** Stops the engine and leaves the folders. */
  stop(): Promise<void>
  clear(): Promise<void>
}

type Task = GoalRequest['input']['tasks'][number]

const digest = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex').slice(0, 16)

const described = (path: string): string => {
  const found = lstatSync(path)
  if (found.isSymbolicLink()) return `link ${readlinkSync(path)}`
  if (!found.isFile()) return 'other'
  const content = readFileSync(path)
  return `${(found.mode & 0o7777).toString(8)} ${digest(content)}`
}

/** Objects may be added to a repository, our own branches with their logs, and the exports of goals and of the machine; nothing else. */
const ours = /^\.git\/(objects|logs)(\/|$)|^\.git\/refs\/heads\/unstuck(\/|$)|^\.unstuck\/(loops|context)(\/|$)/

export const picture = (root: string, folder = root): Record<string, string> =>
  Object.assign(
    {},
    ...readdirSync(folder, { withFileTypes: true }).map((entry) => {
      const path = join(folder, entry.name)
      const name = relative(root, path)
      if (ours.test(name)) return {}
      return entry.isDirectory() ? picture(root, path) : { [name]: described(path) }
    }),
  ) as Record<string, string>

const standardFiles = {
  'check.mjs':
    "import { readFileSync } from 'node:fs'\nif (!readFileSync('src/work.txt', 'utf8').includes('done')) process.exit(1)\n",
  'src/work.txt': 'open\n',
  'README.md': 'a project\n',
}

export const standardTask: Task = {
  id: '1',
  title: 'Do the work',
  instructions: 'Write "done" into src/work.txt.',
  allowedPaths: ['**'],
  deniedPaths: [],
  commands: ['node check.mjs'],
  after: [],
  priority: 0,
  role: 'worker',
}

const pause: News = () => new Promise((resolve) => setTimeout(resolve, 50))

/** `news` waits for a change, which costs less than a look. */
export const until = async <T>(look: () => Promise<T | undefined>, what: string, news: News = pause): Promise<T> => {
  const deadline = performance.now() + 240_000
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`waited too long for ${what}`)
    await news(5_000)
  }
}

const callerOf =
  (served: Served, stateDir: string) =>
  async <T>(path: string, body?: unknown): Promise<T> => {
    const token = readFileSync(join(stateDir, 'token'), 'utf8').trim()
    const answer = await sendTo(served.socket)(`${served.url}${path}`, {
      headers: {
        ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json' },
        // The engine is in this process: while git is waited for, it would close what is kept, unseen.
        connection: 'close',
      },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    const value = (await answer.json()) as T
    if (!answer.ok) throw new Error(JSON.stringify(value))
    return value
  }

const engineParts = ['src', 'bin', 'node_modules/.cache'].map((folder) => join(checkout, folder, '/'))
const patience = { timeout: 20_000, interval: 50 }

/** What the oracle holds commits against. A check that is itself hostile is not started outside of the engine. */
const askedBy = (tasks: readonly Task[]): { commands: string[]; given: string[] } => ({
  commands: tasks.flatMap(({ commands }) => commands).filter((line) => !line.includes(fixture(''))),
  given: tasks.flatMap(({ allowedPaths }) => allowedPaths),
})

/** A hostile program, else a fault agent. One that is not there would only look like an agent that fails. */
const programOf = (agent: string): string => {
  const places = [fixture(`${agent}.mjs`), join(checkout, 'sim', 'agents', `${agent}.ts`)]
  const found = places.find((path) => existsSync(path))
  if (found === undefined) throw new Error(`there is no agent "${agent}"`)
  return found
}

const makeUser = (options: SceneOptions, agents: string[]) => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-hostile-')))
  const root = join(top, 'project')
  const outside = join(top, 'outside')
  const canary = makeCanary(top)
  mkdirSync(root)
  mkdirSync(outside)
  writeFileSync(join(outside, 'private.txt'), 'nobody else reads this\n')
  user(root, 'init', '--quiet', '--initial-branch=main')
  const harnesses = agents.map((agent) => {
    const command = options.commands?.[agent] ?? [process.execPath, programOf(agent), root, canary.path, outside]
    return [agent, { driver: options.drivers?.[agent] ?? 'command', command }] as const
  })
  const config = {
    // An agent that fails for no known cause is tried again after a pause.
    retry: { transientBaseSeconds: 0.3, transientMaxSeconds: 1 },
    harness: { default: agents[0], ...Object.fromEntries(harnesses) },
    // The question comes right after the recoveries of the run; requeue and rework have suites of their own.
    requeue: { inPlaceLimit: 0, reworkDepth: 0 },
    // The size of a change is not what these scenes are about.
    change: { maxFiles: -1, maxLines: -1 },
    policyRecovery: { useLlm: false },
    lease: { ttlSeconds: 30 },
    ...options.config,
  }
  put(root, {
    ...(options.bare === true ? { 'README.md': standardFiles['README.md'] } : standardFiles),
    ...options.files,
    '.gitignore': `${['.unstuck/', ...(options.ignored ?? [])].join('\n')}\n`,
  })
  commitAll(root, 'first')
  // Uncommitted, staged and stashed work of the user, all of which must stay as it is.
  put(root, { 'README.md': 'stashed\n' })
  user(root, 'stash', '--quiet')
  user(root, 'branch', 'side')
  put(root, { 'staged.txt': 'staged\n', 'README.md': 'edited, not committed\n', 'notes/untracked.txt': 'mine\n' })
  user(root, 'add', 'staged.txt')
  put(root, { '.unstuck/config.json': JSON.stringify(config) })
  options.arrange?.({ top, root, outside, canary })
  return { top, root, outside, canary }
}

/** Starts the engine over a new repository; the agents are programs of test/fixture/hostile or sim/agents, the first one is the default. */
export const openScene = async (agents: string[], options: SceneOptions = {}): Promise<Scene> => {
  const { top, root, outside, canary } = makeUser(options, agents)
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: join(top, 'home'),
    UNSTUCK_HOME: join(top, 'state'),
    XDG_CACHE_HOME: join(checkout, 'node_modules', '.cache'),
    ...options.environment,
  }
  mkdirSync(environment.HOME, { recursive: true })
  let before = picture(root)
  const outsideBefore = picture(outside)
  let shown = 0
  const base = user(root, 'rev-parse', 'HEAD')
  const asked = new Map<string, { branch: string; commands: string[]; given: string[] }>()
  let known = new Set(commitsOf(root))
  const stateDir = stateDirOf(environment, (await openRepository(root)).id)
  prepareEngineHome(environment.UNSTUCK_HOME)
  const served = await serve({ root, environment, version: 'test' })
  const api = callerOf(served, stateDir)
  const status = (): Promise<StatusView> => api<StatusView>('/status')
  const allEvents = async (): Promise<EventView[]> => {
    const after = shown
    const found: EventView[] = []
    for (let page = 500; page === 500;) {
      const next = await api<EventView[]>(`/events?after=${found.at(-1)?.seq ?? after}&limit=500`)
      found.push(...next)
      page = next.length
    }
    return found
  }
  const settled = async (id: string): Promise<GoalView | undefined> => {
    const goal = await api<GoalView>(`/goals/${id}`)
    return goalEnded(goal.state) || ['paused', 'awaiting_human'].includes(goal.state) ? goal : undefined
  }
  const newsSince = createNews((after) => api<EventView[]>(`/events?after=${after}&limit=1000`))
  return {
    top,
    root,
    outside,
    stateDir,
    canary,
    environment,
    api,
    status,
    events: async (type) => (await allEvents()).filter((event) => type === undefined || event.type === type),
    begin: async () => {
      before = picture(root)
      asked.clear()
      known = new Set(commitsOf(root))
      shown = (await allEvents()).at(-1)?.seq ?? shown
    },
    work: async (tasks = [{}], extra = {}) => {
      const request: GoalRequest = {
        input: {
          title: 'A goal',
          requirement: 'work',
          tasks: tasks.map((task, index) => ({ ...standardTask, id: String(index + 1), ...task })),
          allowedDirs: [],
          warnings: [],
        },
        options: { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: null, limits: {}, ...extra },
      }
      const { id, branch } = await api<GoalView>('/goals', request)
      asked.set(id, { branch, ...askedBy(request.input.tasks) })
      return until(() => settled(id), `goal ${id}`, newsSince())
    },
    here: (...args) => runHere(args, { cwd: root, environment }),
    cli: async (...args) =>
      execa(process.execPath, [join(checkout, 'bin', 'unstuck.js'), ...args], {
        cwd: root,
        env: environment,
        extendEnv: false,
        reject: false,
        stripFinalNewline: false,
        // A bounded log is at most twice 64 MiB; what execa buffers by default is less, and it then ends the command.
        maxBuffer: 256 * 1024 * 1024,
      }),
    expectUnharmed: async (except = () => false) => {
      const kept = (all: Record<string, string>) =>
        Object.fromEntries(Object.entries(all).filter(([path]) => !except(path)))
      expect(canary.sung() ? readFileSync(canary.path, 'utf8') : 'silent').toBe('silent')
      expect(kept(picture(root))).toEqual(kept(before))
      expect(kept(picture(outside))).toEqual(kept(outsideBefore))
      // Branches of other goals that an agent moved are put back in the next pass of the engine.
      const wrong = async () => (await api<DoctorView>('/doctor')).checks.filter(({ ok }) => !ok)
      await expect.poll(wrong, { timeout: 60_000, interval: 500 }).toEqual([])
      for (const event of await allEvents()) {
        if (event.runId !== null) expect(processesWithEnvironment('UNSTUCK_RUN', event.runId)).toEqual([])
      }
      const goals = [...asked.values()]
      const given = goals.flatMap((goal) => goal.given)
      expect(unverifiedCommits({ root, base, known, goals, given })).toEqual([])
      const now = await status()
      expect(
        unclearGoals(
          now,
          now.goals.filter(({ id }) => asked.has(id)),
        ),
      ).toEqual([])
      // The engine's own git comes and goes; what an agent left stays.
      if (process.platform === 'linux') await expect.poll(() => processesIn(top, engineParts), patience).toEqual([])
    },
    stop: () => served.stop(),
    clear: async () => {
      await served.stop()
      await removeFolder(top)
    },
  }
}

/** Files of a commit or branch of the user's repository. */
export const filesAt = (root: string, rev: string): string[] =>
  user(root, 'ls-tree', '-r', '-z', '--name-only', rev)
    .split('\0')
    .filter((name) => name !== '')

/** Everything below a folder whose bytes hold a text. */
export const holders = (folder: string, text: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text))
    .map((path) => relative(folder, path))

export const expectDone = (goal: GoalView): void => {
  expect([goal.state, ...goal.tasks.map(({ place }) => place)]).toEqual(['ready', ...goal.tasks.map(() => 'done')])
}

/** One pending question about the goal's only task, and nothing on the goal branch. */
export const expectOneQuestion = async (scene: Scene, goal: GoalView, wanted: RegExp): Promise<void> => {
  expect(goal.tasks.map(({ place }) => place)).toEqual(['blocked(awaiting_human)'])
  const escalations = (await scene.status()).escalations.filter(({ goalId }) => goalId === goal.id)
  expect(escalations).toHaveLength(1)
  expect(`${escalations[0]?.question}\n${escalations[0]?.details}`).toMatch(wanted)
  expect(user(scene.root, 'rev-parse', goal.branch)).toBe(goal.baseCommit)
}
