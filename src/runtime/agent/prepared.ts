/** What a fresh workspace got before its agent started. Written once, next to the workspace, and read by everything that inspects the work. */
import { join } from 'node:path'
import { z } from 'zod'
import type { Submodules } from '../../workspace/submodules.ts'
import type { Context, RunPaths } from '../core/context.ts'
import { readStateFile, writeStateFile } from '../core/files.ts'

export interface Prepared extends Submodules {
  /** Files copied from the owner's checkout. They are not part of the work. */
  copied: string[]
  /** The tree after `workspace.setup`; null = no set-up is configured. */
  setupTree: string | null
}

type Preparing = { context: Pick<Context, 'ports' | 'stateDir' | 'config'>; paths: Pick<RunPaths, 'root'> }

const shape = z.object({
  laid: z.array(z.string()),
  missing: z.array(z.object({ path: z.string(), reason: z.string() })),
  copied: z.array(z.string()),
  setupTree: z.string().nullable(),
})

const fileOf = ({ root }: Pick<RunPaths, 'root'>): string => join(root, 'prepared.json')

export const recordPrepared = ({ context, paths }: Preparing, prepared: Prepared): void =>
  writeStateFile(context.ports.files, fileOf(paths), JSON.stringify(prepared))

/**
 * Empty in direct mode, which has no fresh workspace. Of a damaged record, only what the configuration copies is known: that stays no part of
 * the work, since it may be a secret.
 */
export const readPrepared = ({ context, paths }: Preparing): Prepared => {
  const none = { laid: [], missing: [], copied: [], setupTree: null }
  if (!context.ports.files.existsSync(fileOf(paths))) return none
  const found = readStateFile(context, fileOf(paths), shape)
  if (found !== undefined) return found
  const known = { ...none, copied: [...context.config().workspace.copy] }
  recordPrepared({ context, paths }, known)
  return known
}

/** Paths named in the brief, whose part about the host is small. */
const mostNamed = 5

const named = (paths: readonly string[]): string =>
  `${paths.slice(0, mostNamed).join(', ')}${paths.length > mostNamed ? ` and ${paths.length - mostNamed} more` : ''}`

/** Lines for the brief. */
export const preparedBriefLines = ({ laid, missing, copied }: Prepared): string[] => [
  ...(laid.length === 0
    ? []
    : [
        `Submodules: ${named(laid)}. Use them, but change nothing below them: such changes are not part of the result.`,
      ]),
  ...(missing.length === 0
    ? []
    : [`Submodules that are missing here and cannot be fetched: ${named(missing.map(({ path }) => path))}.`]),
  ...(copied.length === 0 ? [] : [`Files of the owner, not part of the result: ${named(copied)}.`]),
]

/** For the verdict. */
export const missingNotes = ({ missing }: Prepared): string[] =>
  missing.map(({ path, reason }) => `submodule ${path} was missing: ${reason}`)
