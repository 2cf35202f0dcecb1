/**
 * The interface between the server and the wire protocol of a vendor; one file per protocol implements `Protocol`.
 * A protocol parses requests and formats replies. It has no state and does not choose steps of the script.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { ModelTurn, Conversation } from './script.ts'

/** An answer with all paths and commands filled in. */
export type FilledTurn = Exclude<ModelTurn, { kind: 'hold' } | { kind: 'answer' }>

/** A complete reply, in parts that are sent in order, so that a cut can happen between two parts. */
export interface WireReply {
  status: number
  headers: Record<string, string>
  parts: string[]
}

/** A parsed model request. */
export interface ModelRequest {
  model: string
  session: string | undefined
  /** All text of the user before the first turn of the model. */
  opening: string
  /** Finished turns of the model in the request: a text, or a tool call with its result. */
  turns: number
  cwd: string | undefined
  lastResult: string | undefined
  /** The reply to a request that consumes no step: for a title, a summary, or a poll of a running tool. */
  aside: WireReply | undefined
}

export interface ReplyContext {
  body: unknown
  model: string
  usage: Conversation['usage']
  /** The current text of a file of the agent, or undefined. Some tools need the lines of a file, or must read it before writing. */
  fileText: (path: string) => string | undefined
}

export interface Protocol {
  name: string
  /** Undefined: not a route of this protocol. A reply: needs no model. 'model': the request goes to `read`. */
  route: (method: string, path: string) => WireReply | 'model' | undefined
  read: (body: unknown, headers: IncomingHttpHeaders, path: string) => ModelRequest
  turnReply: (answer: FilledTurn, context: ReplyContext) => WireReply
  error: (problem: { status: number; type: string | undefined; message: string }) => WireReply
  /** The account is at its limit until `resetAt` (seconds since the epoch), which is in `resetInSeconds`. */
  limit: (reset: { resetInSeconds: number; resetAt: number } | undefined) => WireReply
  /** The request is longer than the context of the model. */
  overflow: () => WireReply
}

interface Declared {
  /** Name of a tool, or of a group of tools. */
  name?: unknown
  function?: Declared
  tools?: Declared[]
  functionDeclarations?: Declared[]
}

/** A tool that the request declares, with the group that it is in. */
export interface DeclaredTool {
  name: string
  group: string | undefined
}

const declaredIn = (all: Declared[], group: string | undefined): DeclaredTool[] =>
  all.flatMap(({ name, function: inner, tools, functionDeclarations }): DeclaredTool[] => {
    const below = tools ?? functionDeclarations
    if (below !== undefined) return declaredIn(below, typeof name === 'string' ? name : group)
    const own = inner?.name ?? name
    return typeof own === 'string' ? [{ name: own, group }] : []
  })

/** The declared tool whose name ends with this one; the name itself if there is none, so that the CLI reports it. */
export const toolEndingWith = (name: string, body: unknown): DeclaredTool =>
  declaredIn((body as { tools?: Declared[] }).tools ?? [], undefined).find((tool) => tool.name.endsWith(name)) ?? {
    name,
    group: undefined,
  }

const mostUnknownTools = 30

/**
 * Finished turns, without calls that the CLI refused because it does not know a tool of an MCP server: it may still be connecting to
 * the server, so the step is played again. A tool of the CLI itself that is refused so is switched off for good. Bounded,
 * because a tool that never comes would be called for ever.
 */
export const turnsWithout = (unknownTools: number, finished: number): number =>
  finished - Math.min(unknownTools, mostUnknownTools)

export const jsonReply = (status: number, value: unknown): WireReply => ({
  status,
  headers: { 'content-type': 'application/json' },
  parts: [JSON.stringify(value)],
})

export const withRetryAfter = (reply: WireReply, reset: { resetInSeconds: number } | undefined): WireReply =>
  reset === undefined ? reply : { ...reply, headers: { ...reply.headers, 'retry-after': String(reset.resetInSeconds) } }

export interface WireEvent {
  type: string
  [field: string]: unknown
}

/** A stream of server-sent events; each event's name is its `type`. */
export const eventStreamReply = (list: WireEvent[]): WireReply => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  parts: list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
})

/** Two halves, so that every text or tool input arrives in pieces as it does from a real model. */
export const halves = (text: string): string[] => {
  const middle = Math.ceil(text.length / 2)
  return text.length < 2 ? [text] : [text.slice(0, middle), text.slice(middle)]
}
