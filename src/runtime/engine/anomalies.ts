/**
 * What is wrong with the whole, while each task has its next step: many runs lost at once, many failures and no success, no progress for
 * an hour although there is work. Each is one event and one line in the status until it is over.
 */
import {
  activeAnomalies,
  anomalyTypes,
  clearAnomaly,
  quietTime,
  recentRuns,
  recordAnomaly,
  type AnomalyType,
  type Quiet,
  type RecentRuns,
} from '../../store/anomaly.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import type { Context } from '../core/context.ts'
import { verificationSeconds } from './stuck-runs.ts'

const window = { deathSeconds: 300, stormSeconds: 600 }
const massDeath = 3
const stormFailures = 12
const quietSeconds = 3600
/** One that comes and goes is reported once in this time. */
const coolDownSeconds = 300
/** Between two looks. */
const lookSeconds = 60

const notQuiet: Quiet = { quietSeconds: 0, unexplainedSeconds: 0 }

const minutes = (seconds: number): string => `${Math.floor(seconds / 60)} min`

/** The anomalies of this moment, with what they are found by. Pure. */
export const anomaliesOf = (recent: RecentRuns & Quiet): Partial<Record<AnomalyType, string>> => ({
  ...(recent.lost >= massDeath && recent.lost >= recent.others
    ? {
        mass_death: `${recent.lost} runs lost their agent or engine within ${minutes(window.deathSeconds)}; "unstuck doctor" checks this machine and its engines`,
      }
    : {}),
  ...(recent.failed >= stormFailures && recent.succeeded === 0
    ? {
        retry_storm: `${recent.failed} runs failed within ${minutes(window.stormSeconds)} and none succeeded; "unstuck runs --state failed" lists them`,
      }
    : {}),
  ...(recent.work > 0 && recent.unexplainedSeconds >= quietSeconds
    ? {
        no_progress: `no run has succeeded and nothing was merged for ${minutes(recent.quietSeconds)}, and ${recent.work} task${recent.work === 1 ? ' is' : 's are'} not done; "unstuck status" shows what each waits for`,
      }
    : {}),
})

const report = (tx: Queryable, type: AnomalyType, detail: string): Promise<void> => {
  switch (type) {
    case 'mass_death':
      return appendEvent(tx, { type: 'anomaly.mass_death', payload: { detail } })
    case 'retry_storm':
      return appendEvent(tx, { type: 'anomaly.retry_storm', payload: { detail } })
    case 'no_progress':
      return appendEvent(tx, { type: 'anomaly.no_progress', payload: { detail } })
  }
}

/** A job: looks for anomalies, and returns after how many seconds again. Without one it only reads. */
export const watchAnomalies = async ({ db }: Context): Promise<number> => {
  const recent = await recentRuns(db, window)
  const quiet = recent.work === 0 ? notQuiet : await quietTime(db, { ofInterest: quietSeconds, verificationSeconds })
  const found = anomaliesOf({ ...recent, ...quiet })
  const active = new Set((await activeAnomalies(db)).map(({ type }) => type))
  const changed = anomalyTypes.filter((type) => found[type] !== undefined || active.has(type))
  if (changed.length === 0) return lookSeconds
  await db.transaction(async (tx) => {
    for (const type of changed) {
      const detail = found[type]
      if (detail !== undefined) {
        if (await recordAnomaly(tx, { type, detail }, coolDownSeconds)) await report(tx, type, detail)
      } else if (await clearAnomaly(tx, type))
        await appendEvent(tx, { type: 'anomaly.cleared', payload: { anomaly: type } })
    }
  })
  return lookSeconds
}
