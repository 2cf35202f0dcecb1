/**
 * The promises of the specification, looked at after every commit. What it compares with is the world itself (which programs
 * live, what files and refs hold, what checks came out) and the rows, never what the engine says about itself.
 */
import { flows } from '../../src/domain/flows.ts'
import type { Flow } from '../../src/domain/flow.ts'
import { isLanding } from '../../src/domain/goal.ts'
import { lastLaunch, type Run } from '../../src/domain/run.ts'
import { holdsAreas, taskEnded, type Task } from '../../src/domain/task.ts'
import { parsePathRule, pathMatcher } from '../../src/recovery/policy/path-rule.ts'
import { checkPathPolicy } from '../../src/recovery/policy/path-policy.ts'
import { totalBudget } from '../../src/recovery/ladder.ts'
import { quotaWait } from '../../src/recovery/playbooks/provider.ts'
import { waitingOn } from '../../src/runtime/people/waiting-on.ts'
import type { Recovery } from '../../src/store/recovery.ts'
import { reportFile } from './agents.ts'
import { createAutonomy } from './autonomy.ts'
import { continuesTask, createJudgeOracle, hasConflictMarker } from './judge-oracle.ts'
import { createPolicyOracle, type PolicyOracle } from './policy-oracle.ts'
import { branchFile } from './finished-work.ts'
import { failingTests } from './suite.ts'
import { simulatedTrailers } from './git.ts'
import type { Look, RowChange } from './mirror.ts'
import { isQuestion, isReview, type SimLaunch } from './processes.ts'
import { createTarget } from './target.ts'
import type { World } from './world.ts'

const flowOf = (entity: string): Flow => {
  const flow = flows.find((candidate) => candidate.entity === entity)
  if (flow === undefined) throw new Error(`no flow of ${entity}`)
  return flow
}

const tables: Record<string, { flow: Flow; state: (row: object) => string }> = {
  goal: { flow: flowOf('goal'), state: (row) => (row as { state: string }).state },
  task: { flow: flowOf('task'), state: (row) => (row as Task).status },
  run: { flow: flowOf('run'), state: (row) => (row as { state: string }).state },
  merge_entry: { flow: flowOf('merge entry'), state: (row) => (row as { state: string }).state },
  judgement: { flow: flowOf('judgement'), state: (row) => (row as { state: string }).state },
  escalation: { flow: flowOf('escalation'), state: (row) => (row as { state: string }).state },
}

/** Steps of the flow from one state to another: one transaction may hold two. Undefined: the table has no such way. */
const distance = (flow: Flow, from: string, to: string): number | undefined => {
  if (from === to) return 0
  if (flow.rows.some((row) => row.from === from && row.to === to)) return 1
  const middle = flow.rows.filter((row) => row.from === from).map((row) => row.to)
  return flow.rows.some((row) => middle.includes(row.from) && row.to === to) ? 2 : undefined
}

export interface Oracle {
  observe(look: Look): void
  programStarts(launch: SimLaunch): void
  stopRequested(launch: SimLaunch): void
  discarded(dir: string): void
  /** Looked at between commits, for what should have happened by now. */
  overdue(): void
  /** Looked at when nothing moves by itself any more, before a person answers. */
  rests(): void
  settled(): void
  transitions(): number
}

interface Facts {
  world: World
  /** Goals that were paused or cancelled and tasks that asked a person: they gave their areas away, and others may be at work there when they go on. */
  gaveAreas: Set<string>
  /** When a row was seen first, by the world's own clock. */
  recoverySeen: Map<string, number>
  leaseSeen: Map<string, number>
  doomedSince: Map<string, number>
  /** Accounts at their limit, by the events that say so. */
  limits: Map<string, { harnesses: string[]; since: Date; until: Date }>
  policy: PolicyOracle
}

const runsOf = (world: World, taskId: string): Run[] =>
  [...world.tables.run.values()].filter((run) => run.taskId === taskId)

const checkMoves = (world: World, change: RowChange): number => {
  const table = tables[change.table]
  if (table === undefined || change.after === undefined) return 0
  const to = table.state(change.after)
  const from = change.before === undefined ? '' : table.state(change.before)
  if (change.before !== undefined && from === to) return 0
  const steps = distance(table.flow, from, to)
  if (steps === undefined) world.violated('legal moves', `${change.table} ${change.id} went from "${from}" to "${to}"`)
  return steps ?? 0
}

