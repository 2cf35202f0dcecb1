/** Looks up the facts about a denial that a correction needs: which existing directory it was about, and whether that is allowed. */
import { dirname, isAbsolute, join, sep } from 'node:path'
import { lastLaunch } from '../domain/run.ts'
import type { Denial, Reading } from '../harness/driver.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'
import type { Files } from './files.ts'
import { workTreeOf, type Session } from './session.ts'

const real = (files: Files, path: string): string | undefined => {
  try {
    return files.realpathSync(path)
  } catch {
    return undefined // does not exist (any more)
  }
}

const inside = (path: string, root: string): boolean => path === root || path.startsWith(root + sep)

/** The nearest existing folder at or above a path, as realpath: a symlink out of an allowed directory is no way in. */
export const existingDirectory = (files: Files, path: string): string | undefined => {
  let candidate = path
  for (;;) {
    const found = real(files, candidate)
    if (found !== undefined) return files.statSync(found).isDirectory() ? found : dirname(found)
    const parent = dirname(candidate)
    if (parent === candidate) return undefined
    candidate = parent
  }
}

/** Allowed directories of goal and configuration as realpaths; one that does not exist allows nothing. */
export const allowedDirectories = (session: Session): string[] =>
  [...session.goal.allowedDirs, ...session.context.config().allowedDirs].flatMap(
    (path) => real(session.context.ports.files, path) ?? [],
  )

const observe = (session: Session, denial: Denial, allowed: string[]): ObservedDenial => {
  const { callId: _callId, ...facts } = denial
  if (denial.kind !== 'scope' || denial.target === undefined) return facts
  const { files } = session.context.ports
  const target = isAbsolute(denial.target) ? denial.target : join(workTreeOf(session), denial.target)
  const directory = existingDirectory(files, target)
  if (directory === undefined) return facts
  const workspace = real(files, workTreeOf(session))
  // Inside the workspace the path is allowed already: the mode is the problem, and no directory cures that.
  if (workspace !== undefined && inside(directory, workspace)) return { ...facts, kind: 'tool' }
  const allowedBy = allowed.find((root) => inside(directory, root))
  return { ...facts, directory, ...(allowedBy === undefined ? {} : { allowedBy }) }
}

export const observedDenials = async (session: Session, denials: Denial[]): Promise<ObservedDenial[]> => {
  const allowed = allowedDirectories(session)
  return denials.map((denial) => observe(session, denial, allowed))
}

/** The newest launch, read from its output files. */
export const readLaunch = (session: Session): Reading => {
  let reading = session.driver.begin()
  const launch = lastLaunch(session.run)
  if (launch === undefined) return reading
  const dir = session.paths.launch(launch.number)
  for (const stream of ['stdout', 'stderr'] as const) {
    for (let offset = 0; ;) {
      const part = session.context.ports.processes.readSegments(dir, stream, offset)
      for (const line of part.lines) reading = session.driver.read(reading, stream, line).reading
      if (part.lines.length === 0) break
      offset = part.nextOffset
    }
  }
  return reading
}

/** The denials of the newest launch, read from its output files. */
export const readDenials = async (session: Session): Promise<ObservedDenial[]> =>
  observedDenials(session, readLaunch(session).denials)
