/**
 * Flow tables: every legal transition of every entity is one row. The tables generate docs/states.md, are compared with the
 * SQL CHECKs, and alone decide whether a transition is legal.
 */

/** Which part of the system, or a person, makes a transition. */
export type Owner =
  | 'planner'
  | 'dispatcher'
  | 'executor'
  | 'judge'
  | 'merge queue'
  | 'cycle manager'
  | 'person'
  | 'engine'

export interface FlowRow {
  /** `''` = the entity does not exist yet. */
  from: string
  to: string
  trigger: string
  owner: Owner
  /** Type of the event written in the same transaction. */
  event: string
  /** It needs more than the state, so no message about the state promises it. */
  isConditional?: true
}

export interface Flow<State extends string = string> {
  entity: string
  /** Every state, also those that no row reaches yet. */
  states: readonly State[]
  terminal: readonly State[]
  rows: readonly FlowRow[]
}

export type Illegal = { ok: false; code: 'illegal'; message: string }
export type Legal<Row extends FlowRow = FlowRow> = { ok: true; row: Row }

/** How a person says a trigger, where its own words say something else. */
const personWords: Readonly<Record<string, string>> = {
  objected: 'rejected',
  asked_again: 'reviewed again',
  approved_in_place: 'approved',
  link_awaited: 'made to wait for a link',
}

export const triggerText = (trigger: string): string => personWords[trigger] ?? trigger.replaceAll('_', ' ')

/** The row for a trigger in a state, or a message that lists what a person can do in that state. */
export const transitionOf = (flow: Flow, from: string, trigger: string): Legal | Illegal => {
  const row = flow.rows.find((candidate) => candidate.from === from && candidate.trigger === trigger)
  if (row !== undefined) return { ok: true, row }
  const rows = flow.rows.filter((candidate) => candidate.from === from)
  // The message is for a person, who cannot make the transitions of the engine.
  const open = [
    ...new Set(
      rows
        .filter(({ owner, isConditional }) => owner === 'person' && isConditional !== true)
        .map((candidate) => triggerText(candidate.trigger)),
    ),
  ]
  const choice = open.length === 0 ? 'there is nothing that you can do in this state' : `it can be ${open.join(' or ')}`
  const isOver = open.length === 0 && flow.terminal.includes(from)
  const rest = rows.length === 0 || isOver ? 'it has ended' : choice
  return {
    ok: false,
    code: 'illegal',
    message: `a ${flow.entity} that is ${from} cannot be ${triggerText(trigger)}; ${rest}`,
  }
}

/** As `transitionOf`, for callers that know the transition is legal. Throws on an illegal one, which is a bug. */
export const mustTransition = (flow: Flow, from: string, trigger: string): FlowRow => {
  const step = transitionOf(flow, from, trigger)
  if (!step.ok) throw new Error(step.message)
  return step.row
}

/** Rows with the same trigger, event and owner from several states. */
export const fromEach = (states: readonly string[], row: Omit<FlowRow, 'from'>): FlowRow[] =>
  states.map((from) => ({ from, ...row }))
