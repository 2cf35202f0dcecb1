/**
 * The scripted model server: plain HTTP on one port for all protocols. Its only state is a log of requests and a count of
 * injected faults; everything else is in the requests, so the server may be restarted in the middle of a session. It runs
 * nothing and changes no files; it reads a file of the agent only to format a change to that file.
 */
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError, messageOf } from '../src/errors.ts'
import { anthropicProtocol } from './anthropic-protocol.ts'
import { chatProtocol } from './chat-protocol.ts'
import { geminiProtocol } from './gemini-protocol.ts'
import { openaiProtocol } from './openai-protocol.ts'
import type { ScriptMove } from './next-move.ts'
import { nextMove, pickConversation, fillIn } from './next-move.ts'
import type { ModelRequest, Protocol, WireReply } from './protocol.ts'
import { jsonReply } from './protocol.ts'
import type { Conversation, SimScript } from './script.ts'

/** One entry of the log. `step` is the index in the steps of the conversation; `status` is undefined until a response is sent. */
export interface SimRequest {
  method: string
  path: string
  protocol?: string
  model?: string
  session?: string
  cwd?: string
  conversation?: string
  turns?: number
  step?: number
  kind: 'other' | 'aside' | 'unmatched' | 'end' | ScriptMove['turn']['kind'] | NonNullable<ScriptMove['fault']>['kind']
  status?: number
  /** Why the server could not play the request. */
  problem?: string
  /** The last tool result that the client reported, at most 2000 characters. */
  lastResult?: string
}

export interface SimOptions {
  script: SimScript
  host?: string
  port?: number
  log?: (request: SimRequest) => void
}

export interface Sim {
  url: string
  port: number
  requests: () => readonly SimRequest[]
  close: () => Promise<void>
}

interface Exchange {
  protocol: Protocol
  body: unknown
  asked: ModelRequest
  entry: SimRequest
  response: ServerResponse
}

const protocols: readonly Protocol[] = [anthropicProtocol, openaiProtocol, geminiProtocol, chatProtocol]

const fileText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // absent, a folder or not readable: the tool call then reports that to the agent
  }
}

const readBody = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  return text === '' ? undefined : JSON.parse(text)
}

const send = (response: ServerResponse, { status, headers, parts }: WireReply): void => {
  response.writeHead(status, headers)
  response.end(parts.join(''))
}

const whenGone = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => (response.destroyed ? resolve() : response.once('close', resolve)))

/** Half of the reply, then the connection breaks. */
const cutOff = (response: ServerResponse, { status, headers, parts }: WireReply): void => {
  const [only = ''] = parts
  const half = parts.length > 1 ? parts.slice(0, Math.ceil(parts.length / 2)).join('') : only.slice(0, only.length / 2)
  response.writeHead(status, headers)
  response.write(half, () => response.destroy())
}

const leaveOpen = async (response: ServerResponse, { status, headers, parts }: WireReply): Promise<void> => {
  response.writeHead(status, headers)
  response.write(parts.join(''))
  await whenGone(response)
}

const keepSilent = async (response: ServerResponse, afterHeaders: boolean): Promise<void> => {
  if (afterHeaders) response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  await whenGone(response)
}

const refuse = (
  { protocol, response }: Exchange,
  fault: Extract<NonNullable<ScriptMove['fault']>, { kind: 'error' }>,
): void => {
  const { status, type, message = `Scripted error ${fault.status}`, retryAfterSeconds } = fault
  const reply = protocol.error({ status, type, message })
  const wait = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  send(response, { ...reply, headers: { ...reply.headers, ...wait } })
}

const page: WireReply = {
  status: 200,
  headers: { 'content-type': 'text/html' },
  parts: ['<html><body>Bad gateway</body></html>'],
}

/** The reply for a fault that replaces the answer; undefined for other faults. */
const faultReply = (protocol: Protocol, fault: ScriptMove['fault']): WireReply | undefined => {
  if (fault?.kind === 'garbage') return page
  if (fault?.kind === 'overflow') return protocol.overflow()
  if (fault?.kind !== 'limit') return undefined
  const { resetInSeconds } = fault
  return protocol.limit(
    resetInSeconds === undefined
      ? undefined
      : { resetInSeconds, resetAt: Math.floor(Date.now() / 1000) + resetInSeconds },
  )
}

const perform = async (exchange: Exchange, conversation: Conversation, move: ScriptMove): Promise<void> => {
  const { protocol, body, asked, response, entry } = exchange
  const { fault } = move
  if (fault?.kind === 'error') {
    entry.status = fault.status
    return refuse(exchange, fault)
  }
  const replacement = faultReply(protocol, fault)
  if (replacement !== undefined) {
    entry.status = replacement.status
    return send(response, replacement)
  }
  if (fault?.kind === 'silence') return keepSilent(response, fault.afterHeaders)
  const context = { body, model: asked.model, usage: conversation.usage, fileText }
  const answer = fault?.kind === 'empty' ? ({ kind: 'text', text: '' } as const) : fillIn(move.turn, asked.cwd)
  const reply = protocol.turnReply(answer, context)
  entry.status = reply.status
  if (fault?.kind === 'cut') cutOff(response, reply)
  else if (fault?.kind === 'linger') await leaveOpen(response, reply)
  else send(response, reply)
}