/** What the events of one commit say must be a way along the flow table too, and must end where the row is. */
const checkEvents = (world: World, { events, changes }: Look): void => {
  for (const entity of ['task', 'goal'] as const) {
    for (const change of changes.filter(({ table, before }) => table === entity && before !== undefined)) {
      const table = tables[entity] as (typeof tables)[string]
      const own = events.filter(
        (event) =>
          (entity === 'task' ? event.taskId : event.goalId) === change.id && typeof event.payload['from'] === 'string',
      )
      const moves = own.filter(({ type, payload }) =>
        table.flow.rows.some((row) => row.event === type && row.from === payload['from'] && row.to === payload['to']),
      )
      const from = table.state(change.before as object)
      const to = table.state(change.after as object)
      if (from === to) continue
      const chain = moves.reduce<string | undefined>(
        (at, { payload }) => (at === payload['from'] ? (payload['to'] as string) : at),
        from,
      )
      if (chain !== to)
        world.violated(
          'explained',
          `${entity} ${change.id} went from ${from} to ${to}, its events say ${JSON.stringify(own.map(({ payload }) => payload))}`,
        )
    }
  }
}

const checkOwners = ({ world, gaveAreas }: Facts): void => {
  const { run, lease, task, agent } = world.tables
  const running = [...run.values()].filter(({ state }) => state === 'running')
  const byTask = new Map<string, number>()
  for (const { id, taskId, epoch } of running) {
    byTask.set(taskId, (byTask.get(taskId) ?? 0) + 1)
    const held = lease.get(taskId)
    if (held?.runId !== id || held.epoch !== epoch)
      world.violated('one owner', `running run ${id} holds no lease of its task`)
    const owner = task.get(taskId)
    if (owner?.status !== 'running' || owner.epoch !== epoch)
      world.violated(
        'one owner',
        `run ${id} (epoch ${epoch}) runs while its task is ${owner?.status} (epoch ${owner?.epoch})`,
      )
  }
  for (const [taskId, count] of byTask)
    if (count > 1) world.violated('one owner', `${count} runs of ${taskId} are running`)
  if (lease.size !== running.length)
    world.violated('one owner', `${lease.size} leases for ${running.length} running runs`)
  const areas = new Set<string>()
  for (const owner of task.values()) {
    if (!holdsAreas(owner.status)) continue
    if (owner.status !== 'running' && (gaveAreas.has(owner.goalId) || gaveAreas.has(owner.id))) continue
    if (owner.status === 'running' && !byTask.has(owner.id))
      world.violated('nothing stuck', `task ${owner.id} is running without a run`)
    if (owner.targetArea !== null && areas.has(owner.targetArea))
      world.violated('one owner', `two tasks are at work, or wait for their merge, in the area ${owner.targetArea}`)
    if (owner.targetArea !== null) areas.add(owner.targetArea)
  }
  const holders = new Set([...lease.values()].map(({ agentId }) => agentId))
  for (const { id, state } of agent.values())
    if ((state === 'busy') !== holders.has(id))
      world.violated('one owner', `agent ${id} is ${state} and ${holders.has(id) ? 'holds a' : 'has no'} lease`)
}

/** A task that has not ended corrects the work of this one, or continues a task that did. */
const isContinued = (tasks: readonly Task[], id: string): boolean =>
  tasks.some((task) => task.rework?.parent === id && (!taskEnded(task.status) || isContinued(tasks, task.id)))

const strictStep = (world: World, task: Task): string | undefined => {
  const { goal, run, merge_entry: merges, escalation } = world.tables
  const own = goal.get(task.goalId)
  const all = [...world.tables.task.values()].filter(({ goalId }) => goalId === task.goalId)
  const facts = {
    ...{ task, goal: own as NonNullable<typeof own>, tasks: all, runs: runsOf(world, task.id) },
    ...{ merges: [...merges.values()], escalations: [...escalation.values()] },
  }
  if (waitingOn(facts) === undefined) return 'waitingOn knows no step'
  if (task.status === 'queued') {
    const met = task.dependsOn.every((id) => world.tables.task.get(id)?.status === 'done')
    if (task.ready !== (own?.state === 'active' && !own.landing.outdated && own.landing.broken === null && met))
      return `ready is ${task.ready}, its goal ${own?.state}, its dependencies ${met ? '' : 'not '}done`
  }
  if (task.status === 'failed' && task.retry === null) return 'failed without a retry time'
  if (task.status === 'blocked(needs_rework)' && task.retry === null && !isContinued(all, task.id))
    return 'needs rework without a time for it, and no task corrects it'
  if (task.status === 'blocked(awaiting_judge)') {
    const last = [...run.values()].filter((candidate) => candidate.taskId === task.id && candidate.epoch === task.epoch)
    const entry = [...merges.values()].find(
      ({ runId, state }) => runId === last[0]?.id && (state === 'pending' || state === 'processing'),
    )
    const isJudged = [...world.tables.judgement.values()].some(
      ({ runId, state }) => runId === last[0]?.id && (state === 'claimed' || state === 'waiting'),
    )
    if (last[0]?.state !== 'success' || (last[0].judgedAt !== null && entry === undefined && !isJudged))
      return 'no judge and no merge entry takes it'
  }
  return undefined
}

