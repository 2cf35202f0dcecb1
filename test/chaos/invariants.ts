/** What must hold whatever was killed, and when. Each breach is one sentence; a round passes when there is none. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DoctorView, GoalView, Recovery, Run, StatusView, EventView } from '../../src/api/contract.ts'
import { livenessOf, processesWithEnvironment, processTable, type ProcessIdentity } from '../../src/platform/process.ts'
import { ask, gitOutput, must, notesOf, type World } from './world.ts'

/** What the engine had acknowledged before it was killed. */
export interface Acknowledged {
  goals: Set<string>
  events: Map<number, string>
  breaches: string[]
}

export const nothingAcknowledged = (): Acknowledged => ({ goals: new Set(), events: new Map(), breaches: [] })

const textOf = (event: EventView): string =>
  JSON.stringify([event.type, event.goalId, event.taskId, event.runId, event.payload])

export const storedEvents = async (world: World): Promise<EventView[]> => {
  const found: EventView[] = []
  for (;;) {
    const page = await must<EventView[]>(world, `/events?after=${found.at(-1)?.seq ?? 0}&limit=1000`)
    found.push(...page)
    if (page.length < 1000) return found
  }
}

export const acknowledge = (seen: Acknowledged, events: EventView[]): void => {
  for (const event of events) seen.events.set(event.seq, textOf(event))
}

const lostWrites = (seen: Acknowledged, events: EventView[], status: StatusView): string[] => {
  const now = new Map(events.map((event) => [event.seq, textOf(event)]))
  const lost = [...seen.events]
    .filter(([id, text]) => now.get(id) !== text)
    .map(([id, text]) => `event ${id} was read before the kill and is gone or changed: ${text}`)
  const gone = [...seen.goals]
    .filter((id) => !status.goals.some((goal) => goal.id === id))
    .map((id) => `goal ${id} was acknowledged and is gone`)
  return [...lost, ...gone]
}

/** May be asked at any time: no task has two runs in work. */
export const doubled = (runs: Run[]): string[] => {
  const running = runs.filter((run) => run.state === 'running').map((run) => run.taskId)
  return running.filter((id, index) => running.indexOf(id) !== index).map((id) => `task ${id} has two running runs`)
}

/** How often the agent of each task starts when nothing but the engine is killed: a crash of ours costs no second start. */
const startsOf: Record<string, number> = { alpha: 1, script: 1, transient: 2, denial: 2, broken: 3 }

const agentBreaches = (world: World, runs: Run[]): string[] => {
  const notes = notesOf(world)
  const starts = notes.filter((note) => note.event === 'start')
  const twice = notes
    .filter((note) => note.event.startsWith('overlap'))
    .map((note) => `two agents of ${note.task} at once: ${note.event}, pid ${note.pid}`)
  const overlapping = starts.flatMap((note) => {
    const end =
      notes.find((other) => other.event === 'end' && other.pid === note.pid && other.run === note.run)?.at ?? note.at
    const inside = starts.filter(
      (other) => other !== note && other.task === note.task && other.at >= note.at && other.at < end,
    )
    return inside.map((other) => `agents of ${note.task} overlapped: pids ${note.pid} and ${other.pid}`)
  })
  const perRun = runs.flatMap((run) => {
    const count = starts.filter((note) => note.run === run.id).length
    return count > run.launches.length
      ? [`run ${run.id} has ${run.launches.length} launch(es) and its agent was started ${count} times`]
      : []
  })
  const unknown = starts
    .filter((note) => !runs.some((run) => run.id === note.run))
    .map((note) => `agent ${note.pid} ran for run ${note.run}, which the store does not know`)
  return [...twice, ...overlapping, ...perRun, ...unknown]
}

const countBreaches = (world: World, names: string[]): string[] =>
  names.flatMap((name) => {
    const count = notesOf(world).filter((note) => note.event === 'start' && note.task === name).length
    const wanted = startsOf[name] ?? 1
    return count === wanted ? [] : [`the agent of ${name} was started ${count} times instead of ${wanted}`]
  })

const runBreaches = (runs: Run[]): string[] => {
  const byTask = Map.groupBy(runs, (run) => run.taskId)
  const found = doubled(runs)
  for (const [task, own] of byTask) {
    const sorted = [...own].sort((one, other) => one.number - other.number)
    if (sorted.some((run, index) => index > 0 && run.epoch <= (sorted[index - 1]?.epoch ?? 0)))
      found.push(`the epochs of task ${task} do not rise`)
  }
  for (const run of runs) {
    if (run.state === 'running') found.push(`run ${run.id} is still running`)
    for (const launch of run.launches)
      if (launch.gateOpened && launch.shim === null)
        found.push(`launch ${launch.number} of ${run.id} ran without a committed identity`)
  }
  return found
}

