/** The commands that an agent may run because they belong to its task: the task's checks and those of the owner's contract. */
import type { RunContext } from '../core/run-context.ts'
import { contractFile, parseContract, readContract, type VerifyContract } from './verify-contract.ts'

/**
 * The contract of the owner's checkout. In direct mode the agent can edit that file, so the version of the base commit counts.
 * `base`: that commit, while the run has not stored it yet.
 */
export const trustedContract = async (
  runContext: RunContext,
  base = runContext.run.baseCommit ?? '',
): Promise<VerifyContract | undefined> => {
  const { context, goal } = runContext
  if (goal.repoMode === 'direct') {
    const text = await context.ports.git.textAt(context.shadow, base, contractFile)
    if (text !== undefined) return parseContract(contractFile, text)
  }
  if (context.contract !== undefined) return context.contract()
  return readContract(context.ports.files, context.repository.root)
}

/** With all rules of the contract: the changed paths that would select among them are known only after the work. */
export const allowedCommands = async (runContext: RunContext): Promise<string[]> => {
  const { task } = runContext
  const contract = await trustedContract(runContext)
  const asked = [
    contract?.commands ?? [],
    contract?.byRole?.[task.role] ?? [],
    ...(contract?.rules ?? []).map(({ commands }) => commands),
  ]
  return [...new Set([...task.originalCommands, ...task.commands, ...asked.flat()])]
}
