/**
 * Bugs that the simulation must find, each put in from outside: a statement rewritten on its way to the store, rows changed
 * on their way back, or a port that does not do what it says. The product knows nothing of them.
 */
import { basename, dirname, join } from 'node:path'
import { folderArea } from '../../src/domain/area.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import type { Ports } from '../../src/runtime/core/ports.ts'
import type { Db, Queryable, Sql } from '../../src/store/db.ts'
import type { Plan } from './plan.ts'
import { aGoal, aPlan, aTask } from './plans.ts'
import { noHooks, type Hooks, type World } from './world.ts'

export interface Planted {
  name: string
  /** Which promise it breaks. */
  breaks: string
  /** Where the short form begins to look. */
  from: number
  /** Looked at in place of seeds, for a bug that few of them would meet. */
  plan?: Plan
  hooks: () => Hooks
}

interface Tamper {
  statement?: (statement: Sql, world: World) => Sql
  rows?: (statement: Sql, rows: object[]) => object[]
}

const through = (
  db: Queryable,
  world: World,
  { statement = (same) => same, rows = (_s, same) => same }: Tamper,
): Queryable => ({
  query: async <Row>(asked: Sql) => rows(asked, await db.query<object>(statement(asked, world))) as Row[],
})

const onStore = (tamper: Tamper): Hooks => ({
  ...noHooks,
  db: (db: Db, world) => ({
    ...db,
    ...through(db, world, tamper),
    transaction: (work) => db.transaction((tx) => work(through(tx, world, tamper))),
  }),
})

const rewrite = (marker: string, change: (text: string) => string): Hooks => {
  const rewritten = new Map<string, string>()
  return onStore({
    statement: ({ text, values }) => {
      if (!text.includes(marker)) return { text, values }
      const next = rewritten.get(text) ?? change(text)
      if (next === text) throw new Error(`the planted bug changes nothing in: ${text}`)
      rewritten.set(text, next)
      return { text: next, values }
    },
  })
}

const onPorts = (change: (ports: Ports, context: Context, world: World) => Partial<Ports>): Hooks => ({
  ...noHooks,
  context: (context, world) => ({ ...context, ports: { ...context.ports, ...change(context.ports, context, world) } }),
})

const isOurs = (world: World, commit: string): boolean =>
  world.git.commits.get(commit)?.message.includes('Unstuck-Task') === true

/** Without requeue and rework, which would make up for a bug in the run itself. */
const askingAtOnce = (context: Context): Context => ({
  ...context,
  config: () => {
    const config = context.config()
    return { ...config, requeue: { ...config.requeue, inPlaceLimit: 0, reworkDepth: 0 } }
  },
})

/** Without the limit for calls that bring nothing new, which would ask before a task is continued by another one. */
const withoutCallLimit = (context: Context): Context => ({
  ...context,
  config: () => {
    const config = context.config()
    return { ...config, requeue: { ...config.requeue, fruitlessCalls: -1 } }
  },
  policy: () => ({ ...context.policy(), fruitlessCalls: -1 }),
})

/** How a claim takes the areas of its task. */
const holdsAreas =
  /insert into area_hold \(task_id, span\) select id, span (from task where id = \$\d+ and span is not null)\s+on conflict do nothing returning task_id/

