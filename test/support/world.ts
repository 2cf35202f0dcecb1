/**
 * Goals, tasks, runs, leases, merges and questions in memory, moved by nothing but the flow tables. Holds no
 * SQL and reads no clock; what moves are made when is model.ts's business.
 */
import type { Agent } from '../../src/domain/agent.ts'
import { noSpend } from '../../src/domain/budget.ts'
import { escalationFlow, type ChoiceKind, type Escalation, type EscalationState } from '../../src/domain/escalation.ts'
import { mustTransition } from '../../src/domain/flow.ts'
import { goalFlow, notLanding, type Goal, type GoalState } from '../../src/domain/goal.ts'
import type { Lease } from '../../src/domain/lease.ts'
import { mergeFlow, type MergeEntry, type MergeState } from '../../src/domain/merge.ts'
import { runFlow, type Run, type RunState } from '../../src/domain/run.ts'
import { taskFlow, type Task, type TaskStatus } from '../../src/domain/task.ts'

export interface World {
  goals: Goal[]
  tasks: Task[]
  runs: Run[]
  agents: Agent[]
  leases: Lease[]
  merges: MergeEntry[]
  escalations: Escalation[]
  /** Waits and interruptions of a task in its present count. */
  waits: Map<string, number>
}

export type Move =
  | { entity: 'goal'; id: string; trigger: string }
  | { entity: 'task'; id: string; trigger: string; wait?: boolean; resetBudget?: boolean }
  | { entity: 'claim'; agentId: string; runId: string; taskId: string }
  | { entity: 'run'; id: string; trigger: 'succeeded' | 'failed' | 'interrupted' | 'cancelled' }
  | { entity: 'judge'; runId: string }
  | { entity: 'enqueue'; id: string; runId: string }
  | { entity: 'merge'; id: string; trigger: string }
  | { entity: 'ask'; id: string; goalId: string; taskId: string | null; kind: Escalation['kind'] }
  | { entity: 'answer'; id: string; trigger: ChoiceKind | 'overtaken' }

/** The start of the count and every time of the model; only the store has a clock. */
const epoch = new Date(0)
export const waitLimit = 3

export const by = <T extends { id: string }>(list: readonly T[], id: string): T => {
  const found = list.find((entry) => entry.id === id)
  if (found === undefined) throw new Error(`the model has no ${id}`)
  return found
}

export const newWorld = (
  goals: { direct: boolean; tasks: { after: number[]; area: boolean; priority: number }[] }[],
): World => ({
  goals: goals.map(({ direct }, index): Goal => ({
    id: `g${index}`,
    title: `goal ${index}`,
    requirement: '',
    state: 'planning',
    repoMode: direct ? 'direct' : 'local',
    targetBranch: 'main',
    baseCommit: null,
    headCommit: null,
    branchPrefix: 'unstuck/',
    autoMerge: false,
    judge: null,
    landing: notLanding,
    allowedDirs: [],
    grants: [],
    limits: {},
    spend: noSpend,
    reason: '',
    version: 1,
    createdAt: epoch,
    changedAt: epoch,
    endedAt: null,
  })),
  tasks: goals.flatMap(({ tasks }, goal) =>
    tasks.map(({ after, area, priority }, index): Task => ({
      id: `g${goal}-t${index}`,
      goalId: `g${goal}`,
      number: index + 1,
      title: `task ${index}`,
      kind: 'code',
      instructions: '',
      role: 'worker',
      allowedPaths: ['**'],
      deniedPaths: [],
      commands: [],
      originalCommands: [],
      commandSource: 'task',
      dependsOn: [...new Set(after.filter((other) => other < index))].map((other) => `g${goal}-t${other}`),
      targetArea: area ? 'area' : null,
      harness: 'codex',
      model: null,
      priority,
      lane: 'feature',
      areas: area ? ['area'] : [],
      engineId: null,
      status: 'queued',
      retry: null,
      hint: null,
      pendingEdit: null,
      takenOver: null,
      contextFiles: [],
      judge: null,
      rework: null,
      plan: null,
      review: null,
      link: null,
      supersededBy: null,
      ready: false,
      epoch: 0,
      countFrom: epoch,
      countFromEpoch: 0,
      version: 1,
      createdAt: epoch,
      changedAt: epoch,
    })),
  ),
  agents: ['a0', 'a1'].map((id): Agent => ({
    id,
    role: 'worker',
    host: 'host',
    engineId: null,
    state: 'idle',
    heartbeatAt: epoch,
  })),
  runs: [],
  leases: [],
  merges: [],
  escalations: [],
  waits: new Map(),
})

