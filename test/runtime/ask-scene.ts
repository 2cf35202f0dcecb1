/** A run with a real store, repository and workspace, whose agent has worked: a question can be asked of any program. */
import { defaultPolicyRecovery } from '../../src/recovery/policy/recovery-policy.ts'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { noSpend } from '../../src/domain/budget.ts'
import type { Goal } from '../../src/domain/goal.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import { loadConfig } from '../../src/config/config.ts'
import { runPaths, type Context } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { createRunContext, type RunContext } from '../../src/runtime/core/run-context.ts'
import { systemClock } from '../../src/runtime/core/system-clock.ts'
import { harnessNamed } from '../../src/runtime/harness/harness-choice.ts'
import { registerAgents } from '../../src/store/agent.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, type Db } from '../../src/store/db.ts'
import { readEvents, type StoredEvent } from '../../src/store/event.ts'
import { getGoal, insertGoal, moveGoal } from '../../src/store/goal.ts'
import { getRun, saveRun } from '../../src/store/run.ts'
import { getTask, insertTasks } from '../../src/store/task.ts'
import { put, setScene } from '../workspace/scene.ts'

export interface AskScene {
  top: string
  /** Folder in which the agents leave their traces. */
  traces: string
  workspace: string
  runContext: RunContext
  /** As a restarted engine sees the run. */
  restarted: () => Promise<RunContext>
  run: () => Promise<Run>
  events: (type: string) => Promise<StoredEvent[]>
  clear: () => Promise<void>
}

export interface AskSceneOptions {
  db: Db
  /** Entries of `harness`, the first one is the run's; a text is the program of an agent that prints what Claude prints. */
  agents: Record<string, string | ((top: string) => object)>
  environment?: Record<string, string>
  limits?: Goal['limits']
  /** More sections of the configuration. */
  config?: object
  files?: Record<string, string>
  /** What the run's agent has left. */
  work?: Record<string, string>
}

const lines = `
import { appendFileSync, chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
const args = process.argv.slice(2)
const prompt = args[args.indexOf('-p') + 1]
const starts = 'TRACES/starts'
appendFileSync(starts, 'x')
const turn = readFileSync(starts, 'utf8').length
writeFileSync('TRACES/prompt-' + turn, prompt)
const print = (event) => console.log(JSON.stringify({ session_id: 'session-1', ...event }))
print({ type: 'system', subtype: 'init', cwd: process.cwd(), model: 'm-7' })
print({ type: 'assistant', message: { id: 'u' + turn, content: [], usage: { input_tokens: 100, output_tokens: 10 } } })
const answer = (text, more = {}) => print({ type: 'result', subtype: 'success', is_error: false, result: text, total_cost_usd: 0.01, ...more })
const forever = () => setInterval(() => {}, 1000)
`

/** It counts its starts and keeps its prompts in the traces. */
const claudeLike = (top: string, name: string, program: string): object => {
  const path = join(top, `${name}.mjs`)
  writeFileSync(path, `${lines}\n${program}`.replaceAll('TRACES', join(top, 'traces')))
  return { driver: 'claude', command: [process.execPath, path] }
}

/** Goal, task, run and agent of one scene. The store is shared, because opening one takes seconds. */
let scenes = 0

const makeRun = async (db: Db, head: string, harness: string, limits: Goal['limits']): Promise<Run> => {
  scenes += 1
  const [goalId, taskId, runId, agentId] = [`g-${scenes}`, `t-${scenes}`, `r-${scenes}`, `agent-${scenes}`]
  await db.transaction((tx) => registerAgents(tx, [agentId], 'here'))
  const goal = await insertGoal(db, {
    ...{ id: goalId, title: 'A goal', requirement: 'x', repoMode: 'local', targetBranch: 'main' },
    ...{ baseCommit: head, headCommit: head, autoMerge: false, allowedDirs: [], limits, spend: noSpend },
  })
  const task = {
    ...{ id: taskId, goalId, number: 1, title: 'Make it', instructions: 'x', role: 'worker' as const },
    ...{ allowedPaths: ['**'], deniedPaths: [], commands: [], commandSource: 'task' as const, dependsOn: [] },
    ...{ targetArea: null, harness, model: null, priority: 0 },
  }
  await insertTasks(db, [task])
  mustSucceed(await moveGoal(db, goal, 'planned'))
  await db.query({ text: 'update task set ready = (id = $1)', values: [taskId] })
  const claim = await db.transaction((tx) => claimTask(tx, { agentId, runId, ttlSeconds: 600 }))
  if (claim?.task.id !== taskId) throw new Error('the task was not claimed')
  const started = (await getRun(db, runId)) as Run
  return mustSucceed(await saveRun(db, started, { phase: 'policy', baseCommit: head }))
}

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

export const openAskScene = async (options: AskSceneOptions): Promise<AskScene> => {
  const scene = await setScene({ 'README.md': 'words\n', '.gitignore': 'ignored/\n', ...options.files })
  const stateDir = join(scene.top, 'state')
  const traces = join(scene.top, 'traces')
  mkdirSync(traces)
  const { db } = options
  const agents = Object.entries(options.agents).map(([name, agent]) => [
    name,
    typeof agent === 'string' ? claudeLike(scene.top, name, agent) : agent(scene.top),
  ])
  const harness = Object.fromEntries(agents) as object
  put(scene.root, { '.unstuck/config.json': JSON.stringify({ harness, ...options.config }) })
  const config = loadConfig({ root: scene.root, environment: {} })
  const { PATH = '', HOME = '' } = process.env
  const made = await makeRun(db, scene.head, Object.keys(options.agents)[0] ?? '', options.limits ?? {})
  let number = 0
  const createContext = (): Context => ({
    ...{ db, ports: realPorts, clock: systemClock, log, repository: scene.repository, shadow: scene.shadow },
    ...{ stateDir, cacheDir: stateDir, host: 'here', cliVersions: new Map(), stopping: new AbortController().signal },
    environment: { PATH, HOME, ...options.environment },
    // The store is shared with other scenes.
    newId: (prefix) => `${prefix}-${made.id}-${(number += 1)}`,
    config: () => config,
    pathPolicy: () => defaultPolicyRecovery,
    policy: () => {
      throw new Error('a question uses no playbook')
    },
    at: () => undefined,
    wake: () => undefined,
  })
  const { workspace } = runPaths({ stateDir }, made.id)
  const branch = 'unstuck/run'
  await realPorts.git.createWorkspace({ repository: scene.repository, base: scene.head, dir: workspace, branch })
  put(workspace, { 'src/made.js': 'made\n', ...options.work })
  const attach = async (): Promise<RunContext> => {
    const run = (await getRun(db, made.id)) as Run
    const goal = (await getGoal(db, made.goalId)) as Goal
    const task = (await getTask(db, made.taskId)) as Task
    return createRunContext(createContext(), { goal, task, run, ...harnessNamed(config, run.harness) })
  }
  return {
    ...{ top: scene.top, traces, workspace, runContext: await attach(), restarted: attach },
    run: async () => (await getRun(db, made.id)) as Run,
    events: async (type) =>
      (await readEvents(db, { after: 0, limit: 1000, runId: made.id })).filter((event) => event.type === type),
    clear: scene.clear,
  }
}
