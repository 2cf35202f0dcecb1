/** Texts that a person gives with a decision: bounded, without control characters, and without secrets before they are stored. */
import { AppError } from '../../errors.ts'
import type { Context } from './context.ts'

/** The brief has this much room for it. */
const hintLength = 1_000
const reasonLength = 300
const nameLength = 64

const checked = (what: string, text: string, max: number, forbidden: RegExp): string => {
  const trimmed = text.trim()
  if (!trimmed.isWellFormed() || forbidden.test(trimmed))
    throw new AppError('INPUT_INVALID', `the ${what} holds a control character; give plain text`)
  if (trimmed.length > max)
    throw new AppError('INPUT_INVALID', `the ${what} has ${trimmed.length} characters; give at most ${max} characters`)
  return trimmed
}

/** It may have several lines. */
export const hintText = ({ ports, environment }: Context, text: string): string | null => {
  const hint = checked('hint', ports.processes.redactText(text, environment), hintLength, /[^\P{Cc}\n\t]/u)
  return hint === '' ? null : hint
}

export const reasonText = ({ ports, environment }: Context, text: string): string =>
  checked('reason', ports.processes.redactText(text, environment), reasonLength, /\p{Cc}/u)

/** Who decided, as the client says; its token is the owner's in any case. */
export const actorName = (name: string | undefined): string =>
  checked('name', name ?? '', nameLength, /\p{Cc}/u) || 'api'