export const planted: readonly Planted[] = [
  {
    name: 'epoch-not-rising',
    from: 1,
    breaks: 'one owner',
    hooks: () =>
      rewrite('epoch = epoch + 1', (text) => text.replace('epoch = epoch + 1', 'epoch = greatest(epoch, 1)')),
  },
  {
    name: 'limit-not-looked-at',
    from: 1,
    breaks: 'nothing on a limited account',
    // The second goal comes while the limit holds that the first one has met.
    plan: aPlan([
      aGoal([aTask('t1', ['quota', 'success'])]),
      aGoal([aTask('t2', ['success'])], { id: 'later', atMs: 8_000 }),
    ]),
    hooks: () =>
      rewrite('from account_limit where until >', (text) => text.replace('where until >', 'where false and until >')),
  },
  {
    name: 'gate-before-identity',
    from: 1,
    breaks: 'one owner',
    hooks: () =>
      onPorts(({ processes }) => ({
        processes: {
          ...processes,
          startShim: async (dir, spec, environment) => {
            const shim = await processes.startShim(dir, spec, environment)
            processes.openGate(dir)
            return shim
          },
        },
      })),
  },
  {
    name: 'retry-time-not-persisted',
    from: 1,
    breaks: 'nothing stuck',
    hooks: () =>
      rewrite('count_from = case when', (text) =>
        text.replace(/retry_at = (\$\d+)/, 'retry_at = case when false then $1::timestamptz end'),
      ),
  },
  {
    name: 'area-not-checked',
    from: 2,
    breaks: 'one owner',
    hooks: () =>
      onStore({
        statement: ({ text, values }) => ({
          text: text
            .replace('area_hold.span && task.span', 'area_hold.span && task.span and false')
            .replace(holdsAreas, 'select id as task_id $1')
            .replace('insert into area_hold (task_id, span) select id, span', 'select id'),
          values,
        }),
      }),
  },
  {
    name: 'area-released-too-early',
    from: 1,
    breaks: 'one owner',
    // Held while its agent is at work, and no longer.
    plan: aPlan([
      aGoal([aTask('t1', ['success'], { area: 'one' }), aTask('t2', ['success'], { area: 'one' })], { id: 'both' }),
    ]),
    hooks: () =>
      onStore({
        statement: ({ text, values }) => ({
          text: text
            .replace(
              'area_hold.span && task.span',
              "area_hold.span && task.span and area_hold.task_id in (select id from task where state = 'running')",
            )
            .replace(holdsAreas, 'select id as task_id $1')
            .replace('insert into area_hold (task_id, span) select id, span', 'select id'),
          values,
        }),
      }),
  },
  {
    name: 'folder-shared-by-goals',
    from: 1,
    breaks: 'one owner',
    plan: aPlan(['one', 'two'].map((id) => aGoal([aTask(`${id}t`, ['success'])], { id, direct: true }))),
    // As it once was: each goal has an area of its own for its work in place.
    hooks: () =>
      onStore({
        statement: ({ text, values }) => {
          if (!text.includes('insert into task (')) return { text, values }
          const own = `direct:${String(values[1])}`
          return {
            text,
            values: values.map((value) => (typeof value === 'string' ? value.replaceAll(folderArea, own) : value)),
          }
        },
      }),
  },
  {
    name: 'merged-twice-after-a-crash',
    from: 3,
    breaks: 'one owner',
    hooks: () =>
      onPorts(({ git }, context, world) => ({
        git: {
          ...git,
          // Takes whatever stands on the branch for the head, and does not compare before it swaps.
          integrate: async (shadow, request) => {
            const refs = await git.readRefs(context.repository, 'refs/heads/unstuck/goal/')
            let onto = request.onto
            for (const head of Object.values(refs))
              if (isOurs(world, head) && (await git.isBelow(context.repository, request.onto, head))) onto = head
            return git.integrate(shadow, { ...request, onto })
          },
          publish: async (repository, shadow, request) =>
            git.publish(repository, shadow, { ...request, from: await git.readRef(repository, request.ref) }),
          restoreRef: async () => 'done',
        },
      })),
  },
  {
    name: 'recovery-counted-before-observation',
    from: 1,
    breaks: 'a recovery counts if it helped',
    hooks: () => rewrite('insert into recovery', (text) => text.replace("'acting'", "'success'")),
  },
  {
    name: 'budget-forgotten-at-restart',
    from: 1,
    breaks: 'everything ends',
    // Three waits are allowed: two before the engine is killed, and one that would be the fourth.
    plan: aPlan([aGoal([aTask('t1', ['overload'])])], [{ kind: 'kill-before', op: 'point.gate-open', nth: 3 }]),
    hooks: () => {
      let since = ''
      let number = 0
      return onStore({
        statement: ({ text, values }, world) => {
          if (!text.includes('select recovery.* from recovery')) return { text, values }
          if (world.current?.number !== number) since = world.wall().toISOString()
          number = world.current?.number ?? number
          return {
            text: text.replace('order by run.epoch', 'and recovery.started_at >= $2::timestamptz order by run.epoch'),
            values: [...values, since],
          }
        },
      })
    },
  },
  {
    name: 'cancelled-agent-not-ended',
    from: 24,
    breaks: 'one owner',
    hooks: () =>
      onPorts(({ processes }) => ({
        processes: {
          ...processes,
          requestStop: (shim, cause) => (cause === 'cancelled' ? undefined : processes.requestStop(shim, cause)),
          sweep: async () => 0,
        },
      })),
  },
  {
    name: 'dependents-not-cancelled',
    from: 4,
    breaks: 'everything ends',
    hooks: () =>
      onStore({
        rows: ({ text }, rows) =>
          text.includes('from task where $1::text is null') ? rows.map((row) => ({ ...row, depends_on: [] })) : rows,
      }),
  },
  {
    name: 'reattach-forgets-a-run',
    from: 13,
    breaks: 'nothing stuck',
    hooks: () =>
      onStore({
        rows: ({ text }, rows) => (text.includes('as expired from run') ? rows.slice(1) : rows),
      }),
  },
  {
    name: 'no-snapshot-before-a-stop',
    from: 3,
    breaks: 'nothing lost',
    hooks: () =>
      onPorts(({ git }) => ({
        git: {
          ...git,
          snapshot: async (_shadow, { reason, at }) => ({ id: 'none', commit: 'none', reason, at, leftOut: [] }),
        },
      })),
  },
  {
    name: 'readiness-not-refreshed',
    from: 15,
    breaks: 'nothing stuck',
    hooks: () =>
      rewrite('set ready = fresh.ready', (text) =>
        text.replace("g.state = 'active' and", "g.state in ('active', 'paused') and"),
      ),
  },
  {
    name: 'fence-open',
    from: 4,
    breaks: 'the fence',
    hooks: () =>
      onStore({
        rows: ({ text }, rows) =>
          text.includes('from task where id =') ? rows.map((row) => ({ ...row, allowed_paths: ['**'] })) : rows,
      }),
  },
  {
    name: 'told-the-same-again',
    from: 1,
    breaks: 'every retry changes something',
    plan: aPlan([aGoal([aTask('t1', ['told'])])]),
    hooks: () => {
      const first = new Map<string, string[]>()
      return onPorts(({ processes }) => ({
        processes: {
          ...processes,
          startShim: (dir, spec, environment) => {
            const argv = first.get(spec.marker) ?? spec.argv
            first.set(spec.marker, argv)
            return processes.startShim(dir, { ...spec, argv }, environment)
          },
        },
      }))
    },
  },
  {
    name: 'nothing-told',
    from: 1,
    breaks: 'no question too early',
    // It starts when the goal is old enough that nothing else disturbs it.
    plan: aPlan([aGoal([aTask('t1', ['success']), aTask('t2', ['told'], { after: ['t1'] })])]),
    hooks: () => ({
      ...noHooks,
      context: (context) => ({
        ...askingAtOnce(context),
        policy: () => {
          const policy = context.policy()
          return { ...policy, playbooks: policy.playbooks.filter(({ id }) => !id.includes('feedback')) }
        },
      }),
    }),
  },
  {
    name: 'named-check-excused',
    from: 1,
    breaks: 'the fence',
    // The test that is red before the work is a part of the check that the task names.
    plan: { ...aPlan([aGoal([aTask('t1', ['success'])])]), redBase: true },
    hooks: () =>
      onStore({
        rows: (_statement, rows) =>
          rows.map((row) => ('command_source' in row ? { ...row, command_source: 'inferred' } : row)),
      }),
  },
  {
    name: 'main-moved-without-compare',
    from: 1,
    breaks: 'the branch of the user',
    plan: aPlan(
      [aGoal([aTask('t1', ['success'])], { autoMerge: true })],
      [],
      [{ id: 'e1', kind: 'commit-by-hand', atMs: 3_000, pick: 1 }],
    ),
    hooks: () =>
      onPorts(({ git }, _context, world) => ({
        git: {
          ...git,
          fastForward: async (_repository, { to }) => {
            const from = world.git.refs.get('refs/heads/main') ?? to
            world.git.userObjects.add(to)
            world.git.refs.set('refs/heads/main', to)
            return { ok: true, from, to }
          },
        },
      })),
  },
  {
    name: 'hint-not-told',
    from: 1,
    breaks: 'a person is heard',
    // Asked about, and tried again with a word from a person.
    plan: aPlan([aGoal([aTask('t1', ['broken'])])], [], [{ id: 'e1', kind: 'retry-task', atMs: 45_000, pick: 1 }]),
    hooks: () => ({
      ...onStore({
        rows: (_statement, rows) => rows.map((row) => ('hint' in row ? { ...row, hint: null } : row)),
      }),
      context: askingAtOnce,
    }),
  },
  {
    name: 'not-verified-after-a-rebase',
    from: 1,
    breaks: 'the branch of the user',
    // Each passes alone.
    plan: aPlan(
      ['a', 'b'].map((side) =>
        aGoal([aTask(side, ['success'], { area: side, paths: [`src/clash-${side}`] })], {
          ...{ id: `goal-${side}`, autoMerge: true },
        }),
      ),
    ),
    hooks: () =>
      onPorts(({ processes }) => ({
        processes: {
          ...processes,
          runCommand: async (dir, request) => ({
            ...(await processes.runCommand(dir, request)),
            ...(request.marker.startsWith('g-') ? { exitCode: 0, signal: null } : {}),
          }),
        },
      })),
  },
  {
    name: 'checks-not-run',
    from: 2,
    breaks: 'the fence',
    hooks: () =>
      onPorts(({ processes }) => ({
        processes: {
          ...processes,
          runCommand: async (dir, request) => ({
            ...(await processes.runCommand(dir, request)),
            exitCode: 0,
            signal: null,
          }),
        },
      })),
  },
  {
    name: 'checks-beside-the-agent',
    from: 2,
    breaks: 'what lands was checked',
    hooks: () =>
      onPorts(({ processes }) => ({
        processes: {
          ...processes,
          runCommand: (dir, request) =>
            processes.runCommand(dir, { ...request, cwd: request.cwd.replace('/checked', '/workspace') }),
        },
      })),
  },
  {
    name: 'another-tree-committed',
    from: 2,
    breaks: 'what lands was checked',
    hooks: () =>
      onPorts(({ git }) => ({
        git: {
          ...git,
          buildCommit: async (shadow, request) => {
            // What was checked is one thing, what is committed another: this is the run's own commit, by its trailers.
            if (Object.keys(request.trailers).length === 0) return git.buildCommit(shadow, request)
            const tree = await git.buildTree(shadow, { base: request.base, tree: request.tree, paths: [] })
            return git.buildCommit(shadow, { ...request, tree })
          },
        },
      })),
  },
  {
    name: 'dependents-not-moved',
    from: 1,
    breaks: 'nothing stuck',
    plan: aPlan([aGoal([aTask('t1', ['wanders']), aTask('t2', ['success'], { after: ['t1'] })])]),
    hooks: () => ({
      ...rewrite('update task set depends_on', (text) =>
        text.replace('and depends_on ?', 'and false and depends_on ?'),
      ),
      context: withoutCallLimit,
    }),
  },
  {
    name: 'rework-depth-forgotten',
    from: 1,
    breaks: 'everything ends',
    plan: aPlan([aGoal([aTask('t1', ['wanders'])])]),
    hooks: () => ({
      ...onStore({
        rows: (_statement, rows) =>
          rows.map((row) =>
            'rework' in row && row.rework !== null ? { ...row, rework: { ...(row.rework as object), depth: 0 } } : row,
          ),
      }),
      context: withoutCallLimit,
    }),
  },
  {
    name: 'discard-without-snapshot',
    from: 1,
    breaks: 'nothing lost',
    plan: aPlan([aGoal([aTask('t1', ['extra', 'success'], { answers: ['discard'] })])]),
    hooks: () =>
      onPorts(({ git }) => ({
        git: {
          ...git,
          snapshot: async (shadow, request) =>
            request.reason === 'before changed paths are left out'
              ? { id: 'none', commit: 'none', reason: request.reason, at: request.at, leftOut: [] }
              : git.snapshot(shadow, request),
        },
      })),
  },
  {
    name: 'question-goes-on',
    from: 1,
    breaks: 'one owner',
    plan: aPlan(
      [aGoal([aTask('t1', ['extra', 'success'], { answers: ['hang', 'deny'] })])],
      [],
      [{ id: 'e1', kind: 'kill', atMs: 20_000, pick: 1 }],
    ),
    hooks: () =>
      onPorts(({ files }) => ({
        files: { ...files, readdirSync: (path) => (path.endsWith('/asks') ? [] : files.readdirSync(path)) },
      })),
  },
  {
    name: 'answer-to-another-question',
    from: 1,
    breaks: 'nothing outside lands',
    plan: aPlan([
      aGoal([
        aTask('t1', ['stray'], { answers: ['allow'] }),
        aTask('t2', ['stray'], { answers: ['deny'], after: ['t1'] }),
      ]),
    ]),
    // Whatever is asked, an answer that is kept counts.
    hooks: () =>
      onPorts(({ files }) => {
        const kept = (path: string): string => {
          if (!path.includes('/answers/') || files.existsSync(path)) return path
          const folder = dirname(path)
          const [any] = files.existsSync(folder) ? files.readdirSync(folder) : []
          return any === undefined ? path : join(folder, any)
        }
        return {
          files: {
            ...files,
            statSync: (path) => files.statSync(kept(path)),
            readFileSync: (path, encoding) => {
              const from = kept(path)
              const text = files.readFileSync(from, encoding)
              return from === path ? text : text.replace(basename(from, '.json'), basename(path, '.json'))
            },
          },
        }
      }),
  },
  {
    name: 'learns-what-no-check-makes',
    from: 1,
    breaks: 'nothing lost',
    plan: aPlan([aGoal([aTask('t1', ['looks-made', 'success'])])]),
    hooks: () =>
      onPorts(({ files, git }) => ({
        files: {
          ...files,
          existsSync: (path) => path.includes('/checked/dist') || files.existsSync(path),
        },
        // Otherwise what was taken for generated is still in the snapshot of what the agent left.
        git: { ...git, captureAside: async (...given) => ({ ...(await git.captureAside(...given)), changes: [] }) },
      })),
  },
  {
    name: 'judge-mode-ignored',
    from: 1,
    breaks: 'nothing lands unseen',
    plan: aPlan([aGoal([aTask('t1', ['success'], { reviews: ['object', 'approve'] })], { judge: 'llm' })]),
    hooks: () =>
      onStore({ rows: (_statement, rows) => rows.map((row) => ('judge' in row ? { ...row, judge: null } : row)) }),
  },
  {
    name: 'garbage-is-an-approval',
    from: 1,
    breaks: 'nothing lands unseen',
    plan: aPlan([aGoal([aTask('t1', ['success'], { judge: 'llm', reviews: ['garbage', 'garbage', 'object'] })])]),
    hooks: () =>
      onStore({
        statement: ({ text, values }) => {
          if (!text.includes('update judgement set state') || !values.includes('waiting')) return { text, values }
          // A wait for the reviewer is stored as its approval.
          return {
            text: text
              .replace(/verdict = (\$\d+)/, "verdict = coalesce($1::text, 'approve')")
              .replace(
                /decided_at = (case when \$\d+ then unstuck_now\(\) end)/,
                'decided_at = coalesce($1, unstuck_now())',
              ),
            values: values.map((value) => (value === 'waiting' ? 'decided' : value)),
          }
        },
      }),
  },
  {
    name: 'judged-again',
    from: 1,
    breaks: 'one verdict',
    // Decided, and not merged yet.
    plan: aPlan([aGoal([aTask('t1', ['success'], { judge: 'llm', reviews: ['approve', 'object'] })])]),
    hooks: () =>
      onStore({
        statement: ({ text, values }) => ({
          text: text
            // Whether any may be due is asked first.
            .replace("state in ('claimed', 'waiting') and", '')
            .replace(
              "judgement.state = 'waiting' and",
              "judgement.state = 'decided' or judgement.state = 'waiting' and",
            )
            .replace(
              /(update judgement set state[^]* and version = \$\d+) and state = (\$\d+)/,
              '$1 and $2::text is not null',
            ),
          values,
        }),
        rows: ({ text }, rows) =>
          text.includes('select judgement.* from judgement join task')
            ? rows.map((row) => ({ ...row, state: 'claimed' }))
            : rows,
      }),
  },
  {
    name: 'judge-switch-ignored',
    from: 1,
    breaks: 'a person is heard',
    plan: aPlan(
      [aGoal([aTask('t1', ['success'], { worksMs: 45_000 })])],
      [],
      [{ id: 'e1', kind: 'judge-off', atMs: 4_000, pick: 2 }],
    ),
    hooks: () =>
      onStore({
        rows: ({ text }, rows) =>
          text.includes('from hatch') ? rows.map((row) => ({ ...row, state: 'armed' })) : rows,
      }),
  },
  {
    name: 'verdict-while-off',
    from: 1,
    breaks: 'a person is heard',
    plan: aPlan(
      [aGoal([aTask('t1', ['success'])], { judge: 'llm' })],
      [],
      [{ id: 'e1', kind: 'judge-off', atMs: 14_500, pick: 2 }],
    ),
    hooks: () =>
      onStore({
        rows: ({ text }, rows) =>
          text.includes('from hatch for share') ? rows.map((row) => ({ ...row, state: 'armed' })) : rows,
      }),
  },
  {
    name: 'markers-accepted',
    from: 1,
    breaks: 'no conflict markers',
    plan: aPlan([
      aGoal(
        ['t1', 't2'].map((id, index) =>
          aTask(id, ['success'], {
            area: id,
            solves: ['leaves'],
            worksMs: 3_000 + index * 800,
            paths: [`src/${id}`, 'src/shared-1'],
          }),
        ),
      ),
    ]),
    hooks: () => onPorts(({ git }) => ({ git: { ...git, textAt: async () => undefined } })),
  },
  {
    name: 'parent-not-woken',
    from: 1,
    breaks: 'nothing stuck',
    // The task that is to solve the conflict is cancelled: any time from 17 to 30 s will do.
    plan: aPlan(
      [
        aGoal(
          ['t1', 't2'].map((id, index) =>
            aTask(id, ['success'], {
              area: id,
              solves: ['hang'],
              worksMs: 3_000 + index * 800,
              paths: [`src/${id}`, 'src/shared-1'],
            }),
          ),
        ),
      ],
      [],
      [{ id: 'e1', kind: 'cancel-task', atMs: 23_000, pick: 1 }],
    ),
    hooks: () =>
      rewrite("and block_reason = 'needs_rework' returning", (text) =>
        text.replace(
          /set retry = (\$\d+::jsonb), retry_at = (\$\d+)/,
          'set retry = case when false then $1 end, retry_at = case when false then $2::timestamptz end',
        ),
      ),
  },
  {
    name: 'conflict-task-not-made',
    from: 1,
    breaks: 'nothing stuck',
    plan: aPlan([
      aGoal(
        ['t1', 't2'].map((id, index) =>
          aTask(id, ['success'], { area: id, worksMs: 3_000 + index * 800, paths: [`src/${id}`, 'src/shared-1'] }),
        ),
      ),
    ]),
    hooks: () =>
      onStore({
        statement: ({ text, values }) =>
          text.includes('insert into task') && values.some((value) => String(value).includes('"conflict"'))
            ? { text: 'select 1 as one', values: [] }
            : { text, values },
      }),
  },
]
