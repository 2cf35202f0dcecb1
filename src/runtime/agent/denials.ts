/**
 * The denials of a run's launches, with the facts that a correction needs. They are read again from the output files of a launch, so
 * an engine that restarted sees the same denials.
 */
import { lastLaunch, noCorrections } from '../../domain/run.ts'
import type { Denial, Driver, Transcript } from '../../harness/driver.ts'
import type { Capabilities } from '../../harness/capabilities.ts'
import type { ObservedDenial } from '../../recovery/evidence.ts'
import { detectCapabilities } from '../harness/detected-capabilities.ts'
import type { Context } from '../core/context.ts'
import type { FailedLaunch } from './launch-evidence.ts'
import {
  isInside,
  observeDenials,
  observeRefusals,
  realDirectories,
  type ObservedDenials,
  type ObservedLaunch,
  type RulesFor,
} from './observe-denial.ts'
import { allowedCommands } from '../checks/allowed-commands.ts'
import { workTreeOf, type RunContext } from '../core/run-context.ts'

/** Allowed directories of goal and configuration, as realpaths. */
export const allowedDirectories = (runContext: RunContext): string[] =>
  realDirectories(runContext.context.ports.files, [
    ...runContext.goal.allowedDirs,
    ...runContext.context.config().allowedDirs,
  ])

/** The harness's rules that would allow a refused tool call; no rule for a CLI or version that has none. */
const toolRulesFor = async (runContext: RunContext, can: Capabilities): Promise<RulesFor> => {
  const { driver } = runContext
  if (driver.toolRules === undefined || !can.toolRules) return () => []
  const own = await allowedCommands(runContext)
  const permitted = { workspace: workTreeOf(runContext), launchCommands: runContext.task.commands, taskCommands: own }
  return (denial) => driver.toolRules?.(denial, permitted) ?? []
}

const observedLaunch = async (runContext: RunContext): Promise<ObservedLaunch> => {
  const { capabilities: can } = await detectCapabilities(runContext)
  const { addDirs, toolRules: granted = [] } = lastLaunch(runContext.run)?.corrections ?? noCorrections
  const folders = { workTree: workTreeOf(runContext), allowed: allowedDirectories(runContext), given: addDirs }
  return { place: folders, can, granted, rulesFor: await toolRulesFor(runContext, can) }
}

type ObservedFailure = Pick<FailedLaunch, 'denials' | 'observeRefusal'>

export const observeLaunchDenials = async (
  runContext: RunContext,
  denials: readonly Denial[],
): Promise<ObservedDenials> => {
  if (denials.length === 0) return { denials: [], rulesFor: () => [] }
  const launched = await observedLaunch(runContext)
  return { denials: observeDenials(runContext.context.ports.files, denials, launched), rulesFor: launched.rulesFor }
}

/** For a launch that failed: its denials, and a function that observes the refusal which the failure itself reports. */
export const observeFailedLaunch = async (
  runContext: RunContext,
  denials: readonly Denial[],
): Promise<ObservedFailure> => {
  const launched = await observedLaunch(runContext)
  const { files } = runContext.context.ports
  return {
    denials: observeDenials(files, denials, launched),
    observeRefusal: (refusal) => observeRefusals(files, refusal, launched),
  }
}

export const observedDenials = async (runContext: RunContext, denials: readonly Denial[]): Promise<ObservedDenial[]> =>
  (await observeLaunchDenials(runContext, denials)).denials

/** Everything that a launch printed, parsed again from its output files. */
export const readOutput = (context: Context, driver: Driver, dir: string): Transcript => {
  let reading = driver.emptyTranscript()
  for (const stream of ['stdout', 'stderr'] as const) {
    for (let offset = 0; ;) {
      const part = context.ports.processes.readSegments(dir, stream, offset)
      for (const line of part.lines) reading = driver.read(reading, stream, line).transcript
      if (part.lines.length === 0) break
      offset = part.nextOffset
    }
  }
  return reading
}

/** The transcript with the paths of refusals that the CLI printed without them, from its own record. */
export const withRefusedPaths = (
  { environment, ports }: Context,
  driver: Driver,
  workspace: string,
  reading: Transcript,
): Transcript => driver.nameRefusals?.(reading, { environment, files: ports.files, workspace }) ?? reading

const readNumber = (runContext: RunContext, number: number): Transcript => {
  const { context, driver, paths } = runContext
  return withRefusedPaths(context, driver, workTreeOf(runContext), readOutput(context, driver, paths.launch(number)))
}

/** The newest launch of a run. */
export const readLaunch = (runContext: RunContext): Transcript => {
  const launch = lastLaunch(runContext.run)
  return launch === undefined ? runContext.driver.emptyTranscript() : readNumber(runContext, launch.number)
}

/** The denials of the newest launch. */
export const readDenials = async (runContext: RunContext): Promise<ObservedDenial[]> =>
  observedDenials(runContext, readLaunch(runContext).denials)

/**
 * Whether a denial of an earlier launch is still uncorrected. An agent that resumes its session remembers the refusal and does not try
 * again, so a later launch without this denial proves nothing.
 */
const stillOpen = (given: readonly string[], { kind, directory, unusable }: ObservedDenial): boolean =>
  kind === 'scope' ? directory !== undefined && !given.some((dir) => isInside(directory, dir)) : unusable !== undefined

/** The denials of the newest launch, and those of earlier launches that no correction has answered. */
export const openDenials = async (runContext: RunContext): Promise<ObservedDenial[]> => {
  const earlier = runContext.run.launches.slice(0, -1).flatMap(({ number }) => readNumber(runContext, number).denials)
  const { addDirs } = lastLaunch(runContext.run)?.corrections ?? noCorrections
  const open = (await observedDenials(runContext, earlier)).filter((denial) => stillOpen(addDirs, denial))
  const newest = await readDenials(runContext)
  return [...newest, ...open.filter(({ text }) => !newest.some((denial) => denial.text === text))]
}
