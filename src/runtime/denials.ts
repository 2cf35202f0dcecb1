/** The denials of a run's launches with the facts that a correction needs. */
import { lastLaunch } from '../domain/run.ts'
import type { Denial } from '../harness/driver.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'
import { observeDenial, realDirectories } from './observe-denial.ts'
import { workTreeOf, type Session } from './session.ts'

/** Allowed directories of goal and configuration as realpaths. */
export const allowedDirectories = (session: Session): string[] =>
  realDirectories(session.context.ports.files, [...session.goal.allowedDirs, ...session.context.config().allowedDirs])

export const observedDenials = async (session: Session, denials: Denial[]): Promise<ObservedDenial[]> => {
  const place = { workTree: workTreeOf(session), allowed: allowedDirectories(session) }
  return denials.map((denial) => observeDenial(session.context.ports.files, denial, place))
}

/** The denials of the newest launch, read from its output files. */
export const readDenials = async (session: Session): Promise<ObservedDenial[]> => {
  const launch = lastLaunch(session.run)
  if (launch === undefined) return []
  const dir = session.paths.launch(launch.number)
  let reading = session.driver.begin()
  for (const stream of ['stdout', 'stderr'] as const) {
    for (let offset = 0; ;) {
      const part = session.context.ports.processes.readSegments(dir, stream, offset)
      for (const line of part.lines) reading = session.driver.read(reading, stream, line).reading
      if (part.lines.length === 0) break
      offset = part.nextOffset
    }
  }
  return observedDenials(session, reading.denials)
}
