/** Takes the command that an agent was asked to suggest into the plan of checks, or refuses it with a reason. */
import { keptVerdict, lastLaunch } from '../../domain/run.ts'
import { readSuggestion, type SuggestedCommand } from '../../recovery/command/suggested.ts'
import { StaleError } from '../../store/db.ts'
import { recoveriesOf, resolveRecovery, type Recovery } from '../../store/recovery.ts'
import { requireLease } from '../../store/run.ts'
import { setTaskCommands } from '../../store/task.ts'
import { lackOf } from '../checks/lack-of-base.ts'
import { readLaunch } from '../agent/denials.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'

const checkedSuggestion = async (runContext: RunContext, requested: string): Promise<SuggestedCommand> => {
  const { final, lastText } = readLaunch(runContext)
  const read = readSuggestion(final?.text || lastText, requested)
  if (!read.ok) return read
  for (const need of read.needs) {
    const lack = await lackOf(runContext, need)
    if (lack !== undefined) return { ok: false, reason: `the base commit has ${lack} (${read.command})` }
  }
  return read
}

/** Replaces the failing command by the suggestion, or resolves the recovery as failed. */
const take = (
  runContext: RunContext,
  { id, issueDetected }: Recovery,
  requested: string,
  suggestion: SuggestedCommand,
): Promise<void> => {
  const kept = keptVerdict(runContext.run.verdict)
  return runContext.context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    if (!suggestion.ok)
      return resolveRecovery(tx, id, 'failed', `the suggested command was refused: ${suggestion.reason}`)
    const by = suggestion.command
    const commands = runContext.task.commands.map((command) => (command === requested ? by : command))
    if (!(await setTaskCommands(tx, runContext.run, commands))) throw new StaleError(`task ${runContext.task.id}`)
    const dropped = [...kept.dropped, { command: requested, reason: issueDetected, by }]
    await saveProgress(runContext, { verdict: { ...kept, dropped } }, tx)
    runContext.task = { ...runContext.task, commands }
  })
}

/** Reads the suggestion of the last launch, if it was asked for one, and resolves the open recovery with it. */
export const applySuggestion = async (runContext: RunContext): Promise<void> => {
  const requested = lastLaunch(runContext.run)?.ask
  if (requested === undefined || runContext.run.verdict?.dropped.some(({ command }) => command === requested) === true)
    return
  const open = (await recoveriesOf(runContext.context.db, runContext.task.id)).find(
    ({ status, runId, action }) => status === 'acting' && runId === runContext.run.id && action['ask'] === requested,
  )
  if (open !== undefined) await take(runContext, open, requested, await checkedSuggestion(runContext, requested))
}
