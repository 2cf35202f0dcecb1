/** The first checks of a task (its own, else those of the configuration, else inferred ones), and how they are shown to people. */
import type { Config } from '../../config/config.ts'
import type { CommandSource, Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import type { Files } from '../core/files.ts'
import { contractFile, plannedChecks, readContract, type VerifyContract } from './verify-contract.ts'

export interface FirstChecks {
  commands: string[]
  source: CommandSource
}

export const firstChecks = (input: Pick<Task, 'commands'>, config: Config, inferred: string[]): FirstChecks => {
  if (input.commands.length > 0) return { commands: input.commands, source: 'task' }
  if ((config.verify.commands ?? []).length > 0) return { commands: config.verify.commands ?? [], source: 'config' }
  return { commands: inferred, source: 'inferred' }
}

const sources: Record<CommandSource, string> = {
  task: 'named by the task',
  config: 'from .unstuck/config.json',
  inferred: 'inferred from the repository',
}

const list = (commands: readonly string[], source: string): string[] =>
  commands.length === 0 ? [] : [`${commands.join(', ')} (${source})`]

/** One line: which checks run and where each comes from. Contract rules are only counted, because the changed paths are not known yet. */
export const checksText = (
  task: Pick<Task, 'commands' | 'commandSource' | 'role'>,
  contract: VerifyContract | undefined,
): string => {
  const { commands, fromContract } = plannedChecks(task, contract, [], { dropped: [] })
  const own = commands.filter((command) => !fromContract.has(command))
  const rules = contract?.rules?.length ?? 0
  const parts = [
    ...list(own, sources[task.commandSource]),
    ...list([...fromContract], `contract, ${contractFile}`),
    ...(rules === 0 ? [] : [`${rules} more ${rules === 1 ? 'rule' : 'rules'} of the contract, by changed path`]),
  ]
  if (parts.length > 0) return `Checks: ${parts.join('; ')}`
  return 'No check was found, so nothing will be verified. To add one: "verify": {"commands": ["…"]} in .unstuck/config.json'
}

/** With the contract of this checkout. A broken contract is shown as its error message and stops nothing here: the run reports it. */
export const checksInCheckout = (files: Files, root: string, task: Parameters<typeof checksText>[0]): string => {
  try {
    return checksText(task, readContract(files, root))
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}
