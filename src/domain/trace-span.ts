/** A span of a trace: one thing with a beginning and an end. The trace is the goal's, and its root span is the goal itself. */
export interface TraceSpan {
  goalId: string
  /** What it is a span of, such as `run r-1`; unique in the store. */
  key: string
  /** The key of the span around it; null = it is the goal. */
  parent: string | null
  /** From a small set, so that a backend can group by it. */
  name: string
  startedAt: Date
  endedAt: Date
  /** A code that says how it failed; null = it did not. */
  problem: string | null
  attributes: Record<string, string | number | boolean | string[]>
}
