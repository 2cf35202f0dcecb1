/** The denials of a run's launches with the facts that a correction needs. */
import { lastLaunch } from '../domain/run.ts'
import type { Denial, Driver, Reading } from '../harness/driver.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'
import type { Context } from './context.ts'
import { observeDenial, realDirectories } from './observe-denial.ts'
import { workTreeOf, type Session } from './session.ts'

/** Allowed directories of goal and configuration as realpaths. */
export const allowedDirectories = (session: Session): string[] =>
  realDirectories(session.context.ports.files, [...session.goal.allowedDirs, ...session.context.config().allowedDirs])

export const observedDenials = async (session: Session, denials: Denial[]): Promise<ObservedDenial[]> => {
  const place = { workTree: workTreeOf(session), allowed: allowedDirectories(session) }
  return denials.map((denial) => observeDenial(session.context.ports.files, denial, place))
}

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
