/**
 * Buttons of a notification. A press publishes a token to a topic that the engine reads. The token works once and only its hash is
 * stored, so neither the store nor a repeated message answers anything.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readText, type FailedSend } from './post.ts'
import type { ResolveName } from './target.ts'
import { defined } from '../domain/defined.ts'

export interface Button {
  label: string
  token: string
}

export const newButtonToken = (): string => randomBytes(32).toString('base64url')

export const buttonTokenHash = (token: string): string => createHash('sha256').update(token).digest('hex')

export const pressText = (token: string): string => `unstuck ${token}`

const press = /^unstuck ([A-Za-z0-9_-]{43})$/

interface TopicMessage {
  id: string
  text: string
}

const messageIn = (line: string): TopicMessage | undefined => {
  try {
    const { event, id, message } = JSON.parse(line) as Record<string, unknown>
    if (event !== 'message' || typeof message !== 'string') return undefined
    return { id: typeof id === 'string' && /^[\w-]{1,64}$/.test(id) ? id : '', text: message.trim() }
  } catch {
    return undefined // the topic is open to everyone who knows its name, so what is not a message is skipped
  }
}

/** The messages of a topic, one JSON object a line. */
const messagesIn = (text: string): TopicMessage[] => text.split('\n').flatMap((line) => messageIn(line) ?? [])

/** The tokens in the messages of a topic. */
export const pressedTokens = (text: string): string[] => [
  ...new Set(messagesIn(text).flatMap((message) => press.exec(message.text)?.[1] ?? [])),
]

export interface ReadPresses {
  url: string
  /** Seconds since 1970, or the id of a message. */
  since: number | string
  /** Of the topic, if it needs one. */
  token: string
  timeoutMs?: number
  resolve?: ResolveName
  signal?: AbortSignal
}

export interface Presses {
  tokens: string[]
  /** The topic had more: the id of the last message that was read, after which the next reading continues. */
  readTo?: string
}

const defaultTimeoutMs = 10_000

export const readPresses = async ({
  url: text,
  since,
  token,
  timeoutMs = defaultTimeoutMs,
  ...more
}: ReadPresses): Promise<({ ok: true } & Presses) | FailedSend> => {
  const url = new URL(text)
  url.pathname = `${url.pathname.replace(/\/$/, '')}/json`
  url.search = `?poll=1&since=${since}`
  const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` }
  const read = await readText({ url: url.href, headers, timeoutMs, ...more })
  if (!read.ok) return read
  const tokens = pressedTokens(read.text)
  const readTo = read.isCut ? messagesIn(read.text).findLast(({ id }) => id !== '')?.id : undefined
  return { ok: true, tokens, ...defined({ readTo }) }
}
