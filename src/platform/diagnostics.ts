/**
 * What happens below the runtime, in folders that have no log. The engine writes it to engine.log where `UNSTUCK_LOG` asks for it.
 * A publisher checks `hasSubscribers` first, so that nothing is computed while no log listens.
 */
import { channel } from 'node:diagnostics_channel'

export interface Diagnostic {
  message: string
  /** Neither output nor variables of a program: both may hold secrets. */
  fields: Record<string, unknown>
}

export const gitDiagnostics = channel('unstuck:git')
export const processDiagnostics = channel('unstuck:process')
