/**
 * The seam between the server and a vendor's wire protocol: one file per protocol implements `Protocol`.
 * A protocol reads requests and words replies; it decides nothing about the script and holds no state.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Answer, Conversation } from './script.ts'

/** An answer with all paths and commands filled in. */
export type Settled = Exclude<Answer, { kind: 'hold' }>

/** A complete reply. It is sent as its parts, one after the other, so that a cut can fall between two of them. */
export interface Reply {
  status: number
  headers: Record<string, string>
  parts: string[]
}

/** What a model request says. */
export interface Asked {
  model: string
  session: string | undefined
  /** All that the user said before the model's first turn. */
  opening: string
  /** Turns of the model that are in the request and finished: a text, or a tool call that has its result. */
  turns: number
  cwd: string | undefined
  lastResult: string | undefined
  /** Set for a request that takes no step: a title, a summary, the polling of a tool that still runs. */
  aside: Reply | undefined
}

export interface Context {
  body: unknown
  model: string
  usage: Conversation['usage']
  /** The agent's file as it is now, or undefined. Some tools need a file's own lines or must read it before they may write. */
  fileText: (path: string) => string | undefined
}

export interface Protocol {
  name: string
  /** Undefined: not ours. A reply: needs no model. 'model': goes to `read`. */
  route: (method: string, path: string) => Reply | 'model' | undefined
  read: (body: unknown, headers: IncomingHttpHeaders, path: string) => Asked
  answer: (answer: Settled, context: Context) => Reply
  error: (problem: { status: number; type: string | undefined; message: string }) => Reply
  /** The account's limit is reached; `resetAt` in whole seconds of the epoch, `resetInSeconds` the same from now. */
  limit: (reset: { resetInSeconds: number; resetAt: number } | undefined) => Reply
  /** The request is longer than the model can take. */
  overflow: () => Reply
}

export const json = (status: number, value: unknown): Reply => ({
  status,
  headers: { 'content-type': 'application/json' },
  parts: [JSON.stringify(value)],
})

export const withRetryAfter = (reply: Reply, reset: { resetInSeconds: number } | undefined): Reply =>
  reset === undefined ? reply : { ...reply, headers: { ...reply.headers, 'retry-after': String(reset.resetInSeconds) } }

export interface WireEvent {
  type: string
  [field: string]: unknown
}

/** A stream of server-sent events; each event's name is its `type`. */
export const events = (list: WireEvent[]): Reply => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  parts: list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
})

/** Two halves, so that every text or tool input arrives in pieces as it does from a real model. */
export const halves = (text: string): string[] => {
  const middle = Math.ceil(text.length / 2)
  return text.length < 2 ? [text] : [text.slice(0, middle), text.slice(middle)]
}
