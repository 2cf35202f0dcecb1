/**
 * The denials of a run's launches, with the facts that a correction needs. They are read again from the output files of a launch, so
 * an engine that restarted sees the same denials.
 */
import { lastLaunch, noCorrections } from '../../domain/run.ts'
import type { Denial, Driver, Reading } from '../../harness/driver.ts'
import type { Capabilities } from '../../harness/capabilities.ts'
import type { ObservedDenial } from '../../recovery/evidence.ts'
import { abilitiesOf } from '../harness/abilities.ts'
import type { Context } from '../core/context.ts'
import type { Failed } from './launch-evidence.ts'
import {
  isInside,
  observeDenials,
  observeRefusals,
  realDirectories,
  type Observed,
  type ObservedLaunch,
  type RulesFor,
} from './observe-denial.ts'
import { ownCommands } from '../checks/own-commands.ts'
import { workTreeOf, type Session } from '../core/session.ts'

/** Allowed directories of goal and configuration, as realpaths. */
export const allowedDirectories = (session: Session): string[] =>
  realDirectories(session.context.ports.files, [...session.goal.allowedDirs, ...session.context.config().allowedDirs])

/** The harness's rules that would allow a refused tool call; no rule for a CLI or version that has none. */
const toolRulesFor = async (session: Session, can: Capabilities): Promise<RulesFor> => {
  const { driver } = session
  if (driver.toolRules === undefined || !can.toolRules) return () => []
  const own = await ownCommands(session)
  const permitted = { workspace: workTreeOf(session), given: session.task.commands, own }
  return (denial) => driver.toolRules?.(denial, permitted) ?? []
}

const observedLaunch = async (session: Session): Promise<ObservedLaunch> => {
  const { capabilities: can } = await abilitiesOf(session)
  const { addDirs, toolRules: granted = [] } = lastLaunch(session.run)?.corrections ?? noCorrections
  const folders = { workTree: workTreeOf(session), allowed: allowedDirectories(session), given: addDirs }
  return { place: folders, can, granted, rulesFor: await toolRulesFor(session, can) }
}

type ObservedFailure = Pick<Failed, 'denials' | 'look'>

export const observe = async (session: Session, denials: readonly Denial[]): Promise<Observed> => {
  if (denials.length === 0) return { denials: [], rulesFor: () => [] }
  const launched = await observedLaunch(session)
  return { denials: observeDenials(session.context.ports.files, denials, launched), rulesFor: launched.rulesFor }
}

/** For a launch that failed: its denials, and a function that observes the refusal which the failure itself reports. */
export const observeFailed = async (session: Session, denials: readonly Denial[]): Promise<ObservedFailure> => {
  const launched = await observedLaunch(session)
  const { files } = session.context.ports
  return {
    denials: observeDenials(files, denials, launched),
    look: (refusal) => observeRefusals(files, refusal, launched),
  }
}

export const observedDenials = async (session: Session, denials: readonly Denial[]): Promise<ObservedDenial[]> =>
  (await observe(session, denials)).denials

/** Everything that a launch printed, parsed again from its output files. */
export const readOutput = (context: Context, driver: Driver, dir: string): Reading => {
  let reading = driver.begin()
  for (const stream of ['stdout', 'stderr'] as const) {
    for (let offset = 0; ;) {
      const part = context.ports.processes.readSegments(dir, stream, offset)
      for (const line of part.lines) reading = driver.read(reading, stream, line).reading
      if (part.lines.length === 0) break
      offset = part.nextOffset
    }
  }
  return reading
}

const readNumber = (session: Session, number: number): Reading =>
  readOutput(session.context, session.driver, session.paths.launch(number))

/** The newest launch of a run. */
export const readLaunch = (session: Session): Reading => {
  const launch = lastLaunch(session.run)
  return launch === undefined ? session.driver.begin() : readNumber(session, launch.number)
}

/** The denials of the newest launch. */
export const readDenials = async (session: Session): Promise<ObservedDenial[]> =>
  observedDenials(session, readLaunch(session).denials)

/**
 * Whether a denial of an earlier launch is still uncorrected. An agent that resumes its session remembers the refusal and does not try
 * again, so a later launch without this denial proves nothing.
 */
const stillOpen = (given: readonly string[], { kind, directory, unusable }: ObservedDenial): boolean =>
  kind === 'scope' ? directory !== undefined && !given.some((dir) => isInside(directory, dir)) : unusable !== undefined

/** The denials of the newest launch, and those of earlier launches that no correction has answered. */
export const standingDenials = async (session: Session): Promise<ObservedDenial[]> => {
  const earlier = session.run.launches.slice(0, -1).flatMap(({ number }) => readNumber(session, number).denials)
  const { addDirs } = lastLaunch(session.run)?.corrections ?? noCorrections
  const open = (await observedDenials(session, earlier)).filter((denial) => stillOpen(addDirs, denial))
  const newest = await readDenials(session)
  return [...newest, ...open.filter(({ text }) => !newest.some((denial) => denial.text === text))]
}