const kindOf = ({ fault, step, turn }: ScriptMove): SimRequest['kind'] =>
  fault?.kind ?? (step === undefined ? 'end' : turn.kind)

const describe = (entry: SimRequest, protocol: Protocol, asked: ModelRequest): void => {
  const { model, session, cwd, turns, lastResult } = asked
  Object.assign(entry, { protocol: protocol.name, model, turns })
  if (session !== undefined) entry.session = session
  if (cwd !== undefined) entry.cwd = cwd
  if (lastResult !== undefined) entry.lastResult = lastResult.slice(0, 2000)
}

const unmatched = (opening: string): string =>
  `No conversation of the script matches and none is the default. The prompt was: ${opening.slice(-300)}`

type ChooseMove = (conversation: Conversation, turns: number) => ScriptMove

/** Counts injected faults per conversation, not per session, so that a fresh attempt at the same task does not get the fault again. */
const createChooser = (): ChooseMove => {
  const injected = new Map<string, number>()
  return (conversation, turns) => {
    const count = (step: number): number => injected.get(`${step} ${conversation.name}`) ?? 0
    const move = nextMove(conversation, turns, count)
    if (move.fault !== undefined && move.step !== undefined)
      injected.set(`${move.step} ${conversation.name}`, count(move.step) + 1)
    return move
  }
}

const converse = async (exchange: Exchange, script: SimScript, choose: ChooseMove): Promise<void> => {
  const { protocol, asked, entry, response } = exchange
  const aside = asked.aside
  const conversation = pickConversation(script, asked.opening)
  if (aside !== undefined || conversation === undefined) {
    const reply = aside ?? protocol.error({ status: 400, type: undefined, message: unmatched(asked.opening) })
    Object.assign(entry, { kind: aside === undefined ? 'unmatched' : 'aside', status: reply.status })
    return send(response, reply)
  }
  const move = choose(conversation, asked.turns)
  Object.assign(entry, { conversation: conversation.name, kind: kindOf(move) })
  if (move.step !== undefined) entry.step = move.step
  if (move.waitSeconds > 0) {
    await Promise.race([delay(move.waitSeconds * 1000, undefined, { ref: false }), whenGone(response)])
    if (response.destroyed) return
  }
  await perform(exchange, conversation, move)
}

const listen = async (server: ReturnType<typeof createServer>, host: string, port: number): Promise<number> => {
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  } catch (cause) {
    throw new AppError(
      'USAGE',
      `The model server cannot listen on ${host}:${port}: ${messageOf(cause)}. Choose another --port, or 0.`,
      { cause },
    )
  }
  return (server.address() as AddressInfo).port
}

/** Starts the server. A request that cannot be played is logged and answered with 400, which no agent retries. */
export const startSim = async ({ script, host = '127.0.0.1', port = 0, log }: SimOptions): Promise<Sim> => {
  const requests: SimRequest[] = []
  const choose = createChooser()
  const handle = async (request: IncomingMessage, response: ServerResponse, entry: SimRequest): Promise<void> => {
    const body = await readBody(request)
    for (const protocol of protocols) {
      const route = protocol.route(entry.method, entry.path)
      if (route === undefined) continue
      if (route !== 'model') {
        entry.status = route.status
        return send(response, route)
      }
      const asked = protocol.read(body, request.headers, entry.path)
      describe(entry, protocol, asked)
      return await converse({ protocol, body, asked, entry, response }, script, choose)
    }
    entry.status = 404
    send(
      response,
      jsonReply(404, {
        error: { type: 'not_found', message: `unstuck sim does not serve ${entry.method} ${entry.path}` },
      }),
    )
  }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://sim')
    const entry: SimRequest = { method: request.method ?? '', path: pathname, kind: 'other' }
    requests.push(entry)
    handle(request, response, entry)
      .catch((error: unknown) => {
        entry.status = 400
        entry.problem = messageOf(error)
        const problem = jsonReply(400, { error: { type: 'sim_error', message: entry.problem } })
        if (response.headersSent) response.destroy()
        else send(response, problem)
      })
      .finally(() => log?.(entry))
  })
  const bound = await listen(server, host, port)
  return {
    url: `http://${host}:${bound}`,
    port: bound,
    requests: () => requests,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections() // otherwise a silent step would keep the server open for ever
      await closed
    },
  }
}
