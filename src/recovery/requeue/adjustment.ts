/**
 * A correction of the list of checks that a run planned but could not carry out, because its budget was spent. The facts are
 * those of the run's own playbooks, so nothing is dropped because of what a tool printed. Pure.
 */
import type { CheckAdjustment } from '../../domain/run.ts'
import { reorderedBy } from '../command/order.ts'
import type { LadderSettings } from '../ladder.ts'
import { actionKeyOf, type Action, type PastRecovery } from '../playbook.ts'
import type { AnyFacts, Diagnosis } from '../types.ts'
import { defined } from '../../domain/defined.ts'

const adjustmentOf = (action: Action): CheckAdjustment | undefined => {
  if (action.type === 'drop_command') {
    const { type, command, rest } = action
    return { type, command, ...defined({ rest }) }
  }
  if (action.type === 'replace_command') return { type: action.type, command: action.command, by: action.by }
  if (action.type !== 'reorder') return undefined
  const { type, command, order, build } = action
  return { type, command, order, ...defined({ build }) }
}

/** The first correction of the checks whose evidence the diagnosis has and that has not failed before. */
export const plannedAdjustment = (
  diagnosis: Diagnosis,
  history: readonly PastRecovery[],
  { playbooks, disabled, retry }: LadderSettings,
  taskId: string,
): CheckAdjustment | undefined => {
  const { adjustable }: AnyFacts = diagnosis.facts
  const given =
    adjustable === true ? ({ ...diagnosis, facts: { ...diagnosis.facts, droppable: true } } as Diagnosis) : diagnosis
  for (const playbook of playbooks) {
    if (!playbook.labels.includes(diagnosis.label) || disabled.includes(playbook.id)) continue
    const action = playbook.plan(given, { attempts: 0, taskId, retry })
    const adjustment = action === undefined ? undefined : adjustmentOf(action)
    if (action === undefined || adjustment === undefined) continue
    if (!history.some((past) => past.actionKey === actionKeyOf(action))) return adjustment
  }
  return undefined
}

const adjusted = (commands: readonly string[], adjustment: CheckAdjustment): string[] => {
  if (adjustment.type === 'reorder') return reorderedBy(commands, adjustment)
  const instead = adjustment.type === 'replace_command' ? adjustment.by : adjustment.rest
  const next = commands.flatMap((command) => (command === adjustment.command ? (instead ?? []) : [command]))
  return [...new Set(next)]
}

/** The corrected list; undefined = it would be the same or empty. At least one check stays. */
export const adjustedCommands = (commands: readonly string[], adjustment: CheckAdjustment): string[] | undefined => {
  const next = adjusted(commands, adjustment)
  const isSame = next.length === commands.length && next.every((command, at) => command === commands[at])
  return isSame || next.length === 0 ? undefined : next
}
