/**
 * The matrix of harness and fault: every cell is one goal of one task that a real CLI works on for a scripted model which
 * misbehaves, through the command line and the engine. What a cell ends in is data (test/fixture/matrix.json): docs/harnesses.md
 * prints it, and matrix.test.ts holds it against what happens.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CliName } from '../../scripts/install-clis.ts'
import type { ScriptInput } from '../../sim/script.ts'
import type { MatrixCell } from '../../scripts/harnesses-page.ts'
import { openUser, until, type Printed, type User } from './user.ts'

/** `acp`: Gemini CLI as an agent of the Agent Client Protocol. */
export type Player = CliName | 'acp'
export const cliOf = (player: Player): CliName => (player === 'acp' ? 'gemini' : player)

type Steps = ScriptInput['conversations'][number]['steps']

/** `waits`: parked until a time, with nobody asked. `asks`: one question to a person, and nothing runs. */
export type Ending = 'done' | 'recovered' | 'waits' | 'asks'

interface Fault {
  id: string
  /** For the page. */
  about: string
  steps: (root: string, cli: CliName) => Steps
  config?: (root: string) => Printed
  environment?: Record<string, string>
  /** In the user's own folder, which is no repository. */
  direct?: boolean
}

const made: Steps = [{ write: { path: 'made.txt', content: 'made\n' } }, { text: 'Made.' }]
const always = 'always' as const
/** In the words of each provider, because some CLIs pass nothing else on. */
const noModel: Record<CliName, string> = {
  claude: 'model: claude-x',
  codex: 'The model `gpt-x` does not exist or you do not have access to it.',
  gemini: 'models/gemini-x is not found for API version v1beta, or is not supported for generateContent.',
  opencode: 'The model `m1` does not exist or you do not have access to it.',
}
/** What a server says that names a time. */
const resetSeconds = 3600
/** Where the CLI does not pass it on. */
const patient = { retry: { quotaBaseSeconds: 900, quotaMaxSeconds: 900 } }
const outside = (root: string): string => join(root, 'outside')

const writesOutside = (root: string): Steps => [
  { write: { path: join(outside(root), 'made.txt'), content: 'made\n' } },
  { text: 'I may not write there.' },
  { write: { path: join(outside(root), 'made.txt'), content: 'made\n' } },
  ...made,
]

export const faults: Fault[] = [
  { id: 'none', about: 'nothing fails', steps: () => made },
  {
    id: 'scope-allowed',
    about: 'a file in another directory, which is among the allowed ones',
    steps: writesOutside,
    config: (root) => ({ allowedDirs: [outside(root)] }),
  },
  { id: 'scope-refused', about: 'a file in another directory, which is not allowed', steps: writesOutside },
  { id: 'no-repository', about: 'a folder that is no git repository', steps: () => made, direct: true },
  {
    id: 'overload',
    about: 'overloaded (529 or 503), then well',
    steps: () => [{ error: { status: 503, times: 6 } }, ...made],
  },
  {
    id: 'rate-limit',
    about: '429 that names no time, then well',
    steps: () => [{ error: { status: 429, times: 2 } }, ...made],
  },
  {
    id: 'rate-limit-reset',
    about: '429 with Retry-After of an hour',
    steps: () => [{ error: { status: 429, retryAfterSeconds: resetSeconds, times: always } }],
    config: () => patient,
  },
  {
    id: 'usage-limit',
    about: 'the limit of the account, which resets in an hour',
    steps: () => [{ limit: { resetInSeconds: resetSeconds, times: always } }],
    config: () => patient,
  },
  { id: 'wrong-key', about: 'a wrong key (401)', steps: () => [{ error: { status: 401, times: always } }] },
  {
    id: 'no-model',
    about: 'a model that is not there (404)',
    steps: (_root, cli) => [{ error: { status: 404, message: noModel[cli], times: always } }],
  },
  { id: 'overflow', about: 'a conversation that became too long', steps: () => [{ overflow: { times: 1 } }, ...made] },
  { id: 'cut', about: 'a stream that breaks off', steps: () => [{ cut: { times: 2 } }, ...made] },
  { id: 'garbage', about: 'HTML in place of an answer', steps: () => [{ garbage: { times: 3 } }, ...made] },
  { id: 'silence', about: 'a server that never answers', steps: () => [{ silence: { times: 1 } }, ...made] },
  {
    id: 'linger',
    about: 'a stream that stays open behind its last answer',
    steps: () => [...made.slice(0, 1), { linger: true }, ...made.slice(1)] as Steps,
  },
  {
    id: 'doom-loop',
    about: 'the same call again and again',
    steps: () => [{ again: { shell: 'cat package.json', times: 60 } }, ...made],
  },
  { id: 'no-change', about: 'an end without any work', steps: () => [{ text: 'All done.' }, ...made] },
  { id: 'empty', about: 'an empty answer', steps: () => [{ empty: { times: 1 } }, ...made] },
]

const check = "process.exit(require('fs').existsSync('made.txt') ? 0 : 1)\n"

