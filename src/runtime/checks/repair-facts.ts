/** What a repair has to know beside the failed check: the base commit's manifest, and where the check ran. */
import { join } from 'node:path'
import { replaceScript } from '../../recovery/command/replacement.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { readOr } from '../core/files.ts'
import { checkedTreeOf, type Session } from '../core/session.ts'

export const scriptsIn = (text: string | undefined): Record<string, unknown> => {
  try {
    return (JSON.parse(text ?? '{}') as { scripts?: Record<string, unknown> }).scripts ?? {}
  } catch {
    return {} // a broken manifest has no script
  }
}

/** Whether the base commit has the script that the work's manifest lacks (then the work took it away), and what may stand for it. */
const withBase = async (session: Session, failed: ObservedCheck): Promise<ObservedCheck> => {
  const { script, command } = failed
  if (script === undefined || script.exists) return failed
  const { git, files } = session.context.ports
  const base = scriptsIn(await git.textAt(session.context.shadow, session.run.baseCommit ?? '', script.manifest))
  const now = scriptsIn(readOr(files, join(checkedTreeOf(session), script.manifest)))
  const replacement = replaceScript(command, script.name, { now, base })
  const inBase = typeof base[script.name] === 'string'
  return { ...failed, script: { ...script, inBase, ...(replacement === undefined ? {} : { replacement }) } }
}

/** The user's own tree is no place for an install. */
const inClone = (session: Session, failed: ObservedCheck): ObservedCheck =>
  session.goal.repoMode === 'direct' ? { ...failed, installs: [] } : failed

export const withFacts = async (session: Session, failed: ObservedCheck): Promise<ObservedCheck> =>
  inClone(session, await withBase(session, failed))