const checkSteps = (world: World, look: Look): void => {
  const goals = new Set(
    look.changes.map(({ after }) => (after !== undefined && 'goalId' in after ? after.goalId : undefined)),
  )
  for (const { table, id } of look.changes) if (table === 'goal') goals.add(id)
  for (const task of world.tables.task.values()) {
    const state = world.tables.goal.get(task.goalId)?.state
    if (!goals.has(task.goalId) || taskEnded(task.status) || state === 'cancelled') continue
    const reason = strictStep(world, task)
    if (reason !== undefined)
      world.violated('nothing stuck', `task ${task.id} (${task.title}, ${task.status}): ${reason}`)
  }
}

/** How many tasks this one continues, counted along the chain whatever its own row says. */
const continuedBy = (world: World, { rework }: Task): number => {
  const parent = rework === null ? undefined : world.tables.task.get(rework.parent)
  return parent === undefined ? 0 : 1 + continuedBy(world, parent)
}

/** A task that another one continues has ended, that one names it, it is the only one, and nothing waits for the old one. */
const checkRework = (world: World, { changes }: Look): void => {
  for (const { table, after } of changes) {
    if (table !== 'task') continue
    const { id, status, supersededBy, rework } = after as Task
    const all = [...world.tables.task.values()]
    if (supersededBy !== null) {
      // Work that a task was to correct is done again by the task that it was made for.
      const isContinuation =
        continuesTask(world, supersededBy, id) || (rework !== null && continuesTask(world, id, supersededBy))
      if (status !== 'cancelled' || !isContinuation)
        world.violated('nothing lost', `task ${id} (${status}) is said to be continued by ${supersededBy}`)
      if (all.some((task) => task.dependsOn.includes(id)))
        world.violated('nothing stuck', `a task still depends on ${id}, which ${supersededBy} continues`)
    }
    if (rework === null || status === 'cancelled') continue
    const siblings = all.filter((task) => task.rework?.parent === rework.parent && !taskEnded(task.status))
    if (siblings.length > 1) world.violated('one owner', `${siblings.length} tasks continue ${rework.parent}`)
    const depth = continuedBy(world, after as Task)
    if (depth > world.config.requeue.reworkDepth)
      world.violated('everything ends', `task ${id} is the rework number ${depth}`)
  }
}

/** No write of a run whose task was claimed again; epochs rise. */
const checkFence = (world: World, { changes }: Look): void => {
  for (const { table, before, after } of changes) {
    if (table !== 'run' || after === undefined) continue
    const run = after as Run
    const newer = runsOf(world, run.taskId).filter(({ number }) => number > run.number)
    if (before === undefined) {
      const older = runsOf(world, run.taskId).filter(({ number }) => number < run.number)
      if (older.some(({ epoch }) => epoch >= run.epoch))
        world.violated('one owner', `run ${run.id} has epoch ${run.epoch}, an earlier one of its task as well`)
    } else if (newer.length > 0 && (before as Run).version !== run.version)
      world.violated('one owner', `run ${run.id} was written after ${newer[0]?.id} took its task`)
    if (before !== undefined && (before as Run).state === 'running' && run.state !== 'running') {
      if (world.processes.all.some(({ spec, program }) => spec.marker === run.id && program?.alive === true))
        world.violated('one owner', `run ${run.id} ended (${run.state}) while its agent lives`)
      if ((world.processes.checks.get(`${run.id}-check`) ?? []).some(({ alive }) => alive))
        world.violated('one owner', `run ${run.id} ended while a check of it runs`)
    }
  }
}

