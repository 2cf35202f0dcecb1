/** `unstuck policy explain` says what a run decides: both are asked about the same paths, modes, tasks and settings. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Task } from '../../src/domain/task.ts'
import { checkPathPolicy, type ChangedPath } from '../../src/recovery/policy/path-policy.ts'
import { explainPath } from '../../src/recovery/policy/explain-path.ts'
import type { PathDecision, PathFacts } from '../../src/recovery/policy/path-question.ts'
import { defaultPolicyRecovery, recoveryModes, type RecoveryMode } from '../../src/recovery/policy/recovery-policy.ts'
import { deniedTexts, effectivePaths, pathRulesOf } from '../../src/runtime/core/effective-paths.ts'
import { learnedPatterns, liveGrantsFor, recordGrant, recordLearned } from '../../src/runtime/core/granted-paths.ts'
import type { RunContext } from '../../src/runtime/core/run-context.ts'
import { heldByOthers, policyOptions } from '../../src/runtime/run/policy-options.ts'
import type { Db, Sql } from '../../src/store/db.ts'
import { insertTasks } from '../../src/store/task.ts'
import { activeGoal, agents, claimed, goal, task as readTask, taskOf } from '../store/scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
const newId = (prefix: string): string => `${prefix}-${(ids += 1)}`
let ids = 0
const settings: { name: string; config: object }[] = [
  { name: 'defaults', config: { deniedPaths: ['ops'] } },
  { name: 'no model', config: { deniedPaths: ['ops'], policyRecovery: { useLlm: false, generatedPaths: ['gen/**'] } } },
  { name: 'no attempts', config: { policyRecovery: { attempts: 0, extraGeneratedPaths: ['gen'] } } },
]

/** Nothing changes after the set-up, so that each statement is asked once and not for each path. */
const remembering = (store: Db): Db => {
  const answers = new Map<string, Promise<unknown[]>>()
  const query = <Row>(statement: Sql): Promise<Row[]> => {
    const key = JSON.stringify(statement)
    const answer = answers.get(key) ?? store.query(statement)
    answers.set(key, answer)
    return answer as Promise<Row[]>
  }
  return { ...store, query }
}

beforeAll(async () => {
  db = await openTestDb()
  const base = { allowedPaths: ['src/**'], deniedPaths: ['src/vendor'], targetArea: null }
  await activeGoal(db, 'g', [
    { ...base, title: 'Run `make test` again', commands: ['make test'], contextFiles: ['doc/notes.txt'] },
    { ...base, title: 'Write the manual', role: 'docser', allowedPaths: ['doc/**'], commands: [] },
    { ...base, title: 'Build', allowedPaths: ['tools/**'], commands: ['cmake -S sub', 'cargo test'] },
  ])
  await agents(db, 'a1', 'a2', 'a3')
  for (const name of ['a1', 'a2', 'a3']) {
    const { task, run } = await claimed(db, name)
    if (task.number !== 1) continue
    const context = { config: () => configSchema.parse({}), newId }
    await db.transaction(async (tx) => {
      const why = 'it is needed'
      const given = { context, task, run }
      await recordGrant(tx, given, { path: 'granted.c', scope: 'task', by: 'rule', rule: 'context_file', why })
      await recordGrant(tx, given, { path: 'src2/a.c', scope: 'area', by: 'model', rule: 'model', why })
      const evidence = { untrackedInBase: true, madeBy: ['make test'], at: '2026-01-01T00:00:00.000Z' }
      await recordLearned(tx, given, { path: 'learned', evidence })
    })
    const rework = { parent: task.id, depth: 1, because: 'it failed' }
    await db.transaction((tx) => insertTasks(tx, [{ ...taskOf('g', 4, { ...base, commands: [] }), rework }]))
  }
  db = remembering(db)
})
afterAll(() => db?.close())

const folders = [
  '',
  'src/',
  'src/vendor/',
  'doc/',
  'tools/',
  'ops/',
  'sub/',
  'learned/',
  'gen/',
  'coverage/',
  '.unstuck/',
  'OPS/',
]
const names = [
  'a.c',
  'Makefile',
  'CMakeLists.txt',
  'Cargo.lock',
  '.env',
  '.gitignore',
  'notes.txt',
  'a.log',
  'x.ld',
  'a*b',
  'granted.c',
  'package.json',
]
const kinds: { mode: string; tracked: boolean; linkTarget?: string; ignored?: true }[] = [
  { mode: '000000', tracked: false },
  { mode: '100644', tracked: true },
  { mode: '000000', tracked: false, ignored: true },
  { mode: '120000', tracked: false, linkTarget: 'a.c' },
  { mode: '120000', tracked: true, linkTarget: '/etc/hosts' },
  { mode: '160000', tracked: true },
]
type Kind = (typeof kinds)[number]

