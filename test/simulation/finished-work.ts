/** Work that is judged: commits of runs, and of somebody else on a branch that is reviewed. */
import type { Run } from '../../src/domain/run.ts'
import type { SimGit } from './git.ts'

/** What is judged: the commit that a task reviews, else the commit of the run, else the run, because work in place has no commit. */
export const workOf = ({ id, taskId, commit, reviewed }: Pick<Run, 'id' | 'taskId' | 'commit' | 'reviewed'>): string =>
  reviewed === null ? (commit ?? id) : `${taskId} ${reviewed}`

/** The file that the work on a reviewed branch changes. */
export const branchFile = (branch: string): string => `src/${branch}`

/** Somebody else's work on a branch, on top of main where the branch is new. */
export const commitToBranch = (git: SimGit, branch: string, content: string): void => {
  const ref = `refs/heads/${branch}`
  const head = git.refs.get(ref) ?? git.refs.get('refs/heads/main') ?? ''
  const files = new Map(git.treeOf(head)).set(branchFile(branch), content)
  const commit = git.addCommit({ tree: git.addTree(files), parents: [head], message: `on ${branch}: ${content}` })
  git.userObjects.add(commit)
  git.refs.move(ref, commit, 'commit: on a branch')
}
