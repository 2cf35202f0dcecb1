/** Takes the command that an agent was asked to suggest into the plan of checks, or refuses it with a reason. */
import { join } from 'node:path'
import { keptVerdict, lastLaunch } from '../../domain/run.ts'
import { judges } from '../../recovery/command/replacement.ts'
import { readSuggestion, type Need, type Suggestion } from '../../recovery/command/suggested.ts'
import { StaleError } from '../../store/db.ts'
import { recoveriesOf, settleRecovery, type Recovery } from '../../store/recovery.ts'
import { holdLease } from '../../store/run.ts'
import { setTaskCommands } from '../../store/task.ts'
import { hasRule, makefiles } from '../checks/check-facts.ts'
import { readLaunch } from '../agent/denials.ts'
import { scriptsIn } from '../checks/repair-facts.ts'
import { save, type Session } from '../core/session.ts'

/**
 * What the suggestion needs and the base commit lacks; undefined = nothing. A command whose program or script the
 * agent wrote itself would prove nothing.
 */
const lackOf = async (session: Session, need: Need): Promise<string | undefined> => {
  const at = (path: string): Promise<string | undefined> =>
    session.context.ports.git.textAt(session.context.shadow, session.run.baseCommit ?? '', path)
  if (need.kind === 'file') return (await at(need.path)) === undefined ? `no file ${need.path}` : undefined
  if (need.kind === 'script')
    return judges(scriptsIn(await at(need.manifest))[need.name]) ? undefined : `no script "${need.name}" that judges`
  for (const name of need.file === undefined ? makefiles : [need.file]) {
    const text = await at(join(need.folder, name))
    if (text === undefined) continue
    const missing = need.targets.find((target) => !hasRule(text, target))
    return missing === undefined ? undefined : `no make target "${missing}"`
  }
  return 'no makefile'
}

const checkedSuggestion = async (session: Session, requested: string): Promise<Suggestion> => {
  const { final, lastText } = readLaunch(session)
  const read = readSuggestion(final?.text || lastText, requested)
  if (!read.ok) return read
  for (const need of read.needs) {
    const lack = await lackOf(session, need)
    if (lack !== undefined) return { ok: false, reason: `the base commit has ${lack} (${read.command})` }
  }
  return read
}

/** Replaces the failing command by the suggestion, or resolves the recovery as failed. */
const take = (
  session: Session,
  { id, issueDetected }: Recovery,
  requested: string,
  suggestion: Suggestion,
): Promise<void> => {
  const kept = keptVerdict(session.run.verdict)
  return session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    if (!suggestion.ok)
      return settleRecovery(tx, id, 'failed', `the suggested command was refused: ${suggestion.reason}`)
    const by = suggestion.command
    const commands = session.task.commands.map((command) => (command === requested ? by : command))
    if (!(await setTaskCommands(tx, session.run, commands))) throw new StaleError(`task ${session.task.id}`)
    const dropped = [...kept.dropped, { command: requested, reason: issueDetected, by }]
    await save(session, { verdict: { ...kept, dropped } }, tx)
    session.task = { ...session.task, commands }
  })
}

/** Reads the suggestion of the last launch, if it was asked for one, and resolves the open recovery with it. */
export const takeSuggestion = async (session: Session): Promise<void> => {
  const requested = lastLaunch(session.run)?.ask
  if (requested === undefined || session.run.verdict?.dropped.some(({ command }) => command === requested) === true)
    return
  const open = (await recoveriesOf(session.context.db, session.task.id)).find(
    ({ status, runId, action }) => status === 'acting' && runId === session.run.id && action['ask'] === requested,
  )
  if (open !== undefined) await take(session, open, requested, await checkedSuggestion(session, requested))
}
