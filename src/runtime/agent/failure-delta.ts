/**
 * What failed on this machine in the last day and what cured it, from the stored runs and recoveries, so that the next agent need not find it
 * out again. A failed check counts only if a probe or a cure confirmed that the machine caused it: from the output alone, the work could be to
 * blame. A cure counts only after its post-condition held. Each later run in which the same check passes halves the weight of a failure; without
 * weight, or after a day, it is forgotten.
 */
import { isOfMachine } from '../../recovery/diagnosis/labels.ts'
import { keysOfFailure } from '../../recovery/host-keys.ts'
import { normalised } from '../../recovery/signature.ts'
import { recentFailures, recentlyPassed, type MachineFailure, type PassedChecks } from '../../store/machine-failure.ts'
import type { Context } from '../core/context.ts'
import type { ActionOf } from '../core/recovery-record.ts'
import { actionText } from '../../domain/action-text.ts'
import { defined } from '../../domain/defined.ts'

const lifeMs = 24 * 3_600_000
const mostSignatures = 12
const mostKeys = 12
const longestMessage = 180
const longestCure = 180

interface ReasonSignature {
  /** As in `errorMeta.signature` of a run. */
  signature: string
  label: string
  /** Runs that met it, halved by each later run in which the check passed. */
  count: number
  lastSeenAt: string
  lastMessage: string
  /** The facts about the machine that it makes important. */
  addedKeys: string[]
  /** The check that failed; absent = unknown. */
  command?: string
  /** What was done before the check ran again; absent = nothing has helped yet. */
  curedBy?: string
}

export interface FailureDelta {
  schemaVersion: 1
  updatedAt: string
  expireAt: string
  promotedKeys: string[]
  reasonSignatures: ReasonSignature[]
}

const labelIn = (signature: string): string => /^[^/]*\/([^:]*):/.exec(signature)?.[1] ?? ''

const asLine = (text: string, most: number): string => {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim()
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}

type StoredAction = NonNullable<MachineFailure['action']>

/** The commands of an install; the store has actions as JSON. */
const installText = (action: StoredAction): string => {
  if (action.type !== 'install') return ''
  const { install } = action as unknown as ActionOf<'install'>
  return ` (\`${install.commands.map((argv) => argv.join(' ')).join(' && ')}\`)`
}

/** With its paths: the next agent may need the same command. */
const cureOf = (action: StoredAction): string => asLine(`${actionText(action)}${installText(action)}`, longestCure)

/** The newest recovery that helped, unless the same one had no effect later. Newest first. */
const curedBy = (failures: readonly MachineFailure[]): string | undefined => {
  const failed = new Set<string>()
  for (const { action, status } of failures) {
    if (action === null) continue
    const cure = cureOf(action)
    if (status === 'success' && !failed.has(cure)) return cure
    if (status === 'failed') failed.add(cure)
  }
  return undefined
}

interface Weighed {
  entry: ReasonSignature
  changedAt: number
}

/** Newest first. */
const weigh = (failures: readonly MachineFailure[], passed: readonly PassedChecks[]): Weighed[] => {
  const [newest] = failures
  if (newest === undefined || !failures.some(({ confirmed }) => confirmed)) return []
  const { signature, at } = newest
  const command = failures.find((failure) => failure.command !== null)?.command ?? null
  // A check that passed elsewhere in the meantime may have begun before the failure: it proves nothing about the time after it.
  const since = passed.filter((run) => run.startedAt > at && (command === null || run.commands.includes(command)))
  const count = since.reduce((weight) => Math.floor(weight / 2), new Set(failures.map(({ runId }) => runId)).size)
  if (count === 0) return []
  const label = labelIn(signature)
  const cure = curedBy(failures)
  // A proposal has evidence of its own; the failure that it is about is in the signature.
  const message = newest.action?.type === 'run_proposed' ? signature.slice(signature.indexOf(':') + 1) : newest.evidence
  const entry = {
    ...{
      signature,
      label,
      count,
      lastSeenAt: at.toISOString(),
      lastMessage: asLine(normalised(message), longestMessage),
    },
    addedKeys: keysOfFailure(label, command),
    ...(command === null ? {} : { command }),
    ...defined({ curedBy: cure }),
  }
  const times = [at, ...failures.map(({ decidedAt }) => decidedAt), ...since.map(({ endedAt }) => endedAt)]
  return [{ entry, changedAt: Math.max(...times.map(Number)) }]
}

/** `failures` newest first. Undefined = nothing that the next agent could use. */
export const deltaOf = (
  failures: readonly MachineFailure[],
  passed: readonly PassedChecks[],
): FailureDelta | undefined => {
  const groups = Map.groupBy(
    failures.filter(({ signature }) => isOfMachine(labelIn(signature))),
    ({ signature }) => signature,
  )
  const weighed = [...groups.values()]
    .flatMap((group) => weigh(group, passed))
    .sort(({ entry: a }, { entry: b }) => b.count - a.count || b.lastSeenAt.localeCompare(a.lastSeenAt))
    .slice(0, mostSignatures)
  if (weighed.length === 0) return undefined
  const updatedAt = Math.max(...weighed.map(({ changedAt }) => changedAt))
  return {
    schemaVersion: 1,
    updatedAt: new Date(updatedAt).toISOString(),
    expireAt: new Date(updatedAt + lifeMs).toISOString(),
    promotedKeys: [...new Set(weighed.flatMap(({ entry }) => entry.addedKeys))].slice(0, mostKeys),
    reasonSignatures: weighed.map(({ entry }) => entry),
  }
}

/** Of the machine of this engine. */
export const failureDelta = async ({ db, host }: Pick<Context, 'db' | 'host'>): Promise<FailureDelta | undefined> =>
  deltaOf(await recentFailures(db, host), await recentlyPassed(db, host))
