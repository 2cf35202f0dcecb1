/** Refs of the user's repository as they were before the agent ran; landing/ref-guard.ts compares them when it has ended. */
import { join } from 'node:path'
import type { Refs } from '../../workspace/refs.ts'
import type { Session } from '../core/session.ts'

const recordOf = (session: Session): string => join(session.paths.root, 'refs.json')

/** The copy in memory is the one believed: an agent could write the file. */
export const keepRefs = (session: Session, refs: Refs): void => {
  const { clock, ports } = session.context
  session.refs = { refs, readAt: clock.elapsed() }
  ports.files.writeFileSync(recordOf(session), JSON.stringify(refs), { mode: 0o600 })
}

/** Read so short a time ago, at the end of the launch before, they are not read again for a relaunch. */
const freshMs = 1_000

/** Before the gate opens. */
export const rememberRefs = async (session: Session): Promise<void> => {
  const { clock, ports, repository } = session.context
  if (session.refs !== undefined && clock.elapsed() - session.refs.readAt < freshMs) return
  keepRefs(session, await ports.git.readRefs(repository))
}

export const remembered = (session: Session): Refs | undefined => {
  if (session.refs !== undefined) return session.refs.refs
  // Re-attached after a restart: the file is all there is.
  const { files } = session.context.ports
  const path = recordOf(session)
  return files.existsSync(path) ? (JSON.parse(files.readFileSync(path, 'utf8')) as Refs) : undefined
}