/** Everything between the base and the head of a goal is a commit of ours, each task's once, inside its fence, and passes. */
const checkBranches = ({ world, policy }: Facts, { changes }: Look): void => {
  for (const { table, after } of changes) {
    if (table !== 'goal') continue
    const goal = after as { id: string; baseCommit: string | null; headCommit: string | null; repoMode: string }
    if (goal.repoMode === 'direct' || goal.headCommit === null) continue
    const seen = new Set<string>()
    for (let at = goal.headCommit; at !== goal.baseCommit;) {
      const commit = world.git.commits.get(at)
      const taskId = simulatedTrailers(commit?.message ?? '')['Unstuck-Task']
      if (commit === undefined || taskId === undefined)
        return world.violated('one owner', `goal ${goal.id} holds the foreign commit ${at}`)
      if (seen.has(taskId)) return world.violated('one owner', `task ${taskId} is merged twice into ${goal.id}`)
      seen.add(taskId)
      if (!world.git.userObjects.has(at))
        world.violated('nothing lost', `commit ${at} of ${goal.id} is not in the user's repository`)
      at = commit.parents[0] ?? ''
    }
  }
  for (const { table, before, after } of changes) {
    if (
      table !== 'merge_entry' ||
      (after as { state: string }).state !== 'merged' ||
      (before as { state: string } | undefined)?.state === 'merged'
    )
      continue
    const entry = after as { landedCommit: string | null; goalId: string; taskId: string; runId: string }
    const goal = world.tables.goal.get(entry.goalId)
    const landed = entry.landedCommit ?? ''
    if (goal?.headCommit === null || goal === undefined || !world.git.isAncestor(landed, goal.headCommit))
      world.violated('one owner', `merged entry of ${entry.taskId}: ${landed} is not on the branch`)
    checkCommit(world, { landed, taskId: entry.taskId }, policy.grantedTo(entry.taskId, entry.runId))
    checkTree(world, landed, entry.runId)
  }
}

const rules = (texts: string[]) =>
  texts.flatMap((text) => {
    const parsed = parsePathRule(text)
    return parsed.ok ? [parsed.rule] : []
  })

const checkCommit = (world: World, { landed, taskId }: { landed: string; taskId: string }, granted: string[]): void => {
  const commit = world.git.commits.get(landed)
  const task = world.tables.task.get(taskId)
  if (commit === undefined || task === undefined) return world.violated('the fence', `no commit ${landed}`)
  // What failed before any work is excused, but never in a check that the task itself names.
  // The user may have broken the branch that it began on.
  const before = [world.firstTree, world.git.treeOf(commit.parents[0] ?? '')]
  const excused = new Set(task.commandSource === 'task' ? [] : before.flatMap(failingTests))
  const failed = failingTests(world.git.treeOf(landed)).filter((test) => !excused.has(test))
  if (failed.length > 0)
    world.violated('the fence', `commit ${landed} of ${taskId} does not pass its checks: ${failed[0]}`)
  const changes = world.git.calls.changesBetween(world.shadow, commit.parents[0] ?? '', landed)
  const { violations } = checkPathPolicy({
    changes,
    allowedPaths: rules([...task.allowedPaths, ...granted]),
    deniedPaths: rules(task.deniedPaths),
    nestedRepositories: [],
  })
  if (violations.length > 0) world.violated('the fence', `commit ${landed} of ${taskId} changes ${violations[0]?.path}`)
}

/** Verified means: a check looked at this very tree. */
const checkTree = (world: World, landed: string, runId: string): void => {
  const tree = world.git.commits.get(landed)?.tree
  if (world.tables.run.get(runId)?.verdict?.outcome !== 'verified') return
  if (![...world.checks.values()].flat().some((check) => check.tree === tree && !check.proves))
    world.violated('what lands was checked', `no check of ${runId} looked at the tree of ${landed}`)
}

/** A branch whose changes are on the goal branch already, by whatever way, is reviewed without a run of its own. */
const checkContained = (world: World, { id, goalId, review }: Task): void => {
  if (review === null || !('branch' in review)) return
  const goal = world.tables.goal.get(goalId)
  const [wanted, there] = [review.head, goal?.headCommit ?? goal?.baseCommit].map((commit) =>
    world.git.treeOf(commit ?? '').get(branchFile(review.branch)),
  )
  if (wanted !== there)
    world.violated(
      'no fake green',
      `task ${id} is done, and the changes of ${review.branch} are not on the goal branch`,
    )
}

