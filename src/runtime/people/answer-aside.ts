/** Carries out answers for which no task and no goal waits: about a change in the checkout, and about a changed issue. */
import { join } from 'node:path'
import type { Choice, Escalation } from '../../domain/escalation.ts'
import { AppError } from '../../errors.ts'
import { visibleText } from '../../visible-text.ts'
import { answerEscalation } from '../../store/escalation.ts'
import { appendEvent } from '../../store/event.ts'
import { orderRestart } from '../../store/forge-link.ts'
import type { Context } from '../core/context.ts'
import { heldFolder } from '../landing/checkout-question.ts'
import { movedOrThrow } from './commands.ts'

export const keepChanges = async (context: Context, question: Escalation): Promise<void> => {
  await context.db.transaction(async (tx) => {
    movedOrThrow(await answerEscalation(tx, question, 'keep'))
  })
  context.wake()
}

/** How many changes a refusal names. */
const mostNamed = 5

/** A crash before the answer is stored leaves the question open; restoring once more then finds everything restored. */
const restoreChanges = async (
  context: Context,
  question: Escalation,
  { place, changes }: Extract<Choice, { kind: 'restore' }>,
): Promise<void> => {
  const { host, repository, ports } = context
  if (place.host !== host || place.root !== repository.root)
    throw new AppError(
      'ILLEGAL',
      `question ${question.id} is about the checkout ${place.root} on ${place.host}; answer it there`,
    )
  const held = heldFolder(context, question.id)
  const result = await ports.git.restoreCheckout(repository, { changes, held, aside: join(held, 'replaced') })
  if (!result.ok)
    throw new AppError(
      'ILLEGAL',
      `nothing was restored: ${result.changed.slice(0, mostNamed).map(visibleText).join('; ')}. Put back by hand what you want (copies: ${held}, commits: git for-each-ref refs/unstuck/kept/${question.id}), then: unstuck answer ${question.id} keep`,
    )
  await context.db.transaction(async (tx) => {
    movedOrThrow(await answerEscalation(tx, question, 'restore'))
    await appendEvent(tx, {
      type: 'checkout.restored',
      goalId: question.goalId,
      payload: {
        escalation: question.id,
        changes: changes.map(({ part, name }) => ({ part, name })),
        left: result.left,
      },
    })
  })
  context.wake()
}

/** The leader cancels the goal and makes the other one, also if this engine is killed before. */
const restartFromIssue = async (context: Context, question: Escalation): Promise<void> => {
  await context.db.transaction(async (tx) => {
    movedOrThrow(await answerEscalation(tx, question, 'restart'))
    await orderRestart(tx, question.goalId)
  })
  context.wake()
}

/** The question is about the checkout or about an issue. */
export const answerAside = async (
  context: Context,
  question: Escalation,
  choice: Extract<Choice, { kind: 'keep' | 'restore' | 'restart' }>,
): Promise<void> => {
  if (choice.kind === 'keep') await keepChanges(context, question)
  else if (choice.kind === 'restore') await restoreChanges(context, question, choice)
  else await restartFromIssue(context, question)
}