const runContextOf = async (given: { task: Task; config: object; mode: RecoveryMode; ignored: string[] }) => {
  const config = configSchema.parse(given.config)
  const git = {
    ignoredAt: async (_shadow: unknown, _base: unknown, paths: string[]) =>
      new Set(paths.filter((path) => given.ignored.includes(path))),
    presentAt: async () => new Set<string>(),
  }
  const context = {
    db,
    config: () => config,
    pathPolicy: () => ({ ...defaultPolicyRecovery, mode: given.mode }),
    ports: { git },
  }
  const run = { id: 'r-later', verdict: null, baseCommit: null }
  return { context, goal: await goal(db, 'g'), task: given.task, run } as unknown as RunContext
}

/** What the run does first about the path, in the order of its playbooks. */
const runDecides = async (runContext: RunContext, path: string, kind: Kind): Promise<PathDecision> => {
  const change: ChangedPath = {
    path,
    oldMode: kind.tracked ? kind.mode : '000000',
    newMode: kind.mode === '000000' ? '100644' : kind.mode,
  }
  const { violations } = checkPathPolicy({
    ...{ changes: [change], allowedPaths: await effectivePaths(runContext), nestedRepositories: [] },
    deniedPaths: pathRulesOf(deniedTexts(runContext)),
    symlinkTargets: new Map(kind.linkTarget === undefined ? [] : [[path, kind.linkTarget]]),
  })
  if (violations.length === 0) return 'allowed'
  const found = { base: 'b', changes: [change] } as unknown as Parameters<typeof policyOptions>[1]
  const { exclude = [], allow = [], discard = [], ask = [] } = await policyOptions(runContext, found, violations)
  if (exclude.length > 0) return 'left out'
  if (allow.length > 0) return 'allowed'
  if (discard.length > 0) return 'tested'
  return ask.length > 0 ? 'asked' : 'refused'
}

/** The same facts as the command collects. */
const explained = async (runContext: RunContext, path: string, kind: Kind): Promise<PathDecision> => {
  const { context, task } = runContext
  const { deniedPaths, policyRecovery, playbooks } = context.config()
  const facts: PathFacts = {
    ...{ mode: kind.mode, tracked: kind.tracked },
    ...(kind.linkTarget === undefined ? {} : { linkTarget: kind.linkTarget }),
    ...(kind.ignored === undefined ? {} : { ignoredBy: '.gitignore:1: x' }),
  }
  const patterns = [
    ...policyRecovery.generatedPaths,
    ...policyRecovery.extraGeneratedPaths,
    ...(await learnedPatterns(db, context)),
  ]
  return explainPath({
    ...{ path, facts, task, policy: context.pathPolicy(), held: await heldByOthers(runContext) },
    denied: [...deniedPaths, '.unstuck'].map((denied) => ({ path: denied, from: 'a setting' })),
    generated: patterns.map((pattern) => ({ pattern, from: 'a setting', change: '' })),
    grants: (await liveGrantsFor(db, context, task)).map((granted) => ({ path: granted, from: '', change: '' })),
    ...{
      attempts: policyRecovery.attempts,
      useLlm: policyRecovery.useLlm,
      disabled: playbooks.disabled,
      isDirect: false,
    },
  }).decision
}

const paths = folders.flatMap((folder) => names.map((name) => folder + name))
const cases = settings
  .flatMap(({ name, config }) => recoveryModes.map((mode) => ({ name, config, mode })))
  .map((each, shift) => ({ ...each, shift }))

/** Each case has all paths; the tasks and the kinds of file go round, so that together they meet most of them. */
test.each(cases)('explain decides as the run does: $name, mode $mode', async ({ config, mode, shift }) => {
  const seen = new Set<PathDecision>()
  const different: string[] = []
  for (const [at, path] of paths.entries()) {
    const task = await readTask(db, `g-t${((at + Math.floor(at / names.length) + shift) % 4) + 1}`)
    const kind = kinds[at % 2 === 0 ? 0 : (at + shift) % kinds.length] as Kind
    const runContext = await runContextOf({ task, config, mode, ignored: kind.ignored === undefined ? [] : [path] })
    const [run, answer] = [await runDecides(runContext, path, kind), await explained(runContext, path, kind)]
    seen.add(run)
    if (run !== answer) different.push(`${task.id}, ${path} ${JSON.stringify(kind)}: run ${run}, explain ${answer}`)
  }
  expect(different).toEqual([])
  expect(seen.size).toBeGreaterThanOrEqual(2)
})