/** Done means: its commit is where it belongs, or, in place, its verdict is recorded. */
const checkDone = (world: World, { changes }: Look): void => {
  for (const { table, id, before, after } of changes) {
    if (table !== 'task' || (after as Task).status !== 'done' || (before as Task | undefined)?.status === 'done')
      continue
    const task = after as Task
    const direct = world.tables.goal.get(task.goalId)?.repoMode === 'direct'
    const merged = [...world.tables.merge_entry.values()].filter(
      ({ taskId, state }) => taskId === id && state === 'merged',
    )
    // Work that was taken off the branch again has an older entry, whose commit is nowhere.
    const head = world.tables.goal.get(task.goalId)?.headCommit ?? ''
    const there = merged.filter(({ landedCommit }) => world.git.isAncestor(landedCommit ?? '', head))
    const good = runsOf(world, id).some(
      ({ state, verdict }) => state === 'success' && verdict !== null && verdict.outcome !== 'not verified',
    )
    const nothing = runsOf(world, id).find(({ state, verdict }) => state === 'success' && verdict?.noChange === true)
    if (nothing !== undefined && merged.length === 0) {
      const nothingRan = nothing.verdict?.outcome === 'nothing to verify'
      const couldRun = task.commands.some((command) => command !== 'npm run missing')
      if (task.review !== null) checkContained(world, task)
      else if (nothingRan ? couldRun : world.lastCheck.get(`${nothing.id}-check`) !== true)
        world.violated('no fake green', `task ${id} is done without a change and without a check that passed`)
    } else if (direct ? !good : there.length !== 1)
      world.violated('one owner', `task ${id} is done with ${there.length} merged entries on its branch`)
  }
}

const passedSince = (world: World, { runId, taskId }: Recovery): boolean =>
  world.lastCheck.get(`${runId}-check`) === true ||
  runsOf(world, taskId).some(({ id }) => world.lastCheck.get(`${id}-check`) === true)

/** A check of the work after the recovery began passed, or failed in fewer tests than the last one before and in no other. */
const fewerFailures = (world: World, { taskId }: Recovery, since: number): boolean => {
  const all = runsOf(world, taskId)
    .flatMap(({ id }) => world.checks.get(`${id}-check`) ?? [])
    .filter(({ work }) => work)
  const before = all.filter(({ at, failed }) => at <= since && failed.length > 0).at(-1)?.failed ?? []
  const later = all.filter(({ at }) => at > since)
  return later.some(({ failed }) => failed.length < before.length && failed.every((test) => before.includes(test)))
}

/** What the newest workspace of a task holds, and what it began with. Undefined: none is left, as in place. */
const workspaceOf = (world: World, taskId: string) => {
  const ids = new Set(runsOf(world, taskId).map(({ id }) => id))
  const clones = [...world.git.clones].filter(([dir]) => ids.has(/\/runs\/([^/]+)\/workspace$/.exec(dir)?.[1] ?? ''))
  const clone = clones.at(-1)?.[1]
  return clone === undefined ? undefined : { files: clone.files, base: world.git.treeOf(clone.base) }
}

/** Each path may be changed now, is left out of the work, or is as the base has it. */
const pathsSettled = ({ world, policy }: Facts, { taskId, runId, postCondition }: Recovery): boolean => {
  const task = world.tables.task.get(taskId)
  const paths = postCondition['paths'] as string[]
  const newest = runsOf(world, taskId).at(-1)?.id ?? runId
  const granted = [runId, newest].flatMap((id) => policy.grantedTo(taskId, id))
  const workspace = workspaceOf(world, taskId)
  const allowed = rules([...(task?.allowedPaths ?? []), ...granted])
  return paths.every((path) => {
    const isSame = workspace === undefined || workspace.files.get(path) === workspace.base.get(path)
    return isSame || policy.leftOutOf(taskId).includes(path) || allowed.some((rule) => pathMatcher(rule)(path))
  })
}

const markersGone = (world: World, { taskId, postCondition }: Recovery): boolean => {
  const files = workspaceOf(world, taskId)?.files
  return (postCondition['paths'] as string[]).every((path) => !hasConflictMarker(files?.get(path) ?? ''))
}

/** The task, and those that continue or correct its work. */
const lineOf = (world: World, id: string): string[] => [
  id,
  ...[...world.tables.task.values()].flatMap((task) => (task.rework?.parent === id ? lineOf(world, task.id) : [])),
]

