/**
 * What a coding agent does in one start, as acts in time: lines that the real drivers read, edits in its workspace, mischief
 * with the user's refs, and how it ends. Written in the words that the CLIs really print.
 */
import type { LaunchSpec } from '../../src/process/shim-protocol.ts'
import type { VerdictWord } from '../../src/domain/judgement.ts'
import type { Dice } from './dice.ts'
import { assertion, brokenBy } from './suite.ts'
import type { Behaviour, ModelAnswer, Solving, TaskPlan } from './plan.ts'

export type Act =
  | { kind: 'line'; stream: 'stdout' | 'stderr'; text: string }
  | { kind: 'edit'; path: string; content: string }
  /** As it was where the run began. */
  | { kind: 'restore'; path: string }
  | { kind: 'commit' }
  | { kind: 'tamper'; what: 'goal' | 'main' | 'delete' }
  | { kind: 'exit'; code: number | null; signal: string | null }

export interface TimedAct {
  at: number
  act: Act
}

/** What a model decided about one path. */
export interface ModelDecision {
  path: string
  action: 'allow' | 'discard' | 'deny'
}

export interface Script {
  /** Undefined for a question. */
  behaviour: Behaviour | undefined
  acts: TimedAct[]
  /** What the oracle may know: this start ends well, and with which grants. */
  opens: boolean
  ends: 'well' | 'badly' | 'never'
  deniedBelow: string | null
  /** Its answer, if it is a question that gets one. */
  decisions?: ModelDecision[]
  /** How it goes, where it has no behaviour. */
  told?: string
  /** What it says about finished work, if anything that may count. */
  verdicts?: readonly VerdictWord[]
}

export interface Start {
  spec: LaunchSpec
  task: TaskPlan
  behaviour: Behaviour
  /** How often its agent was started before. */
  count: number
  session: string
  dice: Dice
}

export const sharedDir = '/outside/shared'
export const privateDir = '/outside/private'

export const line = (value: unknown, stream: 'stdout' | 'stderr' = 'stdout'): Act => ({
  kind: 'line',
  stream,
  text: typeof value === 'string' ? value : JSON.stringify(value),
})
export const exit = (code: number | null, signal: string | null = null): Act => ({ kind: 'exit', code, signal })

export interface Speech {
  open: Act[]
  tool(path: string): Act[]
  denied(path: string): Act[]
  good(cost: number, text?: string): Act[]
  overload: Act[]
  quota: Act[]
  auth: Act[]
}

