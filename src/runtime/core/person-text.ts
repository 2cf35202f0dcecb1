/**
 * Texts that a person sends with a command (hint, reason, name). They are stored, printed to terminals and put into briefs, so they
 * are bounded, free of control characters, and redacted. A text that breaks a rule is an `INPUT_INVALID` error.
 */
import { AppError } from '../../errors.ts'
import type { Context } from './context.ts'

/** Characters. Must fit into the part of the brief that holds hints (`caps.person` in agent/brief.ts). */
const hintLength = 1_000
const reasonLength = 300
const nameLength = 64

const checked = (what: string, text: string, max: number, forbidden: RegExp): string => {
  const trimmed = text.trim()
  if (!trimmed.isWellFormed() || forbidden.test(trimmed))
    throw new AppError('INPUT_INVALID', `the ${what} contains a control character; send plain text`)
  if (trimmed.length > max)
    throw new AppError('INPUT_INVALID', `the ${what} has ${trimmed.length} characters; at most ${max} are allowed`)
  return trimmed
}

/** Null = an empty hint. Several lines are allowed. `what`: what a person calls it. */
export const hintText = ({ ports, environment }: Context, text: string, what = 'hint'): string | null => {
  const hint = checked(what, ports.processes.redactText(text, environment), hintLength, /[^\P{Cc}\n\t]/u)
  return hint === '' ? null : hint
}

export const reasonText = ({ ports, environment }: Context, text: string): string =>
  checked('reason', ports.processes.redactText(text, environment), reasonLength, /\p{Cc}/u)

/** The name that the client reports. It is for display only: the token already proves that the caller is the owner. */
export const actorName = (name: string | undefined): string =>
  checked('name', name ?? '', nameLength, /\p{Cc}/u) || 'api'
