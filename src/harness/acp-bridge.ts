/**
 * The bridge: a program between the shim and an agent that speaks the Agent Client Protocol, which needs a live pipe. It starts the
 * agent as its child, opens or loads a session, sends one prompt, answers permission requests (`acp-permission.ts`), and
 * prints one JSON event per line, so that this run is read from files like any other. It always ends the agent before it exits.
 * The agent's standard error is passed through.
 *
 *   node acp-bridge.ts --prompt-file <file> --cwd <folder> [--session <id>] [--allow-dir <dir>]… [--allow-command <line>]… [--allow-all | --allow-nothing] -- <agent> [args…]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import {
  client,
  type ClientContext,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type NewSessionRequest,
  type NewSessionResponse,
} from '@agentclientprotocol/sdk'
import { type AllowedAccess, type RequestedCall, decidePermission, permissionOptionFor } from './acp-permission.ts'

const openingMs = 120_000
const leaveMs = 2_000
const maxString = 16_000

interface Orders {
  prompt: string
  cwd: string
  session: string | undefined
  allowed: AllowedAccess
  agent: string[]
}

const ordersFrom = (argv: string[]): Orders => {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      'prompt-file': { type: 'string' },
      cwd: { type: 'string' },
      session: { type: 'string' },
      'allow-dir': { type: 'string', multiple: true },
      'allow-command': { type: 'string', multiple: true },
      'allow-all': { type: 'boolean', default: false },
      'allow-nothing': { type: 'boolean', default: false },
    },
  })
  const { cwd = process.cwd(), session } = values
  return {
    prompt: readFileSync(values['prompt-file'] ?? '', 'utf8'),
    cwd,
    session,
    allowed: {
      workspace: cwd,
      dirs: values['allow-dir'] ?? [],
      commands: values['allow-command'] ?? [],
      everything: values['allow-all'],
      nothing: values['allow-nothing'],
    },
    agent: positionals,
  }
}

/** Cuts long texts, because the log cuts a line that is too long, and half a JSON line cannot be parsed. */
const print = (event: { type: string; [field: string]: unknown }): void => {
  const cut = (_key: string, value: unknown): unknown =>
    typeof value === 'string' && value.length > maxString ? `${value.slice(0, maxString)}…` : value
  process.stdout.write(`${JSON.stringify(event, cut)}\n`)
}

type Stage = 'spawn' | 'initialize' | 'session' | 'prompt'

/** Fails when the agent does not answer in time: a program that speaks another protocol never answers. */
const inTime = async <T>(work: Promise<T>, what: string): Promise<T> => {
  const over = new AbortController()
  const late = delay(openingMs, undefined, { signal: over.signal }).then(() => {
    throw new Error(`the agent did not answer ${what} within ${openingMs / 1000} s`)
  })
  // The rejection of the loser of the race, also of the aborted timer, must not be reported as unhandled.
  late.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    over.abort()
  }
}

/** Collects everything reported about each call, because a permission request often has only the call's id. */
const createMemory = (): { note: (update: object) => RequestedCall; call: (id: string) => RequestedCall } => {
  const calls = new Map<string, RequestedCall>()
  const note = (update: object): RequestedCall => {
    const { toolCallId } = update as { toolCallId?: string }
    const given = Object.fromEntries(
      Object.entries(update).filter(([, value]) => value !== undefined && value !== null),
    )
    const known = { ...calls.get(toolCallId ?? ''), ...given }
    if (toolCallId !== undefined) calls.set(toolCallId, known)
    return known
  }
  return { note, call: (id) => calls.get(id) ?? {} }
}

const openSession = async (agent: ClientContext, orders: Orders, canLoad: boolean): Promise<string> => {
  const place: NewSessionRequest = { cwd: orders.cwd, mcpServers: [] }
  if (orders.session === undefined) {
    const { sessionId } = await agent.request<NewSessionResponse>(methods.agent.session.new, place)
    return sessionId
  }
  if (!canLoad) throw new RequestError(-32002, 'the agent cannot load a session')
  await agent.request(methods.agent.session.load, { ...place, sessionId: orders.session })
  return orders.session
}

const converse = async (agent: ClientContext, orders: Orders, at: (stage: Stage) => void): Promise<void> => {
  at('initialize')
  const hello = await inTime(
    agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      // The agent accesses files and runs commands itself: we answer its permission requests and check the result afterwards.
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'unstuck', version: '1' },
    }),
    'initialize',
  )
  const canLoad = hello.agentCapabilities?.loadSession === true
  print({ type: 'init', protocolVersion: hello.protocolVersion, agent: hello.agentInfo ?? null, canLoad })
  at('session')
  const sessionId = await inTime(openSession(agent, orders, canLoad), 'session')
  print({ type: 'session', sessionId, canLoad, resumed: orders.session !== undefined, cwd: orders.cwd })
  at('prompt')
  const response = await agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: orders.prompt }],
  })
  print({ ...response, type: 'result' })
}

const problemOf = (error: unknown): { code?: number; message: string; data?: unknown } => {
  if (error instanceof RequestError) return { code: error.code, message: error.message, data: error.data }
  return { message: error instanceof Error ? error.message : String(error) }
}

const start = async ([program = '', ...args]: string[], cwd: string): Promise<ChildProcess> => {
  const child = spawn(program, args, { cwd, stdio: ['pipe', 'pipe', 'inherit'] })
  // A broken pipe is noticed as the end of the connection.
  child.stdin?.on('error', () => undefined)
  await once(child, 'spawn')
  return child
}

/** Ends the agent: closes its standard input first, so that it can exit by itself, then signals it. */
const endAgent = async (child: ChildProcess): Promise<void> => {
  const gone = child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : once(child, 'exit')
  child.stdin?.end()
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await Promise.race([gone, delay(leaveMs, undefined, { ref: false })])
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
  }
  await gone
  child.stdout?.destroy()
}

const endOf = (child: ChildProcess | undefined): Record<string, unknown> =>
  child === undefined ? {} : { agentCode: child.exitCode, agentSignal: child.signalCode }

const main = async (): Promise<number> => {
  let stage: Stage = 'spawn'
  let loading = false
  let child: ChildProcess | undefined
  const memory = createMemory()
  try {
    const orders = ordersFrom(process.argv.slice(2))
    loading = orders.session !== undefined
    child = await start(orders.agent, orders.cwd)
    const stream = ndJsonStream(
      Writable.toWeb(child.stdin as Writable) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout as Readable) as ReadableStream<Uint8Array>,
    )
    const app = client({ name: 'unstuck' })
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        const call = memory.note(params.toolCall)
        const decision = decidePermission(call, orders.allowed)
        const optionId = permissionOptionFor(decision, params.options)
        const granted = decision.allowed && optionId !== undefined
        print({ type: 'permission', ...decision, allowed: granted, toolCall: { ...call, content: undefined } })
        return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
      })
      .onNotification(methods.client.session.update, ({ params }) => {
        memory.note(params.update)
        // Updates before the prompt are the history of the loaded session, from an earlier launch.
        if (stage === 'prompt') print({ type: 'update', update: params.update })
      })
    await app.connectWith(stream, (agent) => converse(agent, orders, (next) => (stage = next)))
    return 0
  } catch (error) {
    // The pipe may close before the agent's exit is reported, and the exit status explains the error.
    if (child !== undefined) await Promise.race([once(child, 'exit'), delay(200, undefined, { ref: false })])
    print({ type: 'error', stage, loading, ...problemOf(error), ...endOf(child) })
    return 1
  } finally {
    if (child !== undefined) await endAgent(child)
  }
}

process.exitCode = await main()
