/**
 * The Messages API as Claude Code uses it: POST /v1/messages (streamed or whole), HEAD /, count_tokens.
 * A turn counts as finished if it is a text, or if the request contains its tool result. Claude refuses to change a file
 * that it has not read, so a change is preceded by a Read in the same turn, whose id is not counted.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { ModelRequest, ReplyContext, Protocol, WireReply, FilledTurn } from './protocol.ts'
import { eventStreamReply, halves, jsonReply, toolEndingWith, turnsWithout, withRetryAfter } from './protocol.ts'

const blockSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  id: z.string().optional(),
  tool_use_id: z.string().optional(),
  content: z.unknown().optional(),
})
const contentSchema = z.union([z.string(), z.array(blockSchema)])
const bodySchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  system: contentSchema.default(''),
  tools: z.array(z.looseObject({})).default([]),
  messages: z.array(z.looseObject({ role: z.string(), content: contentSchema })),
})
type Block = z.output<typeof blockSchema>

const blocksOf = (content: z.output<typeof contentSchema>): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content

const textOf = (content: z.output<typeof contentSchema>): string =>
  blocksOf(content)
    .filter(({ type }) => type === 'text')
    .map(({ text }) => text ?? '')
    .join('\n')

const resultText = (content: unknown): string => {
  const parsed = contentSchema.safeParse(content)
  return parsed.success ? textOf(parsed.data) : ''
}

const preparatory = 'toolu_before'
const isPreparatory = (id: string | undefined): boolean => id?.startsWith(preparatory) ?? false

/** Claude itself writes these texts after an interrupted run, so they do not count as turns of the script. */
const placeholders = new Set(['', 'No response requested.', '(no content)'])
const interrupted = /^\[Request interrupted by user|^The user doesn't want to (proceed|take this action)/

const isFinishedTurn = (role: string, blocks: Block[]): boolean => {
  if (role === 'assistant')
    return !blocks.some(({ type }) => type === 'tool_use') && !placeholders.has(textOf(blocks).trim())
  return blocks.some(
    (block) =>
      block.type === 'tool_result' && !isPreparatory(block.tool_use_id) && !interrupted.test(resultText(block.content)),
  )
}

const unknownTool = /^(?:<tool_use_error>)?(?:Error: )?No such tool available: mcp__/

const userIdSchema = z.object({ metadata: z.object({ user_id: z.string() }) })

const sessionOf = (body: unknown, header: string | string[] | undefined): string | undefined => {
  if (typeof header === 'string') return header
  const parsed = userIdSchema.safeParse(body)
  return parsed.success ? /"session_id":"([^"]+)"/.exec(parsed.data.metadata.user_id)?.[1] : undefined
}

const sideText = JSON.stringify({ title: 'Scripted session' })
const noUsage = { inputTokens: 10, outputTokens: 5 }

const read: Protocol['read'] = (value, headers) => {
  const body = bodySchema.parse(value)
  const first = body.messages.findIndex(({ role }) => role === 'assistant')
  const before = first === -1 ? body.messages : body.messages.slice(0, first)
  const results = body.messages.flatMap(({ content }) => blocksOf(content)).filter(({ type }) => type === 'tool_result')
  const side = body.tools.length === 0
  return {
    model: body.model,
    session: sessionOf(value, headers['x-claude-code-session-id']),
    opening: before
      .filter(({ role }) => role === 'user')
      .map(({ content }) => textOf(content))
      .join('\n'),
    turns: turnsWithout(
      results.filter(({ content }) => unknownTool.test(resultText(content))).length,
      body.messages.filter(({ role, content }) => isFinishedTurn(role, blocksOf(content))).length,
    ),
    cwd: /^\W*(?:Primary w|W)orking directory: (.+)$/m.exec(textOf(body.system))?.[1]?.trim(),
    lastResult: results.length === 0 ? undefined : resultText(results.at(-1)?.content),
    aside: side
      ? reply([{ type: 'text', text: sideText }], { body: value, model: body.model, usage: noUsage })
      : undefined,
  } satisfies ModelRequest
}

type Part =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }

const toolUse = (name: string, input: Record<string, unknown>, prefix = 'toolu_sim'): Part => ({
  type: 'tool_use',
  id: `${prefix}_${randomUUID().replaceAll('-', '')}`,
  name,
  input,
})

const partsOf = (answer: FilledTurn, { fileText, body }: Pick<ReplyContext, 'fileText' | 'body'>): Part[] => {
  switch (answer.kind) {
    case 'tool':
      return [toolUse(toolEndingWith(answer.name, body).name, answer.input)]
    case 'text':
      return [{ type: 'text', text: answer.text }]
    case 'read':
      return [toolUse('Read', { file_path: answer.path })]
    case 'shell':
      // The longest timeout that Claude accepts; otherwise it would move a held command to the background after two minutes.
      return [toolUse('Bash', { command: answer.command, description: 'Scripted command', timeout: 600_000 })]
    case 'write':
    case 'edit': {
      const input =
        answer.kind === 'write' ? { content: answer.content } : { old_string: answer.find, new_string: answer.replace }
      const change = toolUse(answer.kind === 'write' ? 'Write' : 'Edit', { file_path: answer.path, ...input })
      if (fileText(answer.path) === undefined) return [change]
      return [toolUse('Read', { file_path: answer.path }, preparatory), change]
    }
  }
}

const usageOf = (usage: ReplyContext['usage']) => ({
  input_tokens: usage.inputTokens,
  output_tokens: usage.outputTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
})

const blockEvents = (part: Part, index: number) => {
  const text = part.type === 'text'
  return [
    { type: 'content_block_start', index, content_block: text ? { ...part, text: '' } : { ...part, input: {} } },
    ...halves(text ? part.text : JSON.stringify(part.input)).map((piece) => ({
      type: 'content_block_delta',
      index,
      delta: text ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece },
    })),
    { type: 'content_block_stop', index },
  ]
}

const reply = (parts: Part[], { body, model, usage }: Omit<ReplyContext, 'fileText'>): WireReply => {
  const empty = parts.every((part) => part.type === 'text' && part.text === '')
  const stop = {
    stop_reason: parts.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
    stop_sequence: null,
  }
  const message = {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    usage: usageOf(usage),
  }
  const content = empty ? [] : parts
  if (!bodySchema.parse(body).stream) return jsonReply(200, { ...message, content, ...stop })
  return eventStreamReply([
    { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
    ...content.flatMap((part, index) => blockEvents(part, index)),
    { type: 'message_delta', delta: stop, usage: usageOf(usage) },
    { type: 'message_stop' },
  ])
}

const errorTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

const error: Protocol['error'] = ({ status, type, message }) =>
  jsonReply(status, {
    type: 'error',
    error: { type: type ?? errorTypes[status] ?? 'api_error', message },
    request_id: `req_${randomUUID()}`,
  })

export const anthropicProtocol: Protocol = {
  name: 'anthropic',
  route: (method, path) => {
    if (method === 'HEAD' && path === '/') return { status: 200, headers: {}, parts: [] }
    if (method !== 'POST') return undefined
    if (path === '/v1/messages/count_tokens') return jsonReply(200, { input_tokens: 1000 })
    return path === '/v1/messages' ? 'model' : undefined
  },
  read,
  turnReply: (answer, context) => reply(partsOf(answer, context), context),
  error,
  limit: (reset) =>
    withRetryAfter(error({ status: 429, type: undefined, message: 'The limit of this account is reached.' }), reset),
  // The CLI parses both numbers in this message.
  overflow: () =>
    error({ status: 400, type: undefined, message: 'prompt is too long: 210000 tokens > 200000 maximum' }),
}
