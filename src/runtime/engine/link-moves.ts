/** A task that waited too long for its link: its owner did not resolve it, so a person is asked. Nothing else ends this wait. */
import { taskName } from '../../domain/task-title.ts'
import type { Task } from '../../domain/task.ts'
import { linkReason } from '../../domain/task-review.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { appendEvent } from '../../store/event.ts'
import { moveTask } from '../../store/task.ts'
import { cancelChoice, retryChoice } from '../core/choices.ts'
import type { Context } from '../core/context.ts'

export const askAboutLink = async (context: Context, tx: Queryable, task: Task): Promise<void> => {
  const seconds = context.config().requeue.linkSeconds
  const waitsFor = task.link?.waitsFor ?? 'a link'
  const happened = `${taskName(task)} has waited ${seconds} s for ${waitsFor}, and nothing was linked.`
  const id = context.newId('q')
  const link = { waitsFor, issue: null, question: id }
  mustSucceed(await moveTask(tx, task, 'escalated', { link, payload: { reason: linkReason } }))
  await openEscalation(tx, {
    ...{ id, goalId: task.goalId, taskId: task.id, runId: null, kind: 'exhausted' },
    ...{ happened, tried: [], question: happened },
    details: `To link it: unstuck link ${task.id} <issue>. A retry starts the task without a link.`,
    choices: [retryChoice(task.id), cancelChoice(task.id)],
  })
  await appendEvent(tx, {
    type: 'task.recovery_escalated',
    ...{ goalId: task.goalId, taskId: task.id },
    payload: { reason: linkReason, label: linkReason, evidence: happened },
  })
}