const claimRun = (world: World, move: Extract<Move, { entity: 'claim' }>): void => {
  const task = by(world.tasks, move.taskId)
  const agent = by(world.agents, move.agentId)
  task.status = mustTransition(taskFlow, task.status, 'claimed').to as TaskStatus
  if (agent.state !== 'idle') throw new Error(`agent ${agent.id} is ${agent.state}`)
  agent.state = 'busy'
  task.epoch += 1
  task.retry = null
  world.runs.push({
    id: move.runId,
    taskId: task.id,
    goalId: task.goalId,
    number: world.runs.filter((run) => run.taskId === task.id).length + 1,
    epoch: task.epoch,
    agentId: agent.id,
    harness: task.harness,
    state: mustTransition(runFlow, '', 'claimed').to as RunState,
    phase: 'prepare',
    baseCommit: null,
    launches: [],
    sessionId: null,
    spend: noSpend,
    tree: null,
    commitIntent: null,
    commit: null,
    verdict: null,
    errorMeta: null,
    loop: null,
    stopAsked: null,
    message: null,
    reviewed: null,
    judgedAt: null,
    judgementVersion: 0,
    startedAt: epoch,
    endedAt: null,
    version: 1,
  })
  world.leases.push({ taskId: task.id, runId: move.runId, agentId: agent.id, epoch: task.epoch, expiresAt: epoch })
}

const endRun = (world: World, move: Extract<Move, { entity: 'run' }>): void => {
  const run = by(world.runs, move.id)
  const agent = by(world.agents, run.agentId)
  run.state = mustTransition(runFlow, run.state, move.trigger).to as RunState
  agent.state = 'idle'
  world.leases = world.leases.filter((lease) => lease.runId !== run.id)
}

const moveTask = (world: World, move: Extract<Move, { entity: 'task' }>): void => {
  const task = by(world.tasks, move.id)
  task.status = mustTransition(taskFlow, task.status, move.trigger).to as TaskStatus
  const spent = world.waits.get(task.id) ?? 0
  task.retry = move.wait === true ? { reason: 'overload', at: epoch, count: spent + 1, limit: waitLimit } : null
  if (move.wait === true || ['interrupted', 'conflicted'].includes(move.trigger)) world.waits.set(task.id, spent + 1)
  if (move.resetBudget === true) world.waits.delete(task.id)
}

const ask = (world: World, move: Extract<Move, { entity: 'ask' }>): void => {
  world.escalations.push({
    id: move.id,
    goalId: move.goalId,
    taskId: move.taskId,
    runId: null,
    kind: move.kind,
    happened: '',
    tried: [],
    question: '',
    details: '',
    choices: [],
    state: mustTransition(escalationFlow, '', 'opened').to as EscalationState,
    answer: null,
    version: 1,
    createdAt: epoch,
    decidedAt: null,
  })
}

const enqueue = (world: World, move: Extract<Move, { entity: 'enqueue' }>): void => {
  const run = by(world.runs, move.runId)
  world.merges.push({
    id: move.id,
    number: world.merges.length + 1,
    goalId: run.goalId,
    taskId: run.taskId,
    runId: run.id,
    commit: '',
    state: mustTransition(mergeFlow, '', 'enqueued').to as MergeState,
    attempts: 0,
    failures: 0,
    landedCommit: null,
    revertedCommit: null,
    detail: '',
    version: 1,
    createdAt: epoch,
    changedAt: epoch,
  })
}

const applyOne = (world: World, move: Move): void => {
  switch (move.entity) {
    case 'goal': {
      const goal = by(world.goals, move.id)
      goal.state = mustTransition(goalFlow, goal.state, move.trigger).to as GoalState
      return
    }
    case 'task':
      return moveTask(world, move)
    case 'claim':
      return claimRun(world, move)
    case 'run':
      return endRun(world, move)
    case 'judge':
      by(world.runs, move.runId).judgedAt = epoch
      return
    case 'enqueue':
      return enqueue(world, move)
    case 'merge': {
      const entry = by(world.merges, move.id)
      entry.state = mustTransition(mergeFlow, entry.state, move.trigger).to as MergeState
      entry.attempts += move.trigger === 'claimed' ? 1 : 0
      return
    }
    case 'ask':
      return ask(world, move)
    case 'answer': {
      const entry = by(world.escalations, move.id)
      entry.state = mustTransition(escalationFlow, entry.state, move.trigger).to as EscalationState
    }
  }
}

const refreshReady = (world: World): void => {
  for (const task of world.tasks) {
    const done = (id: string): boolean => by(world.tasks, id).status === 'done'
    task.ready = by(world.goals, task.goalId).state === 'active' && task.dependsOn.every(done)
  }
}

/** Carries a command out; an illegal move throws. */
export const apply = (world: World, moves: readonly Move[]): void => {
  for (const move of moves) applyOne(world, move)
  refreshReady(world)
}
