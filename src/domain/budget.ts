/** Budgets and spend. Money is in US dollars, time in seconds of wall clock while a run is alive, tokens exclude cached input. */

/** A field that is absent, zero or negative sets no limit. A new goal has only fields that set one, see `withoutLifted`. */
export interface Limits {
  runSeconds?: number
  runTokens?: number
  runCostUsd?: number
  goalSeconds?: number
  goalTokens?: number
  goalCostUsd?: number
}

/** After loading, an absent limit means that there is none. */
export interface ConfigLimits extends Limits {
  /** Of the repository, not of a goal. */
  hourTokens?: number
}

/**
 * Leaves out what sets no limit. It is the only place that does so for the configuration and for a new goal: a reader that takes -1 or 0
 * for a limit would end healthy runs.
 */
export const withoutLifted = (limits: ConfigLimits): ConfigLimits =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value > 0))

/** What is left until a limit is reached; without a limit it never is. */
export const leftOf = (limit: number | undefined, spent: number): number =>
  limit === undefined || limit <= 0 ? Number.POSITIVE_INFINITY : limit - spent

export interface Spend {
  tokens: number
  costUsd: number
  seconds: number
}

export const noSpend: Spend = { tokens: 0, costUsd: 0, seconds: 0 }

export const addSpend = (a: Spend, b: Spend): Spend => ({
  tokens: a.tokens + b.tokens,
  costUsd: a.costUsd + b.costUsd,
  seconds: a.seconds + b.seconds,
})

export interface Overrun {
  scope: 'run' | 'goal'
  what: keyof Spend
  limit: number
  spent: number
}

/** The first limit that is reached, those of the run first; undefined while none is. `goal` excludes the spend of `run`. */
export const overrunOf = (limits: Limits, run: Spend, goal: Spend): Overrun | undefined => {
  const rows: [Overrun['scope'], keyof Spend, number | undefined, number][] = [
    ['run', 'tokens', limits.runTokens, run.tokens],
    ['run', 'costUsd', limits.runCostUsd, run.costUsd],
    ['run', 'seconds', limits.runSeconds, run.seconds],
    ['goal', 'tokens', limits.goalTokens, goal.tokens + run.tokens],
    ['goal', 'costUsd', limits.goalCostUsd, goal.costUsd + run.costUsd],
    ['goal', 'seconds', limits.goalSeconds, goal.seconds + run.seconds],
  ]
  const hit = rows.find(([, , limit, spent]) => leftOf(limit, spent) <= 0)
  return hit === undefined ? undefined : { scope: hit[0], what: hit[1], limit: hit[2] ?? 0, spent: hit[3] }
}

export const overrunText = (overrun: Overrun): string => {
  const unit = { tokens: 'tokens', costUsd: 'US dollars', seconds: 'seconds' }[overrun.what]
  return `the ${overrun.scope}'s ceiling of ${overrun.limit} ${unit} is reached (${Math.round(overrun.spent * 100) / 100} spent)`
}