const taskBreaches = (status: StatusView): string[] =>
  status.goals.flatMap((goal) =>
    goal.tasks.flatMap((task) => {
      const pending = status.escalations.filter((entry) => entry.taskId === task.id).length
      if (task.place === 'done' || task.place === 'cancelled')
        return pending === 0 ? [] : [`task ${task.title} is ${task.place} and has ${pending} open question(s)`]
      if (task.place === 'blocked(awaiting_human)' && pending === 1) return []
      return [`task ${task.title} is ${task.place} with ${pending} open question(s)`]
    }),
  )

/** Where every task of these worlds must end; an escalation of a healthy task would hide a lost one. */
const placeBreaches = (goal: GoalView): string[] =>
  goal.tasks.flatMap((task) => {
    const ending = task.harness === 'broken' ? 'blocked(awaiting_human)' : 'done'
    const wanted = goal.state === 'cancelled' || goal.state === 'failed' ? 'cancelled' : ending
    return task.place === wanted ? [] : [`task ${task.title} is ${task.place} and not ${wanted}`]
  })

const wantedRecoveries: Record<string, string[]> = {
  script: ['missing-script-drop success'],
  transient: ['transient-backoff success'],
  denial: ['directory-scope-relaunch success'],
  // Told twice, it breaks the check as before.
  broken: ['check-feedback failed', 'fresh-feedback failed'],
}

const recoveryBreaches = (goal: GoalView, recoveries: Recovery[]): string[] => {
  const open = recoveries
    .filter((entry) => entry.status === 'acting' || entry.decidedAt === null)
    .map((entry) => `recovery ${entry.playbook} of ${entry.taskId} was never decided`)
  const counts = goal.tasks.flatMap((task) => {
    const own = recoveries
      .filter((entry) => entry.taskId === task.id)
      .map((entry) => `${entry.playbook} ${entry.status}`)
    const wanted = (wantedRecoveries[task.harness] ?? []).join(', ')
    return own.join(', ') === wanted
      ? []
      : [`recoveries of ${task.title}: ${own.join(', ') || 'none'}; wanted: ${wanted || 'none'}`]
  })
  return [...open, ...counts]
}

const trailers = (world: World, range: string, key: string): string[] =>
  gitOutput(world.repo, 'log', `--format=%(trailers:key=${key},valueonly,separator=%x2C)`, range)
    .split('\n')
    .filter((line) => line !== '')

/** The branch of a goal that is done may be gone; then its commits are on main. */
const branchBreaches = (world: World, goal: GoalView): string[] => {
  const found: string[] = []
  const [branch, head] = [`refs/heads/${goal.branch}`, goal.headCommit ?? '']
  const tip = gitOutput(world.repo, 'for-each-ref', '--format=%(objectname)', branch)
  const isLanded = tip === '' && gitOutput(world.repo, 'rev-list', head, '--not', 'refs/heads/main') === ''
  const ref = isLanded ? head : branch
  const range = `${world.base}..${ref}`
  if (tip !== head && !(isLanded && goal.state === 'done')) return [`${branch} is not where the store says`]
  if (gitOutput(world.repo, 'rev-list', '--merges', range) !== '') found.push(`${ref} is not linear`)
  const [runs, tasks] = [trailers(world, range, 'Unstuck-Run'), trailers(world, range, 'Unstuck-Task')]
  for (const [kind, all] of [
    ['run', runs],
    ['task', tasks],
  ] as const)
    for (const id of new Set(all))
      if (all.filter((other) => other === id).length > 1) found.push(`${kind} ${id} was merged twice`)
  const done = goal.tasks.filter((task) => task.place === 'done')
  for (const task of done) {
    if (!tasks.includes(task.id)) found.push(`task ${task.title} is done and not on ${ref}`)
    else if (
      task.harness in startsOf &&
      gitOutput(world.repo, 'show', `${ref}:parts/${task.harness}.json`) !== `{"task":"${task.harness}"}`
    )
      found.push(`the work of ${task.title} is not on ${ref}`)
  }
  for (const id of tasks) if (!done.some((task) => task.id === id)) found.push(`task ${id} is on ${ref} and not done`)
  if (Number(gitOutput(world.repo, 'rev-list', '--count', range)) !== done.length)
    found.push(`${ref} holds foreign commits`)
  return found
}

const checkoutBreaches = (world: World, all: GoalView[]): string[] => {
  const landed = all.find((goal) => goal.autoMerge && goal.state === 'done')
  const wanted = landed?.headCommit ?? world.base
  const found: string[] = []
  if (gitOutput(world.repo, 'symbolic-ref', 'HEAD') !== 'refs/heads/main')
    found.push('the checkout is on another branch')
  if (gitOutput(world.repo, 'rev-parse', 'main') !== wanted)
    found.push(`main is not at ${landed === undefined ? 'its old commit' : 'the landed goal'}`)
  const changed = world.kind === 'remote' ? '' : gitOutput(world.repo, 'status', '--porcelain')
  if (changed !== '') found.push(`the checkout is not clean: ${changed}`)
  const refs = gitOutput(world.repo, 'for-each-ref', '--format=%(refname)').split('\n')
  const known = new Set(['refs/heads/main', ...all.map((goal) => `refs/heads/${goal.branch}`)])
  for (const ref of refs) if (!known.has(ref)) found.push(`the repository has a new ref ${ref}`)
  gitOutput(world.repo, 'fsck', '--connectivity-only')
  return found
}

