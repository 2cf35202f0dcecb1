/** The work of `approve-recovery`, `reject-recovery` and `resolve-recovery`: finds the question of the goal and answers it. */
import type { Answered, Escalation, StatusView } from '../api/contract.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command-options.ts'
import type { Client } from './engine/client.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { printJson, printLine, type Io } from './io.ts'
import { safe } from './render.ts'
import { userName } from './user-name.ts'
import { defined } from '../domain/defined.ts'

export type RecoveryVerb = 'approve' | 'reject' | 'resolve'

export interface RecoveryOptions extends JsonOption {
  loop: string
  note?: string
}

const isAboutProposal = ({ choices }: Escalation): boolean => choices.some(({ kind }) => kind === 'reject_recovery')

const checkGoal = async (client: Client, id: string): Promise<void> => {
  const { goals } = await client.get<StatusView>('/status')
  if (goals.some((goal) => goal.id === id)) return
  throw new AppError('NOT_FOUND', `--loop: there is no goal ${id}; "unstuck status" shows the ids of goals (g-…)`)
}

const questionAbout = async (client: Client, goal: string): Promise<Escalation> => {
  const all = (await client.get<Escalation[]>('/escalations?state=all')).filter(
    (entry) => entry.goalId === goal && isAboutProposal(entry),
  )
  const [first, ...more] = all.filter(({ state }) => state === 'pending')
  if (first !== undefined && more.length === 0) return first
  if (first !== undefined) {
    const each = [first, ...more].map(({ taskId, id }) => `unstuck answer ${taskId ?? id}`).join(', ')
    throw new AppError(
      'USAGE',
      `--loop: goal ${goal} has ${more.length + 1} questions about recoveries; answer one of them: ${each}`,
    )
  }
  const last = all.at(-1)
  if (last !== undefined)
    throw new AppError(
      'STALE',
      `the question about the recovery of goal ${goal} is already decided: ${(last.answer ?? last.state).replaceAll('_', ' ')}; "unstuck status" shows what waits for you`,
    )
  await checkGoal(client, goal)
  throw new AppError(
    'ILLEGAL',
    `goal ${goal} has no recovery that waits for an answer; "unstuck status" shows what waits for you`,
  )
}

export const recoveryCommand = async (io: Io, verb: RecoveryVerb, options: RecoveryOptions): Promise<number> => {
  const client = await connectToExisting(io)
  const question = await questionAbout(client, options.loop)
  const choice = question.choices.find(({ id }) => id === verb)
  if (choice === undefined) {
    const offered = question.choices.map(({ id }) => id).join(', ')
    throw new AppError(
      'ILLEGAL',
      `the question about the recovery of goal ${options.loop} does not offer "${verb}", because the proposal is not valid; it offers: ${offered} (unstuck answer ${question.taskId ?? question.id})`,
    )
  }
  const answered = await client.post<Answered>(`/escalations/${question.id}/answer`, {
    ...{ choice: verb, by: userName() },
    ...defined({ input: options.note }),
  })
  if (options.json === true) printJson(io, answered)
  else printLine(io, `${choice.label}: done. ${safe(choice.effect)}`)
  return exitCodes.ok
}
