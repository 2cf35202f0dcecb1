/** The ceiling of tokens per hour: whether it is reached, and when enough of them are older than an hour. Pure. */

/** The tokens of a launch that has ended. */
export interface LaunchTokens {
  tokens: number
  /** One hour after its end, when they no longer count. */
  until: Date
}

/** The ceiling is reached: no task starts before `until`. */
export interface HourTokens {
  limit: number
  used: number
  until: Date
}

/** `spent`: the launches of the last hour. A limit that is absent, zero or negative is none. */
export const hourTokensReached = (
  limit: number | undefined,
  spent: readonly LaunchTokens[],
): HourTokens | undefined => {
  const used = spent.reduce((sum, { tokens }) => sum + tokens, 0)
  if (limit === undefined || limit <= 0 || used < limit) return undefined
  let left = used
  for (const { tokens, until } of spent.toSorted((one, other) => one.until.getTime() - other.until.getTime())) {
    left -= tokens
    if (left < limit) return { limit, used, until }
  }
  return undefined
}
