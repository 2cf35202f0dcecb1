/** A summary of the work so far, for the agent session that continues it. */
import { join } from 'node:path'
import type { FileChange } from '../../workspace/repository-types.ts'
import type { Context, RunPaths } from '../core/context.ts'
import type { RunContext } from '../core/run-context.ts'
import { workNow } from './collected.ts'

const mostPaths = 30

const lineOf = ({ path, kind }: Pick<FileChange, 'path' | 'kind'>): string => `- ${kind}: ${path}`

/** The changes as a list that is short enough for a brief. */
export const listChanges = (changes: readonly Pick<FileChange, 'path' | 'kind'>[]): string => {
  if (changes.length === 0) return 'No file was changed yet.'
  const more = changes.length > mostPaths ? [`- and ${changes.length - mostPaths} more`] : []
  return ['Changed so far:', ...changes.slice(0, mostPaths).map(lineOf), ...more].join('\n')
}

/** Computed from the workspace, so it is true even if the earlier agent described its work wrongly. */
export const progressSummary = async (runContext: RunContext): Promise<string> => {
  const { changes } = await workNow(runContext)
  return listChanges(changes)
}

/** False = a commit was pruned together with a deleted branch: earlier work that is based on it cannot be continued. */
export const hasCommits = async ({ ports, shadow }: Context, commits: readonly string[]): Promise<boolean> => {
  for (const commit of commits)
    if (!(await ports.git.isCommitOf(shadow.gitDir, { commit, below: null, not: null }))) return false
  return true
}

export const earlierReportFile = (paths: RunPaths): string => join(paths.root, 'hand-over.md')

/** Adds to the report that phase `prepare` makes for the next agent. */
export const appendReport = ({ context, paths }: Pick<RunContext, 'context' | 'paths'>, text: string): void => {
  const { files } = context.ports
  const path = earlierReportFile(paths)
  const known = files.existsSync(path) ? `${files.readFileSync(path, 'utf8')}\n` : ''
  files.writeFileSync(path, `${known}${text}`)
}

/** The report about the run before; undefined = there is none. */
export const earlierReport = ({ context, paths }: RunContext): string | undefined => {
  const { files } = context.ports
  const path = earlierReportFile(paths)
  return files.existsSync(path) ? files.readFileSync(path, 'utf8') : undefined
}
