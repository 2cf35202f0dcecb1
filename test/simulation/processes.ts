/**
 * Processes without an operating system: shims that live through the engine's death, wait at their gate, end their program
 * at its limit, on request or when no engine gives a sign of life, and the programs below them. What a shim would keep in
 * files is kept here; a lost shim leaves its program running, as in the real world.
 */
import { AppError } from '../../src/errors.ts'
import type { LaunchExit, LaunchSpec, LaunchState, Shim, StopCause } from '../../src/process/shim-protocol.ts'
import type { ProcessIdentity } from '../../src/platform/process.ts'
import type { ProcessUsage } from '../../src/process/usage.ts'
import { answerScript, scriptOf, solvingScript, type Act, type Script } from './agents.ts'
import { reviewScript } from './reviewers.ts'
import type { Dice } from './dice.ts'
import type { SimGit } from './git.ts'
import type { Behaviour, TaskPlan } from './plan.ts'
import type { Scheduler } from './scheduler.ts'

export interface Program {
  alive: boolean
  script: Script
  startedAt: number
  startedWall: Date
  resumed: boolean
}

export interface SimLaunch {
  dir: string
  spec: LaunchSpec
  identity: ProcessIdentity
  /** False once the shim itself is gone. */
  shim: boolean
  gate: boolean
  pulseAt: number
  cause: StopCause | undefined
  stopping: boolean
  program: Program | undefined
  exit: LaunchExit | undefined
  /** Its folder was cleared. */
  cleared: boolean
  /** What a file held before an agent of this run changed it. */
  found: Map<string, string | undefined>
  lines: Record<'stdout' | 'stderr', string[]>
  listeners: Set<() => void>
}

export interface ProcessWorld {
  launches: Map<string, SimLaunch>
  /** Every launch there ever was, cleared ones too. */
  all: SimLaunch[]
  /** Checks at work, by marker. */
  checks: Map<string, { alive: boolean }[]>
  start(dir: string, spec: LaunchSpec): Shim
  openGate(dir: string): void
  state(dir: string): LaunchState
  pulse(dir: string): boolean
  requestStop(shim: Shim, cause: StopCause): void
  sweep(marker: string): number
  usage(marker: string): ProcessUsage[]
  clear(dir: string): void
  loseShim(launch: SimLaunch): void
  reboot(): void
}

export interface ProcessParts {
  scheduler: Scheduler
  git: SimGit
  dice: Dice
  wall(): Date
  /** The task of a run, and how often its agent was started before. */
  taskOf(runId: string): TaskPlan | undefined
  /** It solves a conflict of finished work. */
  solvesConflict(runId: string): boolean
  goalRefOf(runId: string): string | undefined
  trace(text: string): void
  /** Told when a program starts, when it was asked to stop by the engine, and when it has ended. */
  onStart(launch: SimLaunch): void
  onStopRequest(launch: SimLaunch, cause: StopCause): void
}

const graceful = 1_500

export const simulatedProgramFiles = (git: SimGit, cwd: string): Map<string, string> | undefined =>
  cwd === git.root ? git.userFiles : git.clones.get(cwd)?.files

const tamper = (git: SimGit, launch: SimLaunch, what: 'goal' | 'main' | 'delete', goalRef: string): void => {
  const clone = git.clones.get(launch.spec.cwd)
  if (what === 'delete') {
    git.refs.delete(goalRef)
    return
  }
  const ref = what === 'goal' ? goalRef : 'refs/heads/main'
  const head = git.refs.get(ref)
  if (head === undefined) return
  const own = clone?.tips.at(-1)
  const files = new Map(git.treeOf(head)).set('tampered', `${launch.spec.marker}\n`)
  const commit =
    what === 'main' && own !== undefined
      ? own
      : git.addCommit({ tree: git.addTree(files), parents: [head], message: 'mischief\n' })
  // As by a fetch from the clone: the objects come along.
  git.userObjects.add(commit)
  for (const object of clone?.objects ?? []) git.userObjects.add(object)
  git.refs.move(ref, commit, 'fetch')
}

const play = (parts: ProcessParts, launch: SimLaunch, act: Act): void => {
  const { git } = parts
  const files = simulatedProgramFiles(git, launch.spec.cwd)
  if (act.kind === 'line') launch.lines[act.stream].push(act.text)
  if (act.kind === 'edit') {
    if (!launch.found.has(act.path)) launch.found.set(act.path, files?.get(act.path))
    files?.set(act.path, act.content)
  }
  if (act.kind === 'tamper') tamper(git, launch, act.what, parts.goalRefOf(launch.spec.marker) ?? 'refs/heads/none')
  const clone = git.clones.get(launch.spec.cwd)
  if (act.kind === 'restore') {
    const text = clone === undefined ? launch.found.get(act.path) : git.treeOf(clone.base).get(act.path)
    if (text === undefined) files?.delete(act.path)
    else files?.set(act.path, text)
  }
  if (act.kind === 'commit' && clone !== undefined) {
    const tree = git.addTree(new Map(clone.files))
    const commit = git.addCommit({
      tree,
      parents: [clone.tips.at(-1) ?? clone.base],
      message: `agent ${launch.spec.marker}\n`,
    })
    clone.objects.add(commit)
    clone.tips.push(commit)
  }
}

