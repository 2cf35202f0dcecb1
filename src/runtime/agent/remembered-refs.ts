/** The refs of the user's repository before the agent ran. landing/ref-guard.ts compares them after it has ended. */
import { join } from 'node:path'
import type { Refs } from '../../workspace/refs.ts'
import type { Session } from '../core/session.ts'

const recordOf = (session: Session): string => join(session.paths.root, 'refs.json')

/** The copy in memory is preferred: an agent can write the file. The file is for an engine that re-attaches. */
export const keepRefs = (session: Session, refs: Refs): void => {
  const { clock, ports } = session.context
  session.refs = { refs, readAt: clock.elapsed() }
  ports.files.writeFileSync(recordOf(session), JSON.stringify(refs), { mode: 0o600 })
}

/** Milliseconds. A relaunch follows the end of a launch at once, and the refs read at that end are used again. */
const freshMs = 1_000

/** Call before the gate opens: afterwards the agent may have moved refs. */
export const rememberRefs = async (session: Session): Promise<void> => {
  const { clock, ports, repository } = session.context
  if (session.refs !== undefined && clock.elapsed() - session.refs.readAt < freshMs) return
  keepRefs(session, await ports.git.readRefs(repository))
}

export const remembered = (session: Session): Refs | undefined => {
  if (session.refs !== undefined) return session.refs.refs
  // After a restart of the engine only the file is left.
  const { files } = session.context.ports
  const path = recordOf(session)
  return files.existsSync(path) ? (JSON.parse(files.readFileSync(path, 'utf8')) as Refs) : undefined
}
