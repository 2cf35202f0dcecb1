/**
 * Buttons of a notification. A press publishes a token to a topic that the engine reads. The token works once and only its hash is
 * stored, so neither the store nor a repeated message answers anything.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readText, type FailedSend } from './post.ts'
import type { ResolveName } from './target.ts'

export interface Button {
  label: string
  token: string
}

export const newButtonToken = (): string => randomBytes(32).toString('base64url')

export const buttonTokenHash = (token: string): string => createHash('sha256').update(token).digest('hex')

export const pressText = (token: string): string => `unstuck ${token}`

const press = /^unstuck ([A-Za-z0-9_-]{43})$/
const maxPresses = 50

const messageIn = (line: string): string => {
  try {
    const { event, message } = JSON.parse(line) as { event?: unknown; message?: unknown }
    return event === 'message' && typeof message === 'string' ? message : ''
  } catch {
    return '' // anybody can publish to the topic, so what is no press is nothing
  }
}

/** The tokens in the messages of a topic, one JSON object a line. */
export const pressedTokens = (text: string): string[] =>
  [...new Set(text.split('\n').flatMap((line) => press.exec(messageIn(line).trim())?.[1] ?? []))].slice(0, maxPresses)

export interface ReadPresses {
  url: string
  /** Seconds since 1970. */
  since: number
  /** Of the topic, if it needs one. */
  token: string
  timeoutMs?: number
  resolve?: ResolveName
  signal?: AbortSignal
}

const defaultTimeoutMs = 10_000

export const readPresses = async ({
  url: text,
  since,
  token,
  timeoutMs = defaultTimeoutMs,
  ...more
}: ReadPresses): Promise<{ ok: true; tokens: string[] } | FailedSend> => {
  const url = new URL(text)
  url.pathname = `${url.pathname.replace(/\/$/, '')}/json`
  url.search = `?poll=1&since=${since}`
  const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` }
  const read = await readText({ url: url.href, headers, timeoutMs, ...more })
  return read.ok ? { ok: true, tokens: pressedTokens(read.text) } : read
}
