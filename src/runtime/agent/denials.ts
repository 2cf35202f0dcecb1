/** The denials of a run's launches with the facts that a correction needs. */
import { lastLaunch, noCorrections } from '../../domain/run.ts'
import type { Denial, Driver, Reading } from '../../harness/driver.ts'
import type { Capabilities } from '../../harness/capabilities.ts'
import type { ObservedDenial } from '../../recovery/evidence.ts'
import { abilitiesOf } from '../harness/abilities.ts'
import type { Context } from '../core/context.ts'
import { observeDenials, realDirectories, type Observed, type RulesFor } from './observe-denial.ts'
import { ownCommands } from '../checks/own-commands.ts'
import { workTreeOf, type Session } from '../core/session.ts'

/** Allowed directories of goal and configuration as realpaths. */
export const allowedDirectories = (session: Session): string[] =>
  realDirectories(session.context.ports.files, [...session.goal.allowedDirs, ...session.context.config().allowedDirs])

/** What the harness's rules for single tools can do about a refused call. */
const toolRulesFor = async (session: Session, can: Capabilities): Promise<RulesFor> => {
  const { driver } = session
  if (driver.toolRules === undefined || !can.toolRules) return () => []
  const own = await ownCommands(session)
  const permitted = { workspace: workTreeOf(session), given: session.task.commands, own }
  return (denial) => driver.toolRules?.(denial, permitted) ?? []
}

export const observe = async (session: Session, denials: readonly Denial[]): Promise<Observed> => {
  if (denials.length === 0) return { denials: [], rulesFor: () => [] }
  const { capabilities: can } = await abilitiesOf(session)
  const { addDirs, toolRules: granted = [] } = lastLaunch(session.run)?.corrections ?? noCorrections
  const place = { workTree: workTreeOf(session), allowed: allowedDirectories(session), given: addDirs }
  const rulesFor = await toolRulesFor(session, can)
  const { files } = session.context.ports
  return { denials: observeDenials(files, denials, { place, can, granted, rulesFor }), rulesFor }
}

export const observedDenials = async (session: Session, denials: readonly Denial[]): Promise<ObservedDenial[]> =>
  (await observe(session, denials)).denials

/** All that a launch printed, read again from its output files. */
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

/** The newest launch of a run. */
export const readLaunch = (session: Session): Reading => {
  const launch = lastLaunch(session.run)
  if (launch === undefined) return session.driver.begin()
  return readOutput(session.context, session.driver, session.paths.launch(launch.number))
}

/** The denials of the newest launch. */
export const readDenials = async (session: Session): Promise<ObservedDenial[]> =>
  observedDenials(session, readLaunch(session).denials)