const directBreaches = (world: World, goal: GoalView): string[] =>
  goal.tasks
    .filter((task) => task.place === 'done')
    .filter((task) => !existsSync(join(world.repo, 'parts', `${task.harness}.json`)))
    .map((task) => `the work of ${task.title} is not in the folder`)

export interface Expectation {
  seen: Acknowledged
  /** The engine alone was killed, and the goal is one of `goals`: then it is known how often each agent starts. */
  exact: boolean
}

/** Asked of a living engine once everything has ended or waits for a person. */
export const breachesOf = async (world: World, { seen, exact }: Expectation): Promise<string[]> => {
  // A kill after a merge leaves the run's own ref on the remote; this is what takes it away.
  if (world.kind === 'remote') await ask(world, 'POST', '/clean', { dryRun: false })
  const [status, runs, recoveries, doctor, events] = [
    await must<StatusView>(world, '/status'),
    await must<Run[]>(world, '/runs'),
    await must<Recovery[]>(world, '/recoveries'),
    await must<DoctorView>(world, '/doctor'),
    await storedEvents(world),
  ]
  const local = status.goals.filter((goal) => goal.repoMode !== 'direct')
  const tasks = status.goals.flatMap((goal) => goal.tasks)
  return [
    ...seen.breaches,
    ...lostWrites(seen, events, status),
    // Nobody but the engine moves refs here: one that it "puts back" is its own work that it did not know again.
    ...events
      .filter(({ type }) => type === 'ref.restored')
      .map(({ payload }) => `a ref was put back: ${JSON.stringify(payload)}`),
    ...runBreaches(runs),
    ...agentBreaches(world, runs),
    ...taskBreaches(status),
    ...status.goals.flatMap(placeBreaches),
    ...status.agents
      .filter((agent) => agent.state !== 'idle')
      .map((agent) => `slot ${agent.id} is ${agent.state}: its lease was left`),
    ...doctor.checks.filter((check) => !check.ok).map((check) => `doctor: ${check.name}: ${check.detail}`),
    ...(exact
      ? countBreaches(
          world,
          tasks.map((task) => task.harness).filter((name) => name in startsOf),
        )
      : []),
    ...(exact
      ? status.goals.flatMap((goal) =>
          recoveryBreaches(
            goal,
            recoveries.filter((entry) => entry.goalId === goal.id),
          ),
        )
      : []),
    ...local.flatMap((goal) => branchBreaches(world, goal)),
    ...status.goals.filter((goal) => goal.repoMode === 'direct').flatMap((goal) => directBreaches(world, goal)),
    ...(world.base === '' ? [] : checkoutBreaches(world, status.goals)),
  ]
}

const launchFolders = (world: World): string[] => {
  const below = (path: string): string[] => (existsSync(path) ? readdirSync(path).map((name) => join(path, name)) : [])
  const roots = [...below(join(world.stateDir, 'runs')), ...below(join(world.stateDir, 'merges'))]
  return roots.flatMap((root) => [...below(join(root, 'launches')), ...below(join(root, 'checks'))])
}

const shimPids = (world: World): number[] =>
  launchFolders(world).flatMap((dir) => {
    const path = join(dir, 'identity.json')
    if (!existsSync(path)) return []
    const identity = JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity
    return livenessOf(identity) === 'alive' ? [identity.pid] : []
  })

/** By the command line: a shim whose folder was taken over by another one is found nowhere else. */
const byCommandLine = (world: World): string[] =>
  processTable()
    .map(({ pid }) => ({ pid, line: commandLineOf(pid) }))
    .filter(({ pid, line }) => pid !== process.pid && line.includes(`${world.root}/`))
    .map(({ pid, line }) => `process ${pid}: ${line.slice(0, 200)}`)

const commandLineOf = (pid: number): string => {
  try {
    return process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      : execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return '' // it ended in between
  }
}

/** Processes of this world that are alive: engines, shims, agents, checks and whatever those left behind. */
export const livingOf = (world: World): string[] => {
  const runs = new Set([
    ...(existsSync(join(world.stateDir, 'runs')) ? readdirSync(join(world.stateDir, 'runs')) : []),
    ...notesOf(world).map((note) => note.run),
  ])
  const merges = existsSync(join(world.stateDir, 'merges')) ? readdirSync(join(world.stateDir, 'merges')) : []
  const markers = [...[...runs].flatMap((run) => [run, `${run}-check`]), ...merges.map((entry) => `${entry}-check`)]
  return [
    ...processesWithEnvironment('UNSTUCK_HOME', world.environment.UNSTUCK_HOME ?? '').map((pid) => `engine ${pid}`),
    ...shimPids(world).map((pid) => `shim ${pid}`),
    ...byCommandLine(world),
    ...markers.flatMap((marker) =>
      processesWithEnvironment('UNSTUCK_RUN', marker).map((pid) => `process ${pid} of ${marker}`),
    ),
  ]
}
