/** The refs of the user's repository before the agent ran. landing/ref-guard.ts compares them after it has ended. */
import { join } from 'node:path'
import type { Refs } from '../../workspace/refs.ts'
import type { RunContext } from '../core/run-context.ts'

const recordOf = (runContext: RunContext): string => join(runContext.paths.root, 'refs.json')

/** The copy in memory is preferred: an agent can write the file. The file is for an engine that re-attaches. */
export const storeRefs = (runContext: RunContext, refs: Refs): void => {
  const { clock, ports } = runContext.context
  runContext.refs = { refs, readAt: clock.elapsed() }
  ports.files.writeFileSync(recordOf(runContext), JSON.stringify(refs), { mode: 0o600 })
}

/** Milliseconds. A relaunch follows the end of a launch at once, and the refs read at that end are used again. */
const freshMs = 1_000

/** Call before the gate opens: afterwards the agent may have moved refs. */
export const recordRefsBefore = async (runContext: RunContext): Promise<void> => {
  const { clock, ports, repository } = runContext.context
  if (runContext.refs !== undefined && clock.elapsed() - runContext.refs.readAt < freshMs) return
  storeRefs(runContext, await ports.git.readRefs(repository))
}

export const refsBefore = (runContext: RunContext): Refs | undefined => {
  if (runContext.refs !== undefined) return runContext.refs.refs
  // After a restart of the engine only the file is left.
  const { files } = runContext.context.ports
  const path = recordOf(runContext)
  return files.existsSync(path) ? (JSON.parse(files.readFileSync(path, 'utf8')) as Refs) : undefined
}
