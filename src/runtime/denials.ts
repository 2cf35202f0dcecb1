/** The denials of a run's launches with the facts that a correction needs. */
import { lastLaunch, noCorrections } from '../domain/run.ts'
import type { Capabilities } from '../harness/capabilities.ts'
import type { Denial, Driver, Reading } from '../harness/driver.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'
import { abilitiesOf } from './abilities.ts'
import type { Context } from './context.ts'
import { observeDenial, realDirectories } from './observe-denial.ts'
import { ownCommands } from './own-commands.ts'
import { workTreeOf, type Session } from './session.ts'

/** Allowed directories of goal and configuration as realpaths. */
export const allowedDirectories = (session: Session): string[] =>
  realDirectories(session.context.ports.files, [...session.goal.allowedDirs, ...session.context.config().allowedDirs])

type RulesFor = (denial: Pick<Denial, 'tool' | 'target'>) => string[]

/** What the harness's rules for single tools can do about a refused call. */
const toolRulesFor = async (session: Session, can: Capabilities): Promise<RulesFor> => {
  const { driver } = session
  if (driver.toolRules === undefined || !can.toolRules) return () => []
  const own = await ownCommands(session)
  const permitted = { workspace: workTreeOf(session), given: session.task.commands, own }
  return (denial) => driver.toolRules?.(denial, permitted) ?? []
}

/** A denial as it was observed, and the rules that would let it through whether the launch had them or not. */
export interface Observed {
  denials: ObservedDenial[]
  rulesFor: RulesFor
}

/** Only what this version of the CLI can be told counts as a way to correct it. */
export const observe = async (session: Session, denials: readonly Denial[]): Promise<Observed> => {
  if (denials.length === 0) return { denials: [], rulesFor: () => [] }
  const { files } = session.context.ports
  const { capabilities: can } = await abilitiesOf(session)
  const { addDirs, toolRules: granted = [] } = lastLaunch(session.run)?.corrections ?? noCorrections
  const place = { workTree: workTreeOf(session), allowed: allowedDirectories(session), given: addDirs }
  const rulesFor = await toolRulesFor(session, can)
  const one = (denial: Denial): ObservedDenial => {
    const { allowedBy, ...seen } = observeDenial(files, denial, place)
    const rules = seen.kind === 'tool' ? rulesFor(seen).filter((rule) => !granted.includes(rule)) : []
    return {
      ...seen,
      ...(allowedBy === undefined || !can.directories ? {} : { allowedBy }),
      ...(rules.length === 0 ? {} : { toolRules: rules }),
    }
  }
  return { denials: denials.map(one), rulesFor }
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
