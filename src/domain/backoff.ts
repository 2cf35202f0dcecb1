/** How long to wait before an operation is repeated. */

export interface BackoffOptions {
  /** The first delay, in milliseconds. */
  firstMs: number
  /** No delay is longer, jitter included. Milliseconds. */
  maxMs: number
  /** Each delay is this many times the one before; 2 by default. At least 1. */
  factor?: number
  /** Lengthens each delay by up to `share` of itself. The same seed gives the same delays, also after a restart. */
  jitter?: { share: number; seed: string }
}

/** 32-bit FNV-1a. */
const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (const char of text) value = Math.imul(value ^ (char.codePointAt(0) ?? 0), 0x01000193)
  return value >>> 0
}

/** A number from 0 (included) to 1 (excluded) that looks random but is the same for the same seed and number of retries. */
export const jitterFraction = (seed: string, retries: number): number => (hash(`${seed}:${retries}`) % 1000) / 1000

/**
 * Exponential backoff: the delay in whole milliseconds before the next attempt, after `retries` (from 0) earlier ones were
 * delayed. Grows with `retries` up to `maxMs` and stays there, however large `retries` is.
 */
export const backoff = (retries: number, { firstMs, maxMs, factor = 2, jitter }: BackoffOptions): number => {
  const delayMs = Math.min(maxMs, firstMs * factor ** retries)
  if (jitter === undefined) return Math.round(delayMs)
  return Math.round(Math.min(maxMs, delayMs * (1 + jitter.share * jitterFraction(jitter.seed, retries))))
}
