/** The commands that belong to a task: what it was given to check, and what the owner's contract may ask of its work. */
import type { Session } from '../core/session.ts'
import { contractFile, parseContract, readContract, type VerifyContract } from './verify-contract.ts'

/** The owner's checkout; where the agent works in that very folder, what stood there before it began. */
export const trustedContract = async (session: Session): Promise<VerifyContract | undefined> => {
  const { context, goal, run } = session
  if (goal.repoMode === 'direct') {
    const text = await context.ports.git.textAt(context.shadow, run.baseCommit ?? '', contractFile)
    if (text !== undefined) return parseContract(contractFile, text)
  }
  return readContract(context.ports.files, context.repository.root)
}

/** Every rule of the contract counts, because which paths will change is not known before the work is done. */
export const ownCommands = async (session: Session): Promise<string[]> => {
  const { task } = session
  const contract = await trustedContract(session)
  const asked = [
    contract?.commands ?? [],
    contract?.byRole?.[task.role] ?? [],
    ...(contract?.rules ?? []).map(({ commands }) => commands),
  ]
  return [...new Set([...task.originalCommands, ...task.commands, ...asked.flat()])]
}
