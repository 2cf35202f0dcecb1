/** Carries out answers that are about no task: about a change in the checkout, a changed issue, commits that cannot be signed, and the plan of a goal. */
import { join } from 'node:path'
import type { Choice, Escalation } from '../../domain/escalation.ts'
import { AppError } from '../../errors.ts'
import { visibleText } from '../../visible-text.ts'
import { answerEscalation } from '../../store/escalation.ts'
import { appendEvent } from '../../store/event.ts'
import { orderRestart } from '../../store/forge-link.ts'
import { lockGoal, progressGoal, moveGoal } from '../../store/goal.ts'
import type { Context } from '../core/context.ts'
import { heldFolder } from '../landing/checkout-question.ts'
import { landGoal } from './ask-landing.ts'
import { goalNamed } from './commands.ts'
import { commandTransaction, movedOrThrow } from './lost-race.ts'
import { listTasks, moveTask } from '../../store/task.ts'
import { actorName, hintText } from '../core/person-text.ts'

// A person looked at the plan of a goal, and wants another one.

/**
 * The tasks of the plan end before any of them began, and the planner plans again with the person's words. Everything in one transaction:
 * a start at the same time finds either the old plan or none.
 */
const planAgain = async (
  context: Context,
  question: Escalation,
  { text, by }: { text: string; by: string | undefined },
): Promise<void> => {
  await commandTransaction(context, async (tx) => {
    await lockGoal(tx, question.goalId)
    const goal = await goalNamed(tx, question.goalId)
    const tasks = await listTasks(tx, goal.id)
    const planner = tasks.find(({ plan, status }) => plan === 'review' && status === 'done')
    if (planner === undefined || goal.state !== 'paused')
      throw new AppError('ILLEGAL', `the plan of goal ${goal.id} is at work; "unstuck status" shows it`)
    const payload = { by: actorName(by), with: 'plan' }
    for (const task of tasks.filter(({ status }) => status === 'queued'))
      movedOrThrow(await moveTask(tx, task, 'cancelled', { supersededBy: planner.id, payload }))
    const hint = hintText(context, text)
    movedOrThrow(await moveTask(tx, planner, 'planned_again', { resetBudget: true, hint, payload }))
    movedOrThrow(await answerEscalation(tx, question, 'plan_again', text))
    movedOrThrow(await moveGoal(tx, goal, 'resumed', 'it is planned again'))
  })
  context.wake()
}

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

/** Answer and order are one transaction: a landing that is refused again asks a new question. */
const landAnswered = async (context: Context, question: Escalation, kind: 'land' | 'land_unsigned'): Promise<void> => {
  const { state } = await goalNamed(context.db, question.goalId)
  await landGoal(context, question.goalId, {
    done: state !== 'ready',
    before: async (tx) => {
      movedOrThrow(await answerEscalation(tx, question, kind))
      if (kind !== 'land_unsigned') return
      await lockGoal(tx, question.goalId)
      const { landing } = await goalNamed(tx, question.goalId)
      const signing = { usable: false, ...landing.signing, waived: true as const }
      await progressGoal(tx, question.goalId, { landing: { signing } })
    },
  })
}

type AsideChoice = Extract<Choice, { kind: 'keep' | 'restore' | 'restart' | 'plan_again' | 'land' | 'land_unsigned' }>

const asideKinds: readonly string[] = [
  'keep',
  'restore',
  'restart',
  'plan_again',
  'land',
  'land_unsigned',
] satisfies AsideChoice['kind'][]

/** The question is about the checkout, an issue, signatures or a plan. */
export const isAsideChoice = (choice: Choice): choice is AsideChoice => asideKinds.includes(choice.kind)

export const answerAside = async (
  context: Context,
  question: Escalation,
  choice: AsideChoice,
  said: { text: string; by: string | undefined },
): Promise<void> => {
  if (choice.kind === 'plan_again') await planAgain(context, question, said)
  else if (choice.kind === 'keep') await keepChanges(context, question)
  else if (choice.kind === 'restore') await restoreChanges(context, question, choice)
  else if (choice.kind === 'restart') await restartFromIssue(context, question)
  else await landAnswered(context, question, choice.kind)
}
