/**
 * The goal branch is made before the goal is stored. If the engine is killed in between, the branch has no goal. A
 * file records each branch being made, and the next start of the engine removes what was left. A branch of that name
 * at any other commit is not ours, and the branch of a stored goal stays.
 */
import { join } from 'node:path'
import { defaultBranchPrefix, type Goal } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { isStoreTrouble } from '../../store/db.ts'
import { getGoal } from '../../store/goal.ts'
import { goalRef, type Context } from '../core/context.ts'

type Parts = Pick<Context, 'ports' | 'stateDir'>

const folderOf = ({ stateDir }: Parts): string => join(stateDir, 'unborn')

/** Called before the branch is made. */
export const recordOrphanBranch = (
  context: Parts,
  { id, branchPrefix }: Pick<Goal, 'id' | 'branchPrefix'>,
  start: string,
): void => {
  const { files } = context.ports
  files.mkdirSync(folderOf(context), { recursive: true, mode: 0o700 })
  files.writeFileSync(join(folderOf(context), id), `${start} ${branchPrefix}\n`, { mode: 0o600 })
}

/** Called when the goal is stored. */
export const forgetOrphanBranch = (context: Parts, goalId: string): void =>
  context.ports.files.rmSync(join(folderOf(context), goalId), { force: true })

const removeOne = async (context: Context, goalId: string): Promise<void> => {
  const { files, git } = context.ports
  const record = files.readFileSync(join(folderOf(context), goalId), 'utf8')
  // A truncated record means that the kill came while it was written, before the branch was made. Older engines stored the commit alone.
  const [, start, , branchPrefix = defaultBranchPrefix] =
    /^([0-9a-f]{40}(?:[0-9a-f]{24})?)( (.+)\n)?$/.exec(record) ?? []
  if (start !== undefined && (await getGoal(context.db, goalId)) === undefined)
    await git.restoreRef(context.repository, { ref: goalRef({ id: goalId, branchPrefix }), from: start, to: null })
  forgetOrphanBranch(context, goalId)
}

/** Called when the engine starts, before it accepts goals. */
export const removeOrphanBranches = async (context: Context): Promise<void> => {
  const { files } = context.ports
  const folder = folderOf(context)
  for (const goalId of files.existsSync(folder) ? files.readdirSync(folder) : []) {
    try {
      await removeOne(context, goalId)
    } catch (error) {
      if (isStoreTrouble(error)) throw error
      context.log.warn(
        { goal: goalId, error: messageOf(error) },
        'the branch of a goal that was never stored could not be removed',
      )
    }
  }
}
