/** Whether the commits of a goal may land as they are: signed, or not to be signed. */
import type { Goal } from '../../domain/goal.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { answerEscalation, listEscalations } from '../../store/escalation.ts'
import type { Signing } from '../../workspace/signing.ts'
import type { Context } from '../core/context.ts'

type Parts = Pick<Context, 'config' | 'ports' | 'repository'>

/** How commits are signed here; undefined = they are not. */
export const signingHere = async ({ config, ports, repository }: Parts): Promise<Signing | undefined> =>
  config().git.signCommits ? ports.git.readSigning(repository) : undefined

export const isSigned = async (context: Parts, { headCommit, landing: { signing } }: Goal): Promise<boolean> =>
  signing?.waived === true ||
  (signing?.head !== undefined && signing.head === headCommit) ||
  (await signingHere(context)) === undefined

export const isSigningQuestion = ({ kind }: { kind: string }): boolean => kind === 'unsigned_commits'

/** Withdraws the question about the signatures of a goal. */
export const closeSigningQuestion = async (tx: Queryable, goalId: string): Promise<void> => {
  for (const question of (await listEscalations(tx, { goalId, pendingOnly: true })).filter(isSigningQuestion))
    mustSucceed(await answerEscalation(tx, question, 'overtaken'))
}