/** Started to answer a question, not to work. */
export const isQuestion = ({ spec }: SimLaunch): boolean => spec.argv.some((word) => word.includes('Question: '))

/** Started to look at finished work. */
export const isReview = ({ spec }: SimLaunch): boolean =>
  spec.argv.some((word) => word.includes('Question: finished work'))

type Kind = 'work' | 'solving' | 'review' | 'question'

const kindOf = ({ solvesConflict }: ProcessParts, launch: SimLaunch): Kind => {
  if (isReview(launch)) return 'review'
  if (isQuestion(launch)) return 'question'
  return solvesConflict(launch.spec.marker) ? 'solving' : 'work'
}

const sessionLetters: Record<Kind, string> = { work: 's', solving: 's', review: 'r', question: 'q' }

/** An account that stays at its limit would be waited for a hundred times, and again after each answer of a person. */
const mostAtLimit = 4

/** The n-th of the list, the last one for all later ones. */
const nthOf = <T>(list: readonly T[], count: number, other: T): T => {
  const last = list.length - 1
  return list[last] === 'quota' && count >= last + mostAtLimit ? other : (list[Math.min(count, last)] ?? other)
}

const behaviourOf = ({ scheduler }: ProcessParts, { spec }: SimLaunch, task: TaskPlan, count: number): Behaviour => {
  const { behaviours, isHelped } = task
  if (isHelped === undefined) return nthOf(behaviours, count, 'success')
  return isHelped({ words: spec.argv.join(' '), atMs: scheduler.now() }) ? 'success' : nthOf(behaviours, 0, 'success')
}

const scriptFor = (
  parts: ProcessParts,
  launch: SimLaunch,
  { task, count, kind }: { task: TaskPlan; count: number; kind: Kind },
): Script => {
  const { spec } = launch
  const session = `${sessionLetters[kind]}-${spec.marker}-${count}`
  const start = { spec, task, session, dice: parts.dice.fork(`${task.id}/${session}`) }
  const nth = <T>(list: readonly T[], other: T): T => nthOf(list, count, other)
  if (kind === 'review') return reviewScript({ ...start, count }, nth(task.reviews, 'approve'))
  if (kind === 'question') return answerScript(start, nth(task.answers, 'deny'))
  const worker = { ...start, count, behaviour: behaviourOf(parts, launch, task, count) }
  return kind === 'solving' ? solvingScript(worker, nth(task.solves, 'solves')) : scriptOf(worker)
}

