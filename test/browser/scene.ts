/**
 * One engine over one repository, and Chromium looking at it as a person would. The agents are small programs that fail,
 * talk and wait as they are told by files. The engine can be stopped and started again under an open page.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type BrowserContext, type Page } from 'playwright-core'
import { sendTo } from '../../src/cli/engine/send-over-socket.ts'
import type { GoalRequest, GoalView, LoginUrl, StatusView } from '../../src/api/contract.ts'
import { serve, type Served } from '../../src/api/serve.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { standardTask } from '../hostile/scene.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { commitAll, put, user } from '../workspace/scene.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))
const agent = (path: string): string => join(checkout, path)

export type SceneTask = Partial<GoalRequest['input']['tasks'][number]>

export interface BrowserScene {
  root: string
  url(): string
  api<T>(path: string, body?: unknown): Promise<T>
  begin(title: string, tasks: SceneTask[]): Promise<GoalView>
  status(): Promise<StatusView>
  /** Tells the talking agent: how many lines it has to have said, and that it may end. */
  say(lines: number): void
  go(): void
  login(): Promise<string>
  stop(): Promise<void>
  start(): Promise<void>
  /** What the browser complained about: errors of scripts and of the page's policy. */
  complaints: string[]
  context(options?: Parameters<Awaited<ReturnType<typeof chromium.launch>>['newContext']>[0]): Promise<BrowserContext>
  /** A page that is logged in. */
  page(context: BrowserContext): Promise<Page>
  clear(): Promise<void>
}

const chromiumArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export const launchChromium = (): ReturnType<typeof chromium.launch> =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: chromiumArguments })

const makeRepository = (top: string, more: object, harnesses: object): string => {
  const root = join(top, 'parser')
  mkdirSync(root)
  const node = process.execPath
  writeFileSync(
    join(top, 'answer.json'),
    JSON.stringify({ edits: [{ path: 'src/work.txt', after: 'done\n' }], text: 'Done.' }),
  )
  const config = {
    // The question comes right after the recoveries of the run; requeue and rework have suites of their own.
    requeue: { inPlaceLimit: 0, reworkDepth: 0 },
    policyRecovery: { useLlm: false },
    harness: {
      default: 'talker',
      talker: { driver: 'command', command: [node, agent('test/fixture/browser/talker.mjs'), top] },
      overloaded: {
        driver: 'claude',
        command: [node, agent('sim/agents/overloaded.ts'), join(top, 'answer.json'), join(top, 'overloaded')],
      },
      fenced: { driver: 'claude', command: [node, agent('test/fixture/browser/fenced-once.mjs'), join(top, 'fenced')] },
      proposer: { driver: 'command', command: [node, agent('test/fixture/browser/proposer.mjs')] },
      untrusting: { driver: 'codex', command: [node, agent('sim/agents/untrusting.ts'), join(top, 'answer.json')] },
      ...harnesses,
    },
    retry: { transientBaseSeconds: 600 },
    maxParallel: 3,
    ...more,
  }
  put(root, {
    'check.mjs':
      "import { readFileSync } from 'node:fs'\nif (!readFileSync('src/work.txt', 'utf8').includes('done')) process.exit(1)\n",
    // Passes as long as nobody works: what fails it is the work.
    'untouched.mjs':
      "import { readFileSync } from 'node:fs'\nif (readFileSync('src/work.txt', 'utf8').includes('done')) process.exit(1)\n",
    // Fails whatever the agent does, and says why.
    'asserts.mjs': "import assert from 'node:assert'\nassert.equal('closed', 'open', 'the gate of the parser')\n",
    // The tests cannot start on this machine.
    'starts.mjs':
      'console.error(\'Cannot start service: Host version "0.21.5" does not match binary version "0.27.2"\')\nprocess.exit(1)\n',
    'src/work.txt': 'open\n',
    '.gitignore': '.unstuck/\n',
  })
  user(root, 'init', '--quiet', '--initial-branch=main')
  commitAll(root, 'first')
  put(root, { '.unstuck/config.json': JSON.stringify(config, null, 2) })
  return root
}

/** `more`: keys of the configuration in addition; `harnesses`: harnesses in addition. */
export const openBrowserScene = async (more: object = {}, harnesses: object = {}): Promise<BrowserScene> => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-browser-')))
  const root = makeRepository(top, more, harnesses)
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: join(top, 'home'),
    UNSTUCK_HOME: join(top, 'state'),
    XDG_CACHE_HOME: join(checkout, 'node_modules', '.cache'),
  }
  mkdirSync(environment.HOME)
  let served: Served | undefined
  const start = async (): Promise<void> => void (served = await serve({ root, environment, version: '1.2.3' }))
  const stop = async (): Promise<void> => served?.stop()
  const stateDir = stateDirOf(environment, (await openRepository(root)).id)
  prepareEngineHome(environment.UNSTUCK_HOME)
  await start()
  const token = readFileSync(join(stateDir, 'token'), 'utf8').trim()
  const api = async <T>(path: string, body?: unknown): Promise<T> => {
    const answer = await sendTo(served?.socket)(`${served?.url}${path}`, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.json()) as T
  }
  const browser = await launchChromium()
  const complaints: string[] = []
  const login = async (): Promise<string> => (await api<LoginUrl>('/login-codes', {})).url
  return {
    root,
    url: () => served?.url ?? '',
    api,
    begin: async (title, tasks) =>
      api<GoalView>('/goals', {
        input: {
          title,
          requirement: `${title}, please.`,
          tasks: tasks.map((task, index) => ({ ...standardTask, id: String(index + 1), ...task })),
          allowedDirs: [],
          warnings: [],
        },
        options: { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: null, limits: {} },
      } satisfies GoalRequest),
    status: () => api<StatusView>('/status'),
    say: (lines) => writeFileSync(join(top, 'say'), String(lines)),
    go: () => writeFileSync(join(top, 'go'), ''),
    login,
    stop,
    start,
    complaints,
    context: (options = {}) => browser.newContext({ viewport: { width: 1440, height: 900 }, ...options }),
    page: async (context) => {
      const page = await context.newPage()
      page.on('pageerror', (error) => complaints.push(String(error)))
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text())
      })
      await page.goto(await login())
      await page.getByRole('link', { name: 'Unstuck', exact: true }).waitFor({ timeout: 60_000 })
      return page
    },
    clear: async () => {
      await browser.close()
      await stop()
      await removeFolder(top)
    },
  }
}
