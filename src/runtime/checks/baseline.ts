/**
 * The baseline of a check: its result on the base commit of the work, in a clean workspace of its own. It is cached per tree, command
 * and lockfile. Without a usable result (no time, no workspace, an environment that fails the check) it is `unknown`, which excuses
 * no failure.
 */
import { join } from 'node:path'
import { AppError, messageOf } from '../../errors.ts'
import { isCoveredBy, failingSetOf, type FailingSet } from '../../recovery/failing-set.ts'
import { treePool } from '../core/context.ts'
import { makeCleanWorkspace, runSetup } from './fresh-workspace.ts'
import { carryOutInstalls } from './install.ts'
import { cacheResult, cachedResult, type Baseline, type CacheLocation } from './check-cache.ts'
import { runChecks } from './command-runner.ts'
import type { CheckReport, CheckRequest } from './check-request.ts'
import { defined } from '../../domain/defined.ts'

/** `installs`: those of the work's checks, so that both run with the same packages. */
export interface BaseLocation extends CacheLocation {
  /** Folder of the run for the clean workspace and its output. */
  dir: string
}

/** Labels of a command that does not exist on the base commit. */
const neverRuns = new Set(['missing_script', 'missing_make_target', 'command_not_found'])

const unknown = (why: string): Baseline => ({ state: 'unknown', detail: `not compared with the base commit: ${why}` })

const baselineOf = (report: CheckReport, command: string): Baseline => {
  const { failed, output } = report
  if (failed === undefined) return { state: 'passes', detail: 'it passes on the base commit' }
  if (failed.command !== command) return unknown(`${failed.command}, which comes before it, fails there`)
  if (failed.ranNothing !== undefined)
    return { state: 'no tests', detail: `it runs no test on the base commit either (${failed.ranNothing})` }
  if (failed.timedOut) return unknown('it ran out of time there')
  if (output === undefined || failed.spawnError !== undefined) return unknown('it cannot be started there')
  const set = failingSetOf(output)
  if (set.infra && neverRuns.has(set.label))
    return { state: 'unknown', detail: `nor can it run on the base commit (${set.evidence})`, label: set.label }
  if (set.infra) {
    const detail = `it fails on the base commit as well (${set.label}: ${set.evidence})`
    return { state: 'unknown', detail, label: set.label }
  }
  const { tests } = report.results.at(-1) ?? {}
  return {
    ...{ state: 'fails', detail: 'it fails on the base commit as well', set },
    ...defined({ tests }),
  }
}

/** Installs the packages of the work's checks, then runs the commands, all within the time of the request. */
const checkBase = async (place: BaseLocation, request: CheckRequest, command: string): Promise<Baseline> => {
  const begun = request.clock.elapsed()
  const setup = { ...request, folder: (number: number) => join(place.dir, 'setup', String(number)) }
  const failed = await runSetup(setup, place.config().workspace)
  if (failed !== undefined) return unknown(`the workspace could not be set up there (${failed.evidence.cause})`)
  const installed = await carryOutInstalls(
    { ...request, folder: (number) => join(place.dir, 'installs', String(number)) },
    place.installs,
  )
  if (!installed.ok) return unknown(`what the check needs could not be installed there (${installed.detail})`)
  const leftMs = (): number => request.totalMs - (request.clock.elapsed() - begun)
  const run = async (folder: string, commands: readonly string[]): Promise<Baseline> => {
    const report = await runChecks({
      ...request,
      commands: [...commands],
      folder: (number) => join(place.dir, folder, String(number)),
      totalMs: Math.max(1, leftMs()),
      passed: () => undefined,
    })
    return request.signal.aborted ? unknown('the run was ended meanwhile') : baselineOf(report, command)
  }
  const before = request.clock.elapsed()
  const first = await run('checks', request.commands)
  // Tests that fail at random would excuse a failure that the work caused.
  if (first.state !== 'fails' || first.set.tests === null || leftMs() < request.clock.elapsed() - before) return first
  const second = await run('again', [command])
  if (second.state === 'passes')
    return { ...second, detail: 'it failed on the base commit and passed when it was run again' }
  return second.state === 'fails' ? { ...first, again: second.set } : first
}

/** Runs `work` in a clean workspace of the base commit, and removes the workspace afterwards. */
const inCleanWorkspace = async (
  place: BaseLocation,
  request: CheckRequest,
  work: (request: CheckRequest) => Promise<Baseline>,
): Promise<Baseline> => {
  const workspace = join(place.dir, 'workspace')
  try {
    const clean = { ...place, workspace, branch: 'unstuck/base', signal: request.signal }
    const { copyProblem } = await makeCleanWorkspace(request.ports, clean)
    if (copyProblem !== undefined) throw new AppError('REPOSITORY_STATE', `workspace.copy: ${copyProblem}`)
    return await work({ ...request, workspace })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    // A check that could not be followed to its end may still run. It must not outlive its workspace and its run.
    await request.ports.processes.sweep(request.marker)
    return unknown(messageOf(error))
  } finally {
    await request.ports.git.returnWorkspace(workspace, treePool(place))
  }
}

/**
 * Runs `command` on the base commit, after the commands of the plan that build something for it. `leftMs`: time left for all of the
 * run's verification.
 */
export const runOnBase = async (
  place: BaseLocation,
  request: CheckRequest,
  plan: { before: readonly string[]; command: string; neededMs: number },
  leftMs: number,
): Promise<Baseline> => {
  const { files } = request.ports
  const commands = [...plan.before, plan.command]
  const known = await cachedResult(request.ports, place, commands)
  if (known !== undefined) return known
  if (leftMs <= plan.neededMs) return unknown('the time for verification does not suffice to run it there')
  for (const name of ['setup', 'checks', 'again']) files.rmSync(join(place.dir, name), { recursive: true, force: true })
  return inCleanWorkspace(place, request, async (inside) => {
    const found = await checkBase(place, { ...inside, commands, totalMs: leftMs }, plan.command)
    await cacheResult(request.ports, place, commands, found)
    return found
  })
}

/** Whether every failure of the work is also a failure of the base commit. */
export const isCovered = (now: FailingSet, base: Baseline): boolean =>
  base.state === 'fails' && isCoveredBy(now, base.set) && (base.again === undefined || isCoveredBy(now, base.again))

/** Whether work and base commit fail in exactly the same way. */
export const isSameOnBase = (now: FailingSet, base: Baseline): boolean =>
  base.state === 'fails' && isCovered(now, base) && isCoveredBy(base.set, now)
