/**
 * Chat completions as OpenCode uses them through an OpenAI-compatible provider: POST /chat/completions or
 * /v1/chat/completions, streamed. A request without tools (for a title) consumes no step. A turn counts as finished if it
 * is a text, or if the request contains its tool result.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { ModelRequest, ReplyContext, Protocol, WireReply, FilledTurn } from './protocol.ts'
import { halves, jsonReply, toolEndingWith, withRetryAfter } from './protocol.ts'

const contentSchema = z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]).nullish()
const messageSchema = z.looseObject({
  role: z.string(),
  content: contentSchema,
  tool_calls: z.array(z.looseObject({})).nullish(),
})
const bodySchema = z.looseObject({
  model: z.string(),
  tools: z.array(z.looseObject({})).nullish(),
  messages: z.array(messageSchema),
})
type Message = z.output<typeof messageSchema>

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('\n')

const isFinishedTurn = (message: Message): boolean => {
  if (message.role === 'tool') return true
  return message.role === 'assistant' && (message.tool_calls ?? []).length === 0 && textOf(message).trim() !== ''
}

const noUsage = { inputTokens: 10, outputTokens: 5 }

const read: Protocol['read'] = (value) => {
  const body = bodySchema.parse(value)
  const first = body.messages.findIndex(({ role }) => role === 'assistant')
  const before = first === -1 ? body.messages : body.messages.slice(0, first)
  const system = body.messages.filter(({ role }) => role === 'system').map(textOf)
  const last = body.messages.findLast(({ role }) => role === 'tool')
  return {
    model: body.model,
    session: undefined,
    opening: before
      .filter(({ role }) => role === 'user')
      .map(textOf)
      .join('\n'),
    turns: body.messages.filter(isFinishedTurn).length,
    cwd: /^\W*Working directory: (.+)$/m.exec(system.join('\n'))?.[1]?.trim(),
    lastResult: last === undefined ? undefined : textOf(last),
    aside:
      (body.tools ?? []).length === 0
        ? reply({ content: 'Scripted session' }, { model: body.model, usage: noUsage })
        : undefined,
  } satisfies ModelRequest
}

type Delta = { content: string } | { name: string; input: Record<string, unknown> }

const deltaOf = (answer: FilledTurn, body: unknown): Delta => {
  switch (answer.kind) {
    case 'tool':
      return { name: toolEndingWith(answer.name, body).name, input: answer.input }
    case 'text':
      return { content: answer.text }
    case 'read':
      return { name: 'read', input: { filePath: answer.path } }
    case 'shell':
      return { name: 'bash', input: { command: answer.command, description: 'Scripted command', timeout: 600_000 } }
    case 'write':
      return { name: 'write', input: { filePath: answer.path, content: answer.content } }
    case 'edit':
      return { name: 'edit', input: { filePath: answer.path, oldString: answer.find, newString: answer.replace } }
  }
}

const deltasOf = (delta: Delta): object[] => {
  if ('content' in delta)
    return (delta.content === '' ? [] : halves(delta.content)).map((content) => ({ role: 'assistant', content }))
  const id = `call_${randomUUID()}`
  return halves(JSON.stringify(delta.input)).map((text, at) => ({
    role: 'assistant',
    tool_calls: [
      at === 0
        ? { index: 0, id, type: 'function', function: { name: delta.name, arguments: text } }
        : { index: 0, function: { arguments: text } },
    ],
  }))
}

const reply = (delta: Delta, { model, usage }: Pick<ReplyContext, 'model' | 'usage'>): WireReply => {
  const head = { id: `chatcmpl-${randomUUID()}`, object: 'chat.completion.chunk', created: 0, model }
  const choice = (part: object, finish: string | null) => ({
    ...head,
    choices: [{ index: 0, delta: part, finish_reason: finish }],
  })
  const total = {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
  const list = [
    ...deltasOf(delta).map((part) => choice(part, null)),
    choice({}, 'content' in delta ? 'stop' : 'tool_calls'),
    { ...head, choices: [], usage: total },
  ]
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
    parts: [...list.map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n'],
  }
}

const errorCodes: Record<number, string> = {
  401: 'invalid_api_key',
  404: 'model_not_found',
  429: 'rate_limit_exceeded',
  503: 'server_is_overloaded',
}

const error: Protocol['error'] = ({ status, type, message }) => {
  const code = type ?? errorCodes[status] ?? 'server_error'
  return jsonReply(status, { error: { message, type: code, code, param: null } })
}

export const chatProtocol: Protocol = {
  name: 'chat',
  route: (method, path) => (method === 'POST' && /^(?:\/v1)?\/chat\/completions$/.test(path) ? 'model' : undefined),
  read,
  turnReply: (answer, context) => reply(deltaOf(answer, context.body), context),
  error,
  limit: (reset) =>
    withRetryAfter(
      error({ status: 429, type: 'insufficient_quota', message: 'The quota of this account is used up.' }),
      reset,
    ),
  overflow: () =>
    error({ status: 400, type: 'context_length_exceeded', message: 'The input is longer than the context window.' }),
}
