/** Verification commands: what comes out of one depends on the files it looks at, and on nothing else. */
import type { CommandRequest, CommandResult } from '../../src/process/run-command.ts'
import { simulatedProgramFiles, type SimLaunch } from './processes.ts'
import type { Incarnation } from './engine.ts'
import { reportFile } from './agents.ts'
import { cloneDirOf, type Tree } from './git.ts'
import { failingTests, report } from './suite.ts'
import type { World } from './world.ts'

const isBelow = (path: string, dir: string): boolean => path === dir || path.startsWith(`${dir}/`)

const workTreeOf = ({ git }: World, cwd: string): Tree | undefined =>
  simulatedProgramFiles(git, isBelow(cwd, git.root) ? git.root : (cloneDirOf(git, cwd) ?? cwd))

/** A check that runs no test, with any files. */
export const runnerWithoutTests = 'node empty.mjs'

const plain = { signal: null, timedOut: false, stdout: '', stderr: '', stdoutTruncated: false, stderrTruncated: false }

/** What fails of its tests, or the command itself where none could run. */
const failedIn = (files: Tree, argv: string[]): string[] => {
  const failed = failingTests(files)
  return failed.length > 0 ? failed : [argv.join(' ')]
}

/** Whether a run's work was checked, rather than the commit that it began from or one that was made for a comparison. */
const isWork = (world: World, { marker, cwd }: CommandRequest, files: Tree): boolean => {
  const run = world.tables.run.get(marker.replace(/-check$/, ''))
  if (run === undefined || !(isBelow(cwd, world.git.root) || cwd.includes(`/runs/${run.id}/checked`))) return false
  const tree = world.git.addTree(files)
  // An agent may mend its work by making it as it was.
  return tree === run.tree || tree !== world.git.commits.get(run.baseCommit ?? '')?.tree
}

/** Where an agent was, what it left behind may make a check pass. */
const lookAtPlace = (world: World, { marker, cwd }: CommandRequest): void => {
  const ran = ({ spec, program }: SimLaunch): boolean => program !== undefined && isBelow(cwd, spec.cwd)
  const agent = world.processes.all.find((launch) => launch.spec.cwd !== world.git.root && ran(launch))
  if (agent !== undefined)
    world.violated('what lands was checked', `a check of ${marker} runs where the agent of ${agent.spec.marker} was`)
}

const resultOf = (world: World, { argv, cwd }: CommandRequest): CommandResult => {
  const files = workTreeOf(world, cwd)
  if (files === undefined)
    return { ...plain, exitCode: null, durationMs: 5, spawnError: `the working folder ${cwd} does not exist` }
  if (argv.join(' ') === 'npm run missing')
    return { ...plain, exitCode: 1, durationMs: 300, stderr: 'npm error Missing script: "missing"' }
  if (argv.join(' ') === runnerWithoutTests)
    return { ...plain, exitCode: 0, durationMs: 300, stdout: 'collected 0 items' }
  const failed = failingTests(files)
  return failed.length === 0
    ? { ...plain, exitCode: 0, durationMs: 900, stdout: 'ok' }
    : { ...plain, exitCode: 1, durationMs: 900, stdout: report(failed) }
}

type Step = <T>(op: string, work: () => T, more?: { latency?: number }) => Promise<T>

/** The command is a program of its own: it goes on when the engine dies, until it ends or no engine shows itself. */
export const runCheck = async (
  world: World,
  self: Incarnation,
  step: Step,
  { dir, request }: { dir: string; request: CommandRequest },
): Promise<CommandResult> => {
  const process = await step('process.runCommand', () => {
    lookAtPlace(world, request)
    const running = (world.processes.checks.get(request.marker) ?? []).filter(({ alive }) => alive)
    if (running.length > 0) world.violated('one owner', `two checks of ${request.marker} run at the same time`)
    const started = { alive: true }
    world.processes.checks.set(request.marker, [...running, started])
    const takes = world.latency('check') * 60
    world.scheduler.after(takes, () => {
      started.alive = false
    })
    return { started, takes }
  })
  await new Promise<void>((resolve) => {
    const abort = (): void => {
      off()
      process.started.alive = false
      world.scheduler.after(50, resolve, self)
    }
    const off = world.scheduler.after(
      process.takes,
      () => {
        request.signal?.removeEventListener('abort', abort)
        resolve()
      },
      self,
    )
    request.signal?.addEventListener('abort', abort, { once: true })
  })
  if (request.signal?.aborted === true) return { ...plain, exitCode: null, signal: 'SIGTERM', durationMs: 10 }
  const result = resultOf(world, request)
  const files = workTreeOf(world, request.cwd) ?? new Map<string, string>()
  // What a mixed tree passes says nothing about the tree that lands.
  const proves = dir.includes('/counterfactuals/')
  world.checked(request.marker, {
    ...{ at: world.scheduler.now(), work: !proves && isWork(world, request, files) },
    ...{ proves, tree: world.git.addTree(files) },
    failed: result.exitCode === 0 ? [] : failedIn(files, request.argv),
  })
  if (result.exitCode === 0 && request.cwd.endsWith('/checked'))
    world.git.clones.get(request.cwd)?.files.set(reportFile, 'measured\n')
  return result
}