const setUp = (user: User, player: Player, fault: Fault): void => {
  const { project, git } = user
  mkdirSync(outside(user.root))
  writeFileSync(join(project, 'package.json'), '{ "scripts": { "check": "node check.js" } }\n')
  writeFileSync(join(project, 'check.js'), check)
  user.configure({
    // A person would wait longer; what is shown is that and how it ends.
    stall: { silenceSeconds: 20, afterToolResultSeconds: 20, toolSeconds: 40, lingerSeconds: 5 },
    retry: { transientBaseSeconds: 1, transientMaxSeconds: 5, quotaBaseSeconds: 2, quotaMaxSeconds: 5 },
    ...fault.config?.(user.root),
  })
  if (player === 'acp') user.configureHarness('gemini', { driver: 'acp', args: ['--acp'] }, 'acp')
  if (fault.direct === true) return
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'Start')
}

const settledStates = new Set(['ready', 'done', 'failed', 'cancelled', 'paused', 'awaiting_human'])

/** A minute is longer than any wait of these settings, so what waits longer was told to. */
const longWait = 60_000

const isParked = (task: Printed | undefined): boolean =>
  typeof task?.retry?.at === 'string' && Date.parse(task.retry.at) - Date.now() > longWait

const settled = async (user: User): Promise<{ goal: Printed; task: Printed } | undefined> => {
  const [status] = await user.lines('status')
  const [goal] = (status?.goals ?? []) as Printed[]
  const [task] = ((await user.lines('tasks'))[0] ?? []) as Printed[]
  if (goal === undefined || task === undefined) return undefined
  return settledStates.has(goal.state) || isParked(task) ? { goal, task } : undefined
}

/** Some CLIs name the minute alone, all of them begin to count later than this task, and a jitter is added. */
const isAtReset = ({ retry }: Printed): boolean =>
  Math.abs(Date.parse(retry.at) - Date.now() - resetSeconds * 1000) < 600_000

const outputsBelow = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.startsWith('stdout-') && !entry.parentPath.includes('check'))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()

const transcriptOf = (user: User): string => {
  const hash = createHash('sha256')
  const home = join(user.root, 'unstuck')
  for (const path of existsSync(home) ? outputsBelow(home) : []) hash.update(readFileSync(path))
  return hash.digest('hex').slice(0, 16)
}

const telling = new Set(['recovery', 'blocker', 'escalation.opened', 'task.quota_wait'])

/** Each once: what helped, what was tried without effect where that was all, and what a person is asked about. */
const waysOf = (events: Printed[], task: Printed): string[] => {
  const tried = events.filter(({ type }) => type === 'recovery').map(({ payload }) => payload)
  const helped = tried.filter(({ status }) => status === 'success').map((recovery) => recovery.action_taken as string)
  const fruitless = tried.map((recovery) => `${recovery.action_taken} without effect`)
  const asked = events.filter(({ type }) => type === 'task.escalated').map(({ payload }) => payload.label as string)
  const waits = isParked(task)
    ? [`${task.retry.reason} ${isAtReset(task) ? 'until the stated reset' : 'with backoff'}`]
    : []
  return [...new Set([...(helped.length > 0 ? helped : fruitless), ...asked, ...waits])]
}

const endingOf = ({ goal, task }: { goal: Printed; task: Printed }, ways: string[]): Ending => {
  if (isParked(task)) return 'waits'
  if (goal.state === 'paused' || goal.state === 'awaiting_human') return 'asks'
  if (goal.state !== 'ready' && goal.state !== 'done') throw new Error(`the goal ended ${goal.state}`)
  return ways.length === 0 ? 'done' : 'recovered'
}

/** Every launch of every run, in order; the paths in them, and so the hash, are those of this one play. */
const cellOf = (
  user: User,
  { end, events, runs }: { end: { goal: Printed; task: Printed }; events: Printed[]; runs: Printed[] },
): MatrixCell => {
  const ways = waysOf(events, end.task)
  return {
    ending: endingOf(end, ways),
    by: ways,
    runs: runs.length,
    launches: runs.reduce((sum, run) => sum + run.launches.length, 0),
    transcript: transcriptOf(user),
    events: events.filter(({ type }) => telling.has(type)).map(({ id }) => id as number),
  }
}

/** Plays one cell to its end and closes everything; `detail` is for whoever looks at a cell that surprises. */
export const playCell = async (player: Player, fault: Fault): Promise<{ cell: MatrixCell; detail: Printed }> => {
  const user = await openUser(
    (root) => [{ name: 'job', match: 'Make the file', steps: fault.steps(root, cliOf(player)) }],
    fault.environment ?? {},
    [cliOf(player)],
  )
  try {
    setUp(user, player, fault)
    const tasks = join(user.root, 'tasks.json')
    const task = {
      title: 'Make the file',
      instructions: 'Make the file.',
      harness: player,
      commands: ['npm run check'],
    }
    writeFileSync(tasks, JSON.stringify({ version: 1, goal: 'Make the file', tasks: [task] }))
    const begun = Date.now()
    const direct = fault.direct === true ? ['--direct'] : []
    const accepted = await user.unstuck('run', tasks, ...direct, '--detach', '--json')
    if (accepted.code !== 0) throw new Error(`${player}, ${fault.id}: ${accepted.stderr}`)
    const end = await until(`${player}, ${fault.id} comes to an end`, () => settled(user), 420)
    const events = await user.events((JSON.parse(accepted.stdout) as Printed).id as string)
    const runs = ((await user.lines('runs'))[0] ?? []) as Printed[]
    const cell = cellOf(user, { end, events, runs })
    return { cell, detail: { ...end, events, runs, begun, left: await user.leave() } }
  } finally {
    await user.close()
  }
}
