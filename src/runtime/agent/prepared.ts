/** What a run's fresh workspace was given before its agent began: written once, beside the workspace, and read by all that look at the work. */
import { join } from 'node:path'
import type { Submodules } from '../../workspace/submodules.ts'
import type { Context, RunPaths } from '../core/context.ts'

export interface Prepared extends Submodules {
  /** Files of the owner's, which are no part of the work. */
  copied: string[]
  /** The files as the owner's set-up left them; null = there is none. */
  setupTree: string | null
}

type Place = { context: Pick<Context, 'ports'>; paths: Pick<RunPaths, 'root'> }

const fileOf = ({ root }: Pick<RunPaths, 'root'>): string => join(root, 'prepared.json')

export const notePrepared = ({ context, paths }: Place, prepared: Prepared): void =>
  context.ports.files.writeFileSync(fileOf(paths), JSON.stringify(prepared), { mode: 0o600 })

/** Nothing of the kind where the work is done in place. */
export const readPrepared = ({ context, paths }: Place): Prepared => {
  const { files } = context.ports
  return files.existsSync(fileOf(paths))
    ? (JSON.parse(files.readFileSync(fileOf(paths), 'utf8')) as Prepared)
    : { laid: [], missing: [], copied: [], setupTree: null }
}

/** The brief has little room for it. */
const mostNamed = 5

const named = (paths: readonly string[]): string =>
  `${paths.slice(0, mostNamed).join(', ')}${paths.length > mostNamed ? ` and ${paths.length - mostNamed} more` : ''}`

/** What an agent has to know of it. */
export const preparedText = ({ laid, missing, copied }: Prepared): string[] => [
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