/** Work of another run of the task is on the branch, or is there without a change. */
const workLanded = (world: World, id: string, not: string): boolean =>
  [...world.tables.merge_entry.values()].some(
    ({ taskId, runId, state }) => taskId === id && runId !== not && state === 'merged',
  ) || runsOf(world, id).some(({ verdict }) => verdict?.noChange === true)

const observed = (facts: Facts, recovery: Recovery): boolean => {
  const { world } = facts
  const since = facts.recoverySeen.get(recovery.id) ?? 0
  const launches = world.processes.all.filter(
    (launch) =>
      launch.program !== undefined &&
      !isQuestion(launch) &&
      launch.program.startedAt >= since &&
      world.tables.run.get(launch.spec.marker)?.taskId === recovery.taskId,
  )
  const endedWell = (launch: SimLaunch): boolean => launch.exit !== undefined && launch.program?.script.ends !== 'badly'
  const condition = recovery.postCondition as { type: string; directory?: string; fresh?: boolean }
  switch (condition.type) {
    case 'session_opens':
      return launches.some(
        ({ spec, program }) =>
          program?.script.opens === true &&
          (condition.fresh === true ? !program.resumed : spec.argv.includes('--skip-git-repo-check')),
      )
    case 'directory_usable':
      return launches.some(
        (launch) =>
          launch.spec.argv.includes(condition.directory ?? '') &&
          endedWell(launch) &&
          launch.program?.script.deniedBelow !== condition.directory,
      )
    case 'provider_answers':
      return launches.some(endedWell)
    case 'work_merges':
      return lineOf(world, recovery.taskId).some((id) => workLanded(world, id, recovery.runId))
    case 'markers_gone':
      return markersGone(world, recovery)
    case 'work_appears':
      return launches.some(endedWell)
    case 'agent_gets_on':
      // One that was killed from outside may have written before: that counts.
      return launches.some(
        (launch) =>
          (endedWell(launch) && launch.program?.script.ends === 'well') ||
          (launch.exit !== undefined && launch.program?.script.acts.some(({ act }) => act.kind === 'edit')),
      )
    case 'fewer_failures':
      return fewerFailures(world, recovery, since)
    case 'paths_allowed':
      return pathsSettled(facts, recovery)
    default:
      return passedSince(world, recovery)
  }
}

const checkRecoveries = (facts: Facts, { changes }: Look): void => {
  const { world } = facts
  for (const { table, id, before, after } of changes) {
    if (table !== 'recovery') continue
    const recovery = after as Recovery
    if (before === undefined) {
      facts.recoverySeen.set(id, world.scheduler.now())
      const from = world.tables.task.get(recovery.taskId)?.countFromEpoch ?? 0
      const past = [...world.tables.recovery.values()].filter(
        (old) =>
          old.taskId === recovery.taskId && old.id !== id && (world.tables.run.get(old.runId)?.epoch ?? 0) > from,
      )
      const wait = recovery.action.type === 'wait'
      const again = past.find(
        (old) => old.actionKey === recovery.actionKey && (old.status === 'failed' || old.runId === recovery.runId),
      )
      if (!wait && again !== undefined)
        world.violated(
          'every retry changes something',
          `${recovery.playbook} on ${recovery.taskId} is the same action as ${again.id}`,
        )
      const spent = past.filter(({ counted }) => counted).length
      if (recovery.counted && spent >= totalBudget)
        world.violated('everything ends', `recovery ${spent + 1} of ${recovery.taskId}`)
      const waits = past.filter(
        ({ label, playbook }) => label === recovery.label && playbook === recovery.playbook,
      ).length
      // A limit of the account is waited for as often as its playbook says: nobody's configuration ends that.
      const most = recovery.action.name === 'WAIT_FOR_QUOTA' ? quotaWait.budget : world.mostWaits
      if (wait && waits >= most)
        world.violated(
          'everything ends',
          `wait ${waits + 1} for ${recovery.label} of ${recovery.taskId}, the limit was never above ${most}`,
        )
    }
    const settled = recovery.status === 'success' && (before as Recovery | undefined)?.status !== 'success'
    if (settled && !observed(facts, recovery))
      world.violated(
        'a recovery counts if it helped',
        `${recovery.playbook} ${id} is a success, but its ${recovery.postCondition.type} was not seen`,
      )
  }
}

