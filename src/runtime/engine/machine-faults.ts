/**
 * A job: withdraws a question about a fault of this machine (a port, a disk, a registry) once a probe no longer finds it. The checks then
 * run again on the work that is there, without a call of the agent. A fault that keeps coming back is left to the person.
 */
import { mustSucceed } from '../../store/db.ts'
import { answerEscalation, getEscalation } from '../../store/escalation.ts'
import { lockGoal } from '../../store/goal.ts'
import { askedFaults, type AskedFault } from '../../store/asked-fault.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { isStillAtFault } from '../../recovery/probe.ts'
import { lookAgain } from '../checks/probes.ts'
import type { Context } from '../core/context.ts'
import { reopenGoal } from '../people/commands.ts'

const lookSeconds = 10
const mostWithdrawals = 3

const hasPassed = async ({ machine }: Context, { fault }: AskedFault): Promise<boolean> => {
  const reading = machine === undefined ? undefined : await lookAgain(machine, fault)
  return reading !== undefined && !isStillAtFault(fault, reading)
}

const withdraw = (context: Context, { id, goalId, taskId }: AskedFault): Promise<void> =>
  context.db.transaction(async (tx) => {
    await lockGoal(tx, goalId)
    const [question, task] = [await getEscalation(tx, id), await getTask(tx, taskId)]
    // A person was faster, by an answer or by taking the task over.
    if (question?.state !== 'pending' || task?.status !== 'blocked(awaiting_human)' || task.takenOver !== null) return
    mustSucceed(await answerEscalation(tx, question, 'overtaken'))
    const payload = { reason: 'machine_fault_passed' }
    mustSucceed(await moveTask(tx, task, 'retry_due', { payload, resetBudget: true }))
    await reopenGoal(tx, goalId)
  })

export const withdrawPassedFaults = async (context: Context): Promise<number> => {
  const asked = (await askedFaults(context.db, context.host)).filter(({ withdrawn }) => withdrawn < mostWithdrawals)
  // At the same time, because a host that does not answer takes seconds.
  const passed = await Promise.all(asked.map((each) => hasPassed(context, each)))
  const over = asked.filter((_, at) => passed[at])
  for (const each of over) await withdraw(context, each)
  // The loop is not woken by what its own engine stores.
  if (over.length > 0) context.wake()
  return lookSeconds
}
