/**
 * New credentials of the person for the agents of this engine, which read the environment that the engine started with. They are kept in
 * memory only, also by the process that restarts this engine after a crash. Tasks that stopped because a CLI could not log in are tried again: also where the person logged in by a file.
 */
import { AppError } from '../../errors.ts'
import { loginVariables } from '../../harness/drivers.ts'
import { listEscalations } from '../../store/escalation.ts'
import { getRun } from '../../store/run.ts'
import type { Context } from '../core/context.ts'
import { retryTask } from './commands.ts'

export interface TakenLogin {
  /** Names of the variables that agents get from now on. */
  taken: string[]
  /** Ids of the tasks that are tried again. */
  retried: string[]
}

/** Part of the signature of a run that failed because its CLI could not log in. */
const noLogin = '/auth_failure:'

export const takeLogin = async (
  context: Context,
  { variables, by }: { variables: Readonly<Record<string, string>>; by?: string | undefined },
): Promise<TakenLogin> => {
  const unknown = Object.keys(variables).filter((name) => !loginVariables.includes(name))
  if (unknown.length > 0)
    throw new AppError(
      'INPUT_INVALID',
      `variables: ${unknown.join(', ')} is no variable of a login; known: ${loginVariables.join(', ')}`,
    )
  const taken = Object.keys(variables).filter((name) => context.environment[name] !== variables[name])
  for (const name of taken) context.environment[name] = variables[name]
  if (taken.length > 0) context.keepLogin?.(variables)
  const retried: string[] = []
  for (const { taskId, runId } of await listEscalations(context.db, { pendingOnly: true })) {
    const run = taskId === null || runId === null ? undefined : await getRun(context.db, runId)
    if (taskId === null || run?.errorMeta?.signature.includes(noLogin) !== true) continue
    try {
      await retryTask(context, taskId, { by })
      retried.push(taskId)
    } catch (error) {
      // A person did something else with the task meanwhile, or its goal has ended: the others are tried again all the same.
      if (!(error instanceof AppError)) throw error
    }
  }
  if (taken.length > 0) context.log.info({ variables: taken }, 'a person gave new credentials for the agents')
  return { taken, retried }
}