/** The tree without the report that every check makes again: it may be left out and go with the workspace. */
const withoutReport = ({ git }: World, tree: string): string =>
  git.addTree(new Map([...git.treeOf(tree)].filter(([path]) => path !== reportFile)))

/** Work that an agent left in its workspace is also elsewhere. */
const kept = (world: World, runId: string, tree: string): boolean =>
  isElsewhere(world, runId, tree) || isElsewhere(world, runId, withoutReport(world, tree))

const isElsewhere = (world: World, runId: string, tree: string): boolean => {
  const run = world.tables.run.get(runId)
  if (
    run?.tree === tree ||
    (run?.commit !== null && run?.commit !== undefined && world.git.commits.get(run.commit)?.tree === tree)
  )
    return true
  return [...world.git.snapshots.values()].some((snapshot) => snapshot.runId === runId && snapshot.tree === tree)
}

const worthKeeping = (world: World, dir: string): { runId: string; tree: string } | undefined => {
  const runId = /\/runs\/([^/]+)\/workspace$/.exec(dir)?.[1]
  const clone = world.git.clones.get(dir)
  if (runId === undefined || clone === undefined) return undefined
  // Before its first agent it holds at most a copy of what an earlier attempt left.
  if (!world.processes.all.some(({ spec, program }) => spec.marker === runId && program !== undefined)) return undefined
  const tree = world.git.addTree(new Map(clone.files))
  return tree === world.git.commits.get(clone.base)?.tree ? undefined : { runId, tree }
}

const checkOverdue = (facts: Facts): void => {
  const { world } = facts
  const now = world.scheduler.now()
  for (const run of world.tables.run.values()) {
    if (run.state !== 'running' || run.phase !== 'supervise') continue
    const quiet = now - Math.max(facts.leaseSeen.get(run.taskId) ?? 0, world.steadySince())
    if (quiet > 4_000 * world.config.lease.ttlSeconds)
      world.violated('nothing stuck', `nobody renews the lease of ${run.id} for ${quiet} ms`)
  }
  for (const task of world.tables.task.values()) {
    const doomed =
      task.status === 'queued' &&
      world.tables.goal.get(task.goalId)?.state === 'active' &&
      task.dependsOn.some((id) => world.tables.task.get(id)?.status === 'cancelled')
    if (!doomed) facts.doomedSince.delete(task.id)
    else if (!facts.doomedSince.has(task.id)) facts.doomedSince.set(task.id, now)
    const since = Math.max(facts.doomedSince.get(task.id) ?? now, world.steadySince())
    if (doomed && now - since > 600_000)
      world.violated('nothing stuck', `task ${task.id} waits for one that was cancelled`)
  }
}

const checkSettled = (world: World): void => {
  for (const goal of world.tables.goal.values()) {
    const tasks = [...world.tables.task.values()].filter(({ goalId }) => goalId === goal.id)
    const open = tasks.filter(({ status }) => !taskEnded(status))
    if (open.length > 0)
      world.violated(
        'everything ends',
        `goal ${goal.id} is ${goal.state}, its task ${open[0]?.id} is ${open[0]?.status}`,
      )
    if (
      goal.state === 'ready' &&
      goal.headCommit !== null &&
      world.git.refs.get(`refs/heads/unstuck/goal/${goal.id}`) !== goal.headCommit
    )
      world.violated('one owner', `the branch of ${goal.id} is not at its head`)
    if (goal.state === 'active') world.violated('everything ends', `goal ${goal.id} is active and nothing of it moves`)
    if (isLanding(goal)) world.violated('everything ends', `goal ${goal.id} is ready, is to land and was not refused`)
    const asked = [...world.tables.escalation.values()].some(
      ({ goalId, state }) => goalId === goal.id && state === 'pending',
    )
    if (asked && goal.state !== 'failed')
      world.violated('everything ends', `goal ${goal.id} is ${goal.state} with an open question`)
  }
  for (const launch of world.processes.all)
    if (launch.program?.alive === true) world.violated('one owner', `the agent of ${launch.spec.marker} lives on`)
}

const seeLimits = ({ limits }: Facts, { events }: Look): void => {
  for (const { type, at, payload } of events) {
    const account = String(payload['account'])
    if (type === 'account.available') limits.delete(account)
    if (type !== 'account.limited') continue
    const since = limits.get(account)?.since ?? at
    limits.set(account, {
      harnesses: payload['harnesses'] as string[],
      since,
      until: new Date(String(payload['until'])),
    })
  }
}

