/** What an agent has done so far, in words for the session that goes on with it. */
import { join } from 'node:path'
import type { Change } from '../../workspace/contract.ts'
import type { Context, RunPaths } from '../core/context.ts'
import type { Session } from '../core/session.ts'
import { workNow } from './collected.ts'

const mostPaths = 30

const lineOf = ({ path, kind }: Pick<Change, 'path' | 'kind'>): string => `- ${kind}: ${path}`

/** A list that a brief has room for. */
export const listChanges = (changes: readonly Pick<Change, 'path' | 'kind'>[]): string => {
  if (changes.length === 0) return 'No file was changed yet.'
  const more = changes.length > mostPaths ? [`- and ${changes.length - mostPaths} more`] : []
  return ['Changed so far:', ...changes.slice(0, mostPaths).map(lineOf), ...more].join('\n')
}

/** Looked up in the workspace, so that it is true whatever the earlier session said about it. */
export const workSoFar = async (session: Session): Promise<string> => {
  const { changes } = await workNow(session)
  return listChanges(changes)
}

/** A deleted branch that was pruned takes commits along on which earlier work stood: then there is nothing to go on from. */
export const hasCommits = async ({ ports, shadow }: Context, commits: readonly string[]): Promise<boolean> => {
  for (const commit of commits)
    if (!(await ports.git.isCommitOf(shadow.gitDir, { commit, below: null, not: null }))) return false
  return true
}

export const handOverFile = (paths: RunPaths): string => join(paths.root, 'hand-over.md')

/** What the agent is told about the run before; undefined = there is nothing to go on from. */
export const handOverText = ({ context, paths }: Session): string | undefined => {
  const { files } = context.ports
  const path = handOverFile(paths)
  return files.existsSync(path) ? files.readFileSync(path, 'utf8') : undefined
}
