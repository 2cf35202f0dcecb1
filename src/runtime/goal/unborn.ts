/**
 * A goal's branch is made before its row in the store. What a kill in between leaves is known by a note, and put away when
 * the engine starts again: a branch of that name at any other commit is somebody's, and a goal that is there keeps its own.
 */
import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import { isStoreTrouble } from '../../store/db.ts'
import { getGoal } from '../../store/goal.ts'
import { goalRef, type Context } from '../core/context.ts'

type Place = Pick<Context, 'ports' | 'stateDir'>

const folderOf = ({ stateDir }: Place): string => join(stateDir, 'unborn')

/** Before the branch is made. */
export const noteUnborn = (context: Place, goalId: string, start: string): void => {
  const { files } = context.ports
  files.mkdirSync(folderOf(context), { recursive: true, mode: 0o700 })
  files.writeFileSync(join(folderOf(context), goalId), start, { mode: 0o600 })
}

/** When its goal is in the store. */
export const forgetUnborn = (context: Place, goalId: string): void =>
  context.ports.files.rmSync(join(folderOf(context), goalId), { force: true })

const dropOne = async (context: Context, goalId: string): Promise<void> => {
  const { files, git } = context.ports
  const start = files.readFileSync(join(folderOf(context), goalId), 'utf8')
  // A note of half its length was being written: its branch was not made yet.
  const whole = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(start)
  if (whole && (await getGoal(context.db, goalId)) === undefined)
    await git.restoreRef(context.repository, { ref: goalRef(goalId), from: start, to: null })
  forgetUnborn(context, goalId)
}

/** At the start of the engine, before it takes goals. */
export const dropUnborn = async (context: Context): Promise<void> => {
  const { files } = context.ports
  const folder = folderOf(context)
  for (const goalId of files.existsSync(folder) ? files.readdirSync(folder) : []) {
    try {
      await dropOne(context, goalId)
    } catch (error) {
      if (isStoreTrouble(error)) throw error
      context.log.warn(
        { goal: goalId, error: messageOf(error) },
        'the branch of a goal that was never taken is still there',
      )
    }
  }
}
