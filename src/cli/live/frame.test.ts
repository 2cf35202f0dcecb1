import { describe, expect, test } from 'vitest'
import type { ActivityView } from '../../api/contract.ts'
import { createPaint } from '../render.ts'
import { frame, type FrameOptions, type LiveView } from './frame.ts'
import { widthOf } from '../width.ts'

const now = new Date(2026, 10, 24, 23, 32, 5)
const ago = (seconds: number): string => new Date(now.getTime() - seconds * 1000).toISOString()
const paint = createPaint(false)

type Task = LiveView['goal']['tasks'][number]
type Run = NonNullable<Task['run']>

const task = (number: number, title: string, more: Partial<Omit<Task, 'run'>> & { run?: Partial<Run> } = {}): Task =>
  ({
    ...{ id: `t-${number}`, number, title, status: 'queued', harness: 'claude', nextStep: null, supersededBy: null },
    ...more,
    run: more.run === undefined ? null : { id: `r-${number}`, startedAt: ago(72), ...more.run },
  }) as Task

const view = (tasks: Task[], activities: Record<string, Partial<ActivityView>> = {}, more: object = {}): LiveView => ({
  goal: {
    ...{ id: 'g-1', title: 'Add a health endpoint', state: 'active', createdAt: ago(185), targetBranch: 'main' },
    ...more,
    tasks,
  } as LiveView['goal'],
  activities: new Map(
    Object.entries(activities).map(([id, some]) => [id, { tokens: 0, last: null, check: null, report: null, ...some }]),
  ),
  silent: false,
})

const busy = view(
  [
    task(1, 'Read the code', { status: 'done' }),
    task(2, 'Write the endpoint GET /health with its version, its uptime and the state of the database connection', {
      ...{ status: 'running', run: { phase: 'supervise' } },
    }),
    task(3, 'Test it', { status: 'running', run: { phase: 'verify', startedAt: ago(8) } }),
    task(4, 'Document it', {
      nextStep: { owner: 'dispatcher', text: 'waiting for task 2 "Write" and task 3 "Test it"' },
    }),
    task(5, 'Add it to the dashboard', {
      status: 'blocked(quota_wait)',
      nextStep: { owner: 'dispatcher', text: 'the limit resets', at: new Date(2026, 10, 24, 23, 36, 5).toISOString() },
    }),
    task(6, 'Merge me', {
      status: 'blocked(awaiting_judge)',
      nextStep: { owner: 'merge queue', text: 'waiting to be merged' },
    }),
    task(7, 'Ask me', { status: 'blocked(awaiting_human)', nextStep: { owner: 'person', text: 'resume' } }),
  ],
  {
    'r-2': {
      tokens: 12_345,
      last: 'I will now add the route to src/server.ts and \u001b[31mthen\u001b[0m\nrun the tests',
    },
    'r-3': { tokens: 900, last: 'done', check: 'npm test -- --run' },
  },
)

const show = (shown: LiveView, options: Partial<FrameOptions> = {}): string[] =>
  frame(shown, { columns: 80, rows: 24, now, paint, ...options })

test('80 columns', () => {
  expect(show(busy)).toMatchInlineSnapshot(`
    [
      "Add a health endpoint  in progress · 3 min 5 s · 1 of 7 tasks done",
      "   2. Write the endpoint GET…  the agent is working · 1 min 12 s · 12,345 tokens",
      "      I will now add the route to src/server.ts and then run the tests",
      "   3. Test it                  checking · 8 s · 900 tokens",
      "      $ npm test -- --run",
      "   5. Add it to the dashboard  the limit of claude resets at 23:36, in 4 min",
      "   6. Merge me                 waiting to be merged",
      "   7. Ask me                   waiting for you",
      "   4. Document it              waiting for task 2 "Write" and task 3 "Test it"",
    ]
  `)
})

test('120 columns', () => {
  expect(show(busy, { columns: 120 })).toMatchInlineSnapshot(`
    [
      "Add a health endpoint  in progress · 3 min 5 s · 1 of 7 tasks done",
      "   2. Write the endpoint GET /health with its version, its uptime an…  the agent is working · 1 min 12 s · 12,345 tokens",
      "      I will now add the route to src/server.ts and then run the tests",
      "   3. Test it                                                          checking · 8 s · 900 tokens",
      "      $ npm test -- --run",
      "   5. Add it to the dashboard                                          the limit of claude resets at 23:36, in 4 min",
      "   6. Merge me                                                         waiting to be merged",
      "   7. Ask me                                                           waiting for you",
      "   4. Document it                                                      waiting for task 2 "Write" and task 3 "Test it"",
    ]
  `)
})

describe('never wider and never higher than the terminal', () => {
  const long = 'ログイン画面を修正する 🚀 u\u0308ber '.repeat(12)
  const many = view(
    Array.from({ length: 40 }, (_, at) =>
      task(at + 1, long, at % 2 === 0 ? { status: 'running', run: { phase: 'supervise' } } : {}),
    ),
    Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`r-${at + 1}`, { last: long, tokens: 1_234_567 }])),
    { title: long },
  )
  test.each([8, 20, 40, 80, 120, 200])('%i columns', (columns) => {
    for (const colours of [false, true]) {
      const lines = show({ ...many, silent: true }, { columns, paint: createPaint(colours) })
      expect(lines.length).toBeLessThan(24)
      for (const text of lines) expect(widthOf(text), text).toBeLessThanOrEqual(columns)
    }
  })
  test('what does not fit is counted', () => {
    expect(show(many, { rows: 8 }).at(-1)).toBe('      … and 38 more tasks')
  })
})

test('says when the engine is not responding, and when the work lands', () => {
  const landing = {
    asked: true,
    refused: null,
    broken: null,
    target: null,
    outdated: false,
    unverified: false,
    sentBack: false,
  }
  const shown = view([task(1, 'One', { status: 'done' })], {}, { state: 'ready', autoMerge: true, landing })
  expect(show({ ...shown, silent: true })).toEqual([
    'Add a health endpoint  landing on main · 3 min 5 s',
    'The engine is not responding; waiting for it.',
  ])
})

test('a loop shows its iteration and role', () => {
  const loop = { iteration: 2, limit: 20, role: 'tester', stage: 'turn', tests: 'failed' } as const
  const shown = (more: Partial<Run['loop']>, phase: Run['phase'] = 'supervise') =>
    show(view([task(1, 'Parser', { status: 'running', run: { phase, loop: { ...loop, ...more } } })]))[1]
  expect(shown({})).toContain('iteration 2 of 20, tester: the agent is working')
  expect(shown({ stage: 'tests' }, 'verify')).toContain('iteration 2 of 20, checks: checking')
  expect(shown({ stage: 'landing' }, 'commit')).toContain('iteration 2 of 20, complete: committing')
})
