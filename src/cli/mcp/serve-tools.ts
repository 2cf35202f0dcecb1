/**
 * The MCP server on standard input and output. It holds no state and opens no store: a tool of a run goes through the loopback API of
 * the engine, a tool of the owner is a command of this CLI. It ends with its input, so it does not outlive the program that started it.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { AppError, exitCodes, messageOf } from '../../errors.ts'
import { markerName } from '../../process/find.ts'
import type { Io } from '../io.ts'
import { safe } from '../render.ts'
import { ownerTools } from './owner-tools.ts'
import { runTools } from './run-tools-client.ts'
import type { McpTool } from './tool.ts'

/** Some CLIs show a model only this, until it looks for a tool. */
const instructions =
  'Unstuck supervises tasks of coding agents: report progress, propose a repair of the environment, ask a person.'

const lines = (text: string): string => text.split('\n').map(safe).join('\n')

const result = (text: string, isError = false): CallToolResult => ({
  content: [{ type: 'text', text: lines(text) }],
  ...(isError ? { isError } : {}),
})

/** A refusal is a result with its reason, which the model reads and can correct; only an unknown tool is an error of the protocol. */
const call = async (tools: readonly McpTool[], name: string, given: unknown, signal: AbortSignal) => {
  const tool = tools.find((candidate) => candidate.name === name)
  if (tool === undefined) {
    const known = tools.map((candidate) => candidate.name).join(', ')
    return result(`there is no tool ${JSON.stringify(name.slice(0, 100))}; there are: ${known}`, true)
  }
  try {
    return result(await tool.call((given ?? {}) as Record<string, unknown>, signal))
  } catch (error) {
    if (error instanceof AppError) return result(error.message, true)
    return result(`the tool ${tool.name} failed: ${messageOf(error)}; go on without it`, true)
  }
}

/** Tools of a run for its agent; nothing for another process of a run; else the tools of the owner. */
const toolsFor = (io: Io): McpTool[] => {
  const { UNSTUCK_RUN_TOKEN: token, UNSTUCK_ENGINE_FILE: engineFile } = io.environment
  if (token !== undefined && engineFile !== undefined) return runTools({ token, engineFile })
  const run = io.environment[markerName]
  if (run === undefined) return ownerTools(io)
  throw new AppError(
    'UNAUTHORISED',
    `this process belongs to run ${run} and has no token of it, and an agent may not act as the owner; "mcp.enabled" in .unstuck/config.json gives agents their tools`,
  )
}

export const serveMcp = async (io: Io): Promise<number> => {
  const tools = toolsFor(io)
  const server = new Server({ name: 'unstuck', version: io.version }, { capabilities: { tools: {} }, instructions })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ call: _call, ...described }) => described),
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
    call(tools, params.name, params.arguments, signal),
  )
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'close'] as const) process.stdin.once(event, () => resolve())
    io.signal.addEventListener('abort', () => resolve(), { once: true })
    if (io.signal.aborted) resolve()
  })
  // A line that is no message is reported on standard error, and the next one is read.
  const onerror = (error: Error): void => io.error(`unstuck: ${safe(error.message).slice(0, 300)}\n`)
  Object.assign(server, { onerror })
  await server.connect(new StdioServerTransport())
  await ended
  await server.close()
  // Standard input that was never read to its end would keep the process alive.
  process.stdin.destroy()
  return exitCodes.ok
}