export const createProcesses = (parts: ProcessParts): ProcessWorld => {
  const { scheduler, dice } = parts
  const launches = new Map<string, SimLaunch>()
  const all: SimLaunch[] = []
  const checks = new Map<string, { alive: boolean }[]>()
  const starts = new Map<string, number>()
  let pid = 1000
  const tell = (launch: SimLaunch): void => {
    for (const listener of [...launch.listeners]) listener()
  }
  const end = (launch: SimLaunch, exit: { code: number | null; signal: string | null }, forced = false): void => {
    const program = launch.program
    if (program !== undefined) program.alive = false
    if (!launch.shim || launch.cleared || launch.exit !== undefined) return
    launch.shim = false
    launch.exit = {
      ...exit,
      ...(launch.cause === undefined ? {} : { cause: launch.cause }),
      forced,
      startedAt: program?.startedWall.toISOString() ?? null,
      endedAt: parts.wall().toISOString(),
      durationMs: program === undefined ? 0 : scheduler.now() - program.startedAt,
    }
    parts.trace(`launch ${launch.dir.slice(-28)} ended ${JSON.stringify([exit.code, exit.signal, launch.cause ?? ''])}`)
    tell(launch)
  }
  const stop = (launch: SimLaunch, cause: StopCause): void => {
    if (launch.stopping || !launch.shim || launch.exit !== undefined) return
    launch.cause = cause
    launch.stopping = true
    if (launch.program === undefined) return end(launch, { code: null, signal: null })
    // Some programs write once more before they obey, some have to be killed.
    const late = dice.chance(0.3)
    if (late)
      scheduler.after(
        200,
        () =>
          void (
            launch.program?.alive === true &&
            play(parts, launch, { kind: 'edit', path: 'src/last-words', content: launch.spec.marker })
          ),
      )
    const stubborn = dice.chance(0.15)
    const after = stubborn ? launch.spec.graceMs : dice.int(20, graceful)
    scheduler.after(after, () =>
      end(launch, { code: stubborn ? null : 143, signal: stubborn ? 'SIGKILL' : null }, stubborn),
    )
  }
  const watch = (launch: SimLaunch): void => {
    if (!launch.shim || launch.exit !== undefined || launch.cleared) return
    const silent = launch.pulseAt + launch.spec.keepAliveMs - scheduler.now()
    const limit =
      launch.program === undefined ? Infinity : launch.program.startedAt + launch.spec.limitMs - scheduler.now()
    if (limit <= 0) return stop(launch, 'limit')
    if (silent <= 0) return stop(launch, launch.program === undefined ? 'gate' : 'abandoned')
    scheduler.after(Math.max(1, Math.min(silent, limit)), () => watch(launch))
  }
  const begin = (launch: SimLaunch): void => {
    if (!launch.shim || launch.cleared || launch.stopping || launch.program !== undefined) return
    const task = parts.taskOf(launch.spec.marker)
    if (task === undefined) return end(launch, { code: 127, signal: null })
    const kind = kindOf(parts, launch)
    const counted = `${kind} ${task.id}`
    const count = starts.get(counted) ?? 0
    starts.set(counted, count + 1)
    const script = scriptFor(parts, launch, { task, count, kind })
    const resumed = launch.spec.argv.includes('--resume') || launch.spec.argv.includes('resume')
    launch.program = { alive: true, script, startedAt: scheduler.now(), startedWall: parts.wall(), resumed }
    parts.trace(`agent of ${task.id} starts: ${script.behaviour ?? script.told ?? 'to answer a question'}`)
    parts.onStart(launch)
    watch(launch)
    for (const { at, act } of script.acts) {
      scheduler.after(at, () => {
        if (launch.program?.alive !== true) return
        if (act.kind === 'exit') {
          if (!launch.stopping) end(launch, act)
          else launch.program.alive = false
        } else play(parts, launch, act)
        tell(launch)
      })
    }
  }
  const state = (dir: string): LaunchState => {
    const launch = launches.get(dir)
    if (launch === undefined) return { state: 'absent' }
    if (launch.exit !== undefined) return { state: 'ended', exit: launch.exit }
    const shim = { dir, identity: launch.identity }
    if (!launch.shim) return { state: 'lost', shim }
    return launch.gate ? { state: 'running', shim } : { state: 'at-gate', shim }
  }
  const loseShim = (launch: SimLaunch): void => {
    launch.shim = false
    tell(launch)
  }
  return {
    ...{ launches, all, checks, state, loseShim },
    start: (dir, spec) => {
      if (launches.has(dir)) throw new AppError('SPAWN_FAILED', `the launch folder ${dir} was used before`)
      pid += 1
      const identity = { host: 'sim', bootId: 'boot', pid, startTime: String(scheduler.now()) }
      const launch: SimLaunch = {
        ...{
          dir,
          spec,
          identity,
          shim: true,
          gate: false,
          pulseAt: scheduler.now(),
          cause: undefined,
          stopping: false,
        },
        ...{
          program: undefined,
          exit: undefined,
          cleared: false,
          found: all.find((other) => other.spec.marker === spec.marker)?.found ?? new Map(),
          lines: { stdout: [], stderr: [] },
          listeners: new Set(),
        },
      }
      launches.set(dir, launch)
      all.push(launch)
      watch(launch)
      return { dir, identity }
    },
    openGate: (dir) => {
      const launch = launches.get(dir)
      if (launch === undefined) return
      launch.gate = true
      scheduler.after(20, () => begin(launch))
    },
    pulse: (dir) => {
      const launch = launches.get(dir)
      if (launch !== undefined) launch.pulseAt = scheduler.now()
      return launch !== undefined
    },
    requestStop: (shim, cause) => {
      const launch = launches.get(shim.dir)
      if (launch === undefined || launch.stopping) return
      parts.onStopRequest(launch, cause)
      scheduler.after(10, () => stop(launch, cause))
    },
    sweep: (marker) => {
      let met = 0
      for (const launch of all) {
        if (launch.spec.marker !== marker || launch.program?.alive !== true) continue
        launch.program.alive = false
        met += 1
        // The shim sees its program end by a signal.
        if (launch.shim) end(launch, { code: null, signal: 'SIGKILL' })
      }
      for (const check of checks.get(marker) ?? []) {
        if (check.alive) met += 1
        check.alive = false
      }
      checks.delete(marker)
      return met
    },
    // A program computes until the last of its acts, and does nothing after it.
    usage: (marker) =>
      all
        .filter(({ spec, program }) => spec.marker === marker && program?.alive === true)
        .map(({ identity, program }) => {
          const works = program?.script.acts.at(-1)?.at ?? 0
          return { ...identity, cpuMs: Math.min(works, scheduler.now() - (program?.startedAt ?? 0)), runnable: false }
        }),
    clear: (dir) => {
      for (const [path, launch] of launches) {
        if (path !== dir && !path.startsWith(`${dir}/`)) continue
        launch.cleared = true
        launches.delete(path)
        // A shim whose folder went away leaves; a program below it does not notice.
        if (launch.program === undefined) launch.shim = false
      }
    },
    reboot: () => {
      for (const launch of all) {
        if (launch.program !== undefined) launch.program.alive = false
        if (launch.shim) loseShim(launch)
      }
      for (const list of checks.values()) for (const check of list) check.alive = false
      checks.clear()
    },
  }
}