const claudeSpeech = (session: string, cwd: string): Speech => {
  const base = { session_id: session, parent_tool_use_id: null }
  const usage = { input_tokens: 1200, output_tokens: 40, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
  const answer = (content: unknown[], more: object = {}): Act =>
    line({
      type: 'assistant',
      message: { id: `m-${JSON.stringify(content).length}`, content, usage },
      ...base,
      ...more,
    })
  const use = (path: string): Act =>
    answer([{ type: 'tool_use', id: `u-${path}`, name: 'Write', input: { file_path: path } }])
  const reply = (path: string, content: string, failed: boolean): Act =>
    line({
      type: 'user',
      message: {
        content: [{ type: 'tool_result', tool_use_id: `u-${path}`, content, ...(failed ? { is_error: true } : {}) }],
      },
      ...base,
    })
  const result = (text: string, isError: boolean, cost = 0.02): Act =>
    line({
      type: 'result',
      subtype: 'success',
      is_error: isError,
      result: text,
      session_id: session,
      total_cost_usd: cost,
      usage,
    })
  const failed = (code: string, text: string): Act[] => [
    answer([{ type: 'text', text }], { error: code }),
    result(text, true),
    exit(1),
  ]
  const retry = (attempt: number): Act =>
    line({
      type: 'system',
      subtype: 'api_retry',
      attempt,
      max_retries: 10,
      retry_delay_ms: 600,
      error_status: 529,
      error: 'overloaded',
      session_id: session,
    })
  return {
    open: [
      line({ type: 'system', subtype: 'init', cwd, session_id: session, model: 'sim', claude_code_version: '2.1.197' }),
    ],
    tool: (path) => [use(path), reply(path, `File created successfully at: ${path}`, false)],
    denied: (path) => [
      use(path),
      reply(path, `Claude requested permissions to write to ${path}, but you haven't granted it yet.`, true),
    ],
    good: (cost, text = 'All done.') => [answer([{ type: 'text', text }]), result(text, false, cost), exit(0)],
    overload: [
      retry(1),
      retry(2),
      ...failed('server_error', 'API Error: Repeated 529 Overloaded errors. The API is at capacity'),
    ],
    quota: failed('billing_error', 'Credit balance is too low'),
    auth: failed('authentication_failed', 'Invalid API key'),
  }
}

const codexSpeech = (session: string): Speech => {
  const item = (path: string): object => ({ id: `i-${path}`, type: 'file_change', changes: [{ path, kind: 'add' }] })
  const failed = (message: string): Act[] => [
    line({ type: 'error', message }),
    line({ type: 'turn.failed', error: { message } }),
    exit(1),
  ]
  return {
    open: [line({ type: 'thread.started', thread_id: session }), line({ type: 'turn.started' })],
    tool: (path) => [
      line({ type: 'item.started', item: { ...item(path), status: 'in_progress' } }),
      line({ type: 'item.completed', item: { ...item(path), status: 'completed' } }),
    ],
    denied: (path) => [
      line(
        `2026-01-01T00:00:00.000000Z  WARN codex_sandboxing::violation: recorded sandbox violation: resource=filesystem operation=write reason=read_only_file_system path=${path}`,
        'stderr',
      ),
    ],
    good: (_cost, text = 'All done.') => [
      line({ type: 'item.completed', item: { id: 'i-end', type: 'agent_message', text } }),
      line({ type: 'turn.completed', usage: { input_tokens: 2400, cached_input_tokens: 0, output_tokens: 84 } }),
      exit(0),
    ],
    overload: failed('Selected model is at capacity. Please try a different model.'),
    quota: failed('Quota exceeded. Check your plan and billing details.'),
    auth: failed('unexpected status 401 Unauthorized'),
  }
}

const toolSpeech = (): Speech => {
  const temporary = [line('the service is busy', 'stderr'), exit(75)]
  return {
    open: [line('working')],
    tool: (path) => [line(`writing ${path}`)],
    denied: () => [],
    good: (_cost, text = 'All done.') => [line(text), exit(0)],
    overload: temporary,
    quota: [line('no credit is left', 'stderr'), exit(3)],
    auth: [line('not logged in', 'stderr'), exit(4)],
  }
}

/** By the program that is started: a task may continue with another harness, and a reviewer mostly has another one. */
const harnessOf = ({ spec }: Pick<Start, 'spec'>): TaskPlan['harness'] =>
  (['claude', 'codex'] as const).find((name) => spec.argv[0]?.endsWith(`/${name}`)) ?? 'tool'

export const speechOf = (start: Pick<Start, 'spec' | 'session'>): Speech => {
  const harness = harnessOf(start)
  if (harness === 'claude') return claudeSpeech(start.session, start.spec.cwd)
  return harness === 'codex' ? codexSpeech(start.session) : toolSpeech()
}

/** Work that a reviewer objected to is done in another way. */
const content = (start: Start, path: string): string =>
  `${start.task.id} ${path}${isTold(start, '## Objection to the work') ? ` corrected ${start.count}` : ''}\n`

const work = (start: Start, speech: Speech): Act[] =>
  start.task.paths.flatMap((path) => [
    ...speech.tool(`${start.spec.cwd}/${path}`),
    { kind: 'edit' as const, path, content: content(start, path) },
  ])

export const edit = (path: string, text: string): Act => ({ kind: 'edit', path, content: text })

const denial = (start: Start, speech: Speech, dir: string): { acts: Act[]; below: string | null } => {
  const granted = start.spec.argv.some((word, at) => word === dir && start.spec.argv[at - 1] === '--add-dir')
  if (granted || harnessOf(start) === 'tool')
    return { acts: [...work(start, speech), ...speech.good(0.02)], below: null }
  return { acts: [...speech.denied(`${dir}/${start.task.id}`), ...speech.good(0.02)], below: dir }
}

/** Whether the launch tells the agent so, in its prompt. */
const isTold = ({ spec }: Start, words: string): boolean => spec.argv.some((word) => word.includes(words))

/** Files outside the task; a worker takes them back as soon as it is told about them. */
export const extraOf = ({ id }: TaskPlan): string => `elsewhere/extra-${id}`
export const buildFile = 'tool.json'
/** `npm test` makes it again. */
export const reportFile = 'coverage/sum'
const madeFileOf = ({ id }: TaskPlan): string => `dist/app-${id}`
export const secretFile = '.env'

const withExtra = (start: Start, speech: Speech, path: string): Act[] => {
  const extra: Act = isTold(start, path) ? { kind: 'restore', path } : edit(path, `${start.task.id} was here\n`)
  return [...work(start, speech), extra, ...speech.good(0.02)]
}

const workBroken = (start: Start, speech: Speech, tests: string[]): Act[] => [
  ...work(start, speech),
  ...(tests.length === 0 ? [] : [edit(`src/${start.task.id}`, brokenBy(...tests))]),
  ...speech.good(0.02),
]

/** In the words of Claude; only plans written by hand have these. */
const overlong = line({
  ...{ type: 'result', subtype: 'success', is_error: true, terminal_reason: 'prompt_too_long' },
  result: 'Prompt is too long',
})
const sessionless = line('No conversation found with session ID: session-0', 'stderr')

/** What follows the opening, by behaviour. */
const bodyOf = (start: Start, speech: Speech): { acts: Act[]; below?: string | null; opens?: boolean } => {
  const { behaviour, task, spec } = start
  const done = [...work(start, speech), ...speech.good(0.02)]
  switch (behaviour) {
    case 'success':
      return { acts: done }
    case 'own-commits':
      return { acts: [...work(start, speech), { kind: 'commit' }, ...speech.good(0.02)] }
    case 'no-change':
      return { acts: speech.good(0.02) }
    case 'denied':
      return denial(start, speech, sharedDir)
    case 'denied-for-good':
      return denial(start, speech, privateDir)
    case 'trust':
      if (harnessOf(start) !== 'codex' || spec.argv.includes('--skip-git-repo-check')) return { acts: done }
      return {
        acts: [line('Not inside a trusted directory and --skip-git-repo-check was not specified.', 'stderr'), exit(1)],
        opens: false,
      }
    case 'overload':
    case 'exit-75':
      return { acts: speech.overload }
    case 'quota':
      return { acts: speech.quota }
    case 'auth':
      return { acts: speech.auth }
    case 'crash':
      return { acts: [...work(start, speech).slice(0, 3), exit(1)] }
    case 'killed':
      return { acts: [...work(start, speech).slice(0, 3), exit(null, 'SIGKILL')] }
    case 'hang':
      return { acts: work(start, speech) }
    // The same call with the same answer; a CLI that does not tell its input falls silent after it.
    case 'circles':
      return { acts: Array.from({ length: 8 }, () => work(start, speech)).flat() }
    case 'linger':
      return { acts: done.filter(({ kind }) => kind !== 'exit') }
    case 'outside':
      return { acts: [...work(start, speech), edit('elsewhere/file', `${task.id}\n`), ...speech.good(0.02)] }
    case 'broken':
      return { acts: [...work(start, speech), edit(`src/${task.id}`, brokenBy()), ...speech.good(0.02)] }
    // Right as soon as it is told what fails.
    case 'told':
      return { acts: isTold(start, assertion) ? done : workBroken(start, speech, ['one', 'two']) }
    // Mends one test for each time that it is started.
    case 'shrinks':
      return { acts: workBroken(start, speech, ['one', 'two', 'three'].slice(start.count)) }
    // Another set of the same size each time: no progress.
    case 'wanders':
      return { acts: workBroken(start, speech, [`test-${start.count}`]) }
    case 'stray': {
      const told = isTold(start, 'elsewhere/stray')
      const stray: Act = told ? { kind: 'restore', path: 'elsewhere/stray' } : edit('elsewhere/stray', `${task.id}\n`)
      return { acts: [...work(start, speech), stray, ...speech.good(0.02)] }
    }
    case 'extra':
      return { acts: withExtra(start, speech, extraOf(task)) }
    case 'build-file':
      return { acts: withExtra(start, speech, buildFile) }
    case 'report':
      return { acts: withExtra(start, speech, reportFile) }
    case 'looks-made':
      return { acts: withExtra(start, speech, madeFileOf(task)) }
    case 'secret':
      return { acts: withExtra(start, speech, secretFile) }
    case 'clash':
      return { acts: [edit(`src/clash-${start.dice.pick(['a', 'b'])}`, 'here\n'), ...done] }
    case 'costly':
      return { acts: [...work(start, speech), ...speech.good(9)] }
    case 'overlong':
      return { acts: [...work(start, speech).slice(0, 3), overlong, exit(1)] }
    case 'sessionless':
      return { acts: [sessionless, exit(1)], opens: false }
    case 'tamper-goal':
      return { acts: [...work(start, speech), { kind: 'tamper', what: 'goal' }, ...speech.good(0.02)] }
    case 'tamper-main':
      return {
        acts: [...work(start, speech), { kind: 'commit' }, { kind: 'tamper', what: 'main' }, ...speech.good(0.02)],
      }
    case 'tamper-delete':
      return { acts: [...work(start, speech), { kind: 'tamper', what: 'delete' }, ...speech.good(0.02)] }
  }
}

/** The paths that a question of ours is about; it names them in its JSON. */
const askedAbout = ({ spec, task }: Start): string[] => {
  const text = spec.argv.join(' ')
  const listed = [extraOf(task), madeFileOf(task), reportFile, buildFile, 'elsewhere/stray', 'elsewhere/file']
  return listed.filter((path) => text.includes(path))
}

const decisionsOf = (start: Start, answer: ModelAnswer): ModelDecision[] | undefined => {
  const paths = askedAbout(start)
  if (answer === 'allow' || answer === 'discard' || answer === 'deny')
    return paths.map((path) => ({ path, action: answer }))
  if (answer === 'writes') return paths.map((path) => ({ path, action: 'allow' }))
  if (answer === 'nothing') return []
  if (answer !== 'greedy') return undefined
  return ['**', 'package.json', secretFile, '../outside', ...paths].map((path) => ({ path, action: 'allow' }))
}

/** A session that was started to answer a question about changed paths. */
export const answerScript = (start: Omit<Start, 'behaviour' | 'count'>, answer: ModelAnswer): Script => {
  const asked = { ...start, behaviour: 'success' as const, count: 0 }
  const speech = speechOf(asked)
  const decisions = decisionsOf(asked, answer)
  const json = JSON.stringify({
    decisions: (decisions ?? []).map((decision) => ({ ...decision, reason: 'so be it' })),
    ...{ summary: 'Decided.', confidence: 0.9 },
  })
  const body: Record<'other' | 'garbage' | 'hang' | 'crash' | 'quota' | 'writes', Act[]> = {
    other: speech.good(0.02, json),
    garbage: speech.good(0.02, 'I would rather not say.'),
    hang: [],
    crash: [exit(1)],
    quota: speech.quota,
    writes: [edit('src/by-question', 'x'), ...speech.good(0.02, json)],
  }
  const chosen = Object.hasOwn(body, answer) ? (answer as keyof typeof body) : 'other'
  const acts = [...speech.open, ...body[chosen]]
  const timed = acts.map((act, index) => ({ at: Math.round((1_500 * (index + 1)) / acts.length), act }))
  return {
    ...{ behaviour: undefined, acts: timed, opens: true, deniedBelow: null },
    ends: answer === 'hang' ? 'never' : chosen === 'crash' || chosen === 'quota' ? 'badly' : 'well',
    ...(decisions === undefined ? {} : { decisions }),
  }
}

/** Files in which conflict markers are left: the launch names them. */
const markedPaths = (start: Start): string[] => start.task.paths.filter((path) => isTold(start, path))

/** An agent that solves a conflict of finished work. */
export const solvingScript = (start: Start, solving: Solving): Script => {
  const speech = speechOf(start)
  const marked = markedPaths(start)
  const solved = marked.map((path) => edit(path, `${start.task.id} ${path} with both sides ${start.count}\n`))
  const left = marked.map((path) => edit(path, `<<<<<<< ours\n${start.task.id}\n=======\n`))
  const good = speech.good(0.02)
  const body: Record<Solving, Act[]> = {
    solves: [...solved, ...good],
    leaves: [...left, ...good],
    told: [...(start.count > 0 ? solved : left), ...good],
    'gives-way': [...marked.map((path): Act => ({ kind: 'restore', path })), ...good],
    breaks: [...solved, edit(`src/${start.task.id}`, brokenBy('after the conflict')), ...good],
    crash: [...solved.slice(0, 1), exit(1)],
    hang: solved.slice(0, 1),
  }
  const acts = [...speech.open, ...body[solving]]
  const span = start.task.worksMs
  return {
    ...{ behaviour: undefined, told: `to solve a conflict: ${solving}`, opens: true, deniedBelow: null },
    acts: acts.map((act, index) => ({ at: Math.round((span * (index + 1)) / acts.length), act })),
    ends: solving === 'hang' ? 'never' : solving === 'crash' ? 'badly' : 'well',
  }
}

export const scriptOf = (start: Start): Script => {
  const speech = speechOf(start)
  const { acts: body, below = null, opens = true } = bodyOf(start, speech)
  const acts = [...(opens ? speech.open : []), ...body]
  const end = acts.findIndex(({ kind }) => kind === 'exit')
  const last = acts[end]
  const span = start.task.worksMs
  const timed = acts.map((act, index) => ({ at: Math.round((span * (index + 1)) / acts.length), act }))
  const ends = last === undefined ? 'never' : last.kind === 'exit' && last.code === 0 ? 'well' : 'badly'
  return { behaviour: start.behaviour, acts: timed, opens, ends, deniedBelow: below }
}