/** Between a claim's look at the limits and its lease. */
const lookMs = 2_000

/** What was known when the task was claimed; a limit met by another run after that comes too late for one that starts. */
const checkLimits = ({ world, limits }: Facts, run: Run): void => {
  for (const [account, { harnesses, since, until }] of limits)
    if (harnesses.includes(run.harness) && run.startedAt < until && run.startedAt.getTime() - since.getTime() > lookMs)
      world.violated(
        'nothing on a limited account',
        `run ${run.id} starts on ${account}, at its limit until ${until.toISOString()}`,
      )
}

const checkStart = (facts: Facts, launch: SimLaunch): void => {
  const { world } = facts
  const runId = launch.spec.marker
  const run = world.tables.run.get(runId)
  // A reviewer looks at the work of a run that has ended.
  if (isReview(launch)) {
    if (run?.state !== 'success')
      world.violated('one owner', `a reviewer starts for run ${runId}, which is ${run?.state}`)
  } else if (run?.state !== 'running')
    return world.violated('one owner', `an agent starts for run ${runId}, which is ${run?.state}`)
  if (run === undefined) return
  if (!isQuestion(launch) && lastLaunch(run)?.shim?.pid !== launch.identity.pid)
    world.violated('one owner', `an agent of ${runId} starts before its identity is committed`)
  if (!isReview(launch)) checkLimits(facts, run)
  for (const other of world.processes.all) {
    if (other === launch || other.program?.alive !== true) continue
    if (world.tables.run.get(other.spec.marker)?.taskId === run.taskId)
      world.violated('one owner', `two agents of task ${run.taskId} work at the same time`)
    // Each would count the changes of the other as its own.
    if (launch.spec.cwd === world.git.root && other.spec.cwd === world.git.root)
      world.violated(
        'one owner',
        `agents of ${runId} and ${other.spec.marker} work in the user's folder at the same time`,
      )
  }
}

export const createOracle = (world: World): Oracle => {
  const facts: Facts = {
    world,
    recoverySeen: new Map(),
    leaseSeen: new Map(),
    doomedSince: new Map(),
    limits: new Map(),
    gaveAreas: new Set(),
    policy: createPolicyOracle(world),
  }
  let transitions = 0
  const target = createTarget(world)
  const autonomy = createAutonomy(world)
  const judge = createJudgeOracle(world)
  return {
    transitions: () => transitions,
    observe: (look) => {
      target.look()
      seeLimits(facts, look)
      judge.observe(look)
      for (const change of look.changes) {
        transitions += checkMoves(world, change)
        if (change.table === 'lease') facts.leaseSeen.set(change.id, world.scheduler.now())
      }
      if (look.changes.every(({ table }) => table === 'lease')) return
      checkEvents(world, look)
      for (const { type, goalId, taskId } of look.events) {
        if ((type === 'goal.paused' || type === 'goal.cancelled') && goalId !== null) facts.gaveAreas.add(goalId)
        if (type === 'task.escalated' && taskId !== null) facts.gaveAreas.add(taskId)
      }
      checkOwners(facts)
      checkFence(world, look)
      facts.policy.observe(look)
      checkBranches(facts, look)
      checkDone(world, look)
      checkRecoveries(facts, look)
      checkSteps(world, look)
      checkRework(world, look)
      autonomy.observe(look)
    },
    programStarts: (launch) => {
      checkStart(facts, launch)
      if (isReview(launch)) return judge.reviewStarts(launch)
      if (isQuestion(launch)) return facts.policy.questionStarts(launch)
      autonomy.programStarts(launch)
    },
    stopRequested: (launch) => {
      const work = worthKeeping(world, launch.spec.cwd)
      if (work !== undefined && !world.snapshotsFail() && !kept(world, work.runId, work.tree))
        world.violated('nothing lost', `the agent of ${work.runId} is stopped without a snapshot of its work`)
    },
    discarded: (dir) => {
      const work = worthKeeping(world, dir)
      if (work !== undefined && !world.snapshotsFail() && !kept(world, work.runId, work.tree))
        world.violated('nothing lost', `the workspace of ${work.runId} is discarded with work that is nowhere else`)
    },
    overdue: () => checkOverdue(facts),
    rests: () => autonomy.rests(),
    settled: () => checkSettled(world),
  }
}
