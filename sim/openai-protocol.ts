/**
 * The Responses API as Codex uses it with the classic tools (`-m gpt-5.5`): POST /responses or /v1/responses, streamed.
 * Codex sends the whole history each time. A call counts as finished if the request contains its output. A command that runs
 * longer than Codex waits (10 to 30 s) is polled without consuming a step, and the output that ends it counts once.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { ModelRequest, ReplyContext, Protocol, WireReply, FilledTurn, WireEvent } from './protocol.ts'
import { eventStreamReply, halves, jsonReply, toolEndingWith, turnsWithout } from './protocol.ts'

const partSchema = z.looseObject({ text: z.string().optional() })
const textSchema = z.union([z.string(), z.array(partSchema)])
const itemSchema = z.looseObject({
  type: z.string(),
  role: z.string().optional(),
  content: textSchema.nullish(),
  output: textSchema.nullish(),
})
const bodySchema = z.looseObject({
  model: z.string(),
  prompt_cache_key: z.string().optional(),
  tools: z.array(z.looseObject({ name: z.string().optional() })).default([]),
  input: z.array(itemSchema),
})
type Item = z.output<typeof itemSchema>

const textOf = (content: z.output<typeof textSchema> | null | undefined): string => {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text }) => text ?? '').join('\n')
}

const isAssistant = (item: Item): boolean => item.type === 'message' && item.role === 'assistant'
const isOutput = (item: Item): boolean =>
  item.type === 'function_call_output' || item.type === 'custom_tool_call_output'
const runningSession = (item: Item): string | undefined =>
  /^Process running with session ID (\d+)$/m.exec(textOf(item.output))?.[1]
/** Codex itself writes this output for an interrupted call. */
const aborted = (item: Item): boolean => textOf(item.output).startsWith('aborted')

const unknownTool = /^unsupported (?:custom tool )?call: mcp__/

const isFinishedTurn = (item: Item): boolean =>
  isAssistant(item) || (isOutput(item) && runningSession(item) === undefined && !aborted(item))

/** The reply to a request that consumes no step: a poll of a tool that still runs, or a text for a request without tools. */
const asideOf = (body: z.output<typeof bodySchema>): WireReply | undefined => {
  const context = { model: body.model, usage: { inputTokens: 10, outputTokens: 5 } }
  const last = body.input.at(-1)
  const session = last !== undefined && isOutput(last) ? runningSession(last) : undefined
  if (session !== undefined)
    return reply(
      functionCall('write_stdin', { session_id: Number(session), chars: '', yield_time_ms: 300_000 }),
      context,
    )
  const classic = body.tools.some(({ name }) => name === 'exec_command')
  if (classic) return undefined
  if (body.input.some(({ type }) => type === 'additional_tools'))
    return openaiProtocol.error({
      status: 400,
      type: undefined,
      message: `${body.model} uses code mode, which is not scripted; use -m gpt-5.5`,
    })
  return reply(message('Nothing to add.'), context)
}

const read: Protocol['read'] = (value) => {
  const body = bodySchema.parse(value)
  const first = body.input.findIndex((item) => isAssistant(item) || item.type.endsWith('_call'))
  const said = body.input.filter((item) => item.type === 'message' && item.role === 'user')
  const opening = first === -1 ? said : said.filter((item) => body.input.indexOf(item) < first)
  const places = said.flatMap((item) => [...textOf(item.content).matchAll(/<cwd>(.+?)<\/cwd>/g)])
  const results = body.input.filter(isOutput)
  return {
    model: body.model,
    session: body.prompt_cache_key,
    opening: opening.map((item) => textOf(item.content)).join('\n'),
    turns: turnsWithout(
      results.filter(({ output }) => unknownTool.test(textOf(output))).length,
      body.input.filter(isFinishedTurn).length,
    ),
    cwd: places.at(-1)?.[1], // a session resumed in another folder names the new folder last
    lastResult: results.length === 0 ? undefined : textOf(results.at(-1)?.output),
    aside: asideOf(body),
  } satisfies ModelRequest
}

type Call =
  | {
      type: 'message'
      id: string
      role: 'assistant'
      status: 'completed'
      content: { type: 'output_text'; text: string; annotations: [] }[]
    }
  | {
      type: 'function_call'
      id: string
      call_id: string
      name: string
      /** The group of tools that the name is in. */
      namespace?: string
      arguments: string
      status: 'completed'
    }
  | { type: 'custom_tool_call'; id: string; call_id: string; name: string; input: string; status: 'completed' }

const message = (text: string): Call => ({
  type: 'message',
  id: `msg_${randomUUID()}`,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})

const functionCall = (name: string, input: Record<string, unknown>, namespace?: string): Call => ({
  type: 'function_call',
  ...(namespace === undefined ? {} : { namespace }),
  id: `fc_${randomUUID()}`,
  call_id: `call_${randomUUID()}`,
  name,
  arguments: JSON.stringify(input),
  status: 'completed',
})

const patch = (lines: string[]): Call => ({
  type: 'custom_tool_call',
  id: `ctc_${randomUUID()}`,
  call_id: `call_${randomUUID()}`,
  name: 'apply_patch',
  input: ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n'),
  status: 'completed',
})

const linesOf = (text: string): string[] => text.replace(/\n$/, '').split('\n')
const marked = (mark: string, text: string): string[] => linesOf(text).map((line) => mark + line)

/** Patches consist of whole lines, so the text to find is extended to full lines. A text that is not found is sent unchanged, and the patch then fails. */
const editPatch = (answer: Extract<FilledTurn, { kind: 'edit' }>, fileText: string | undefined): Call => {
  const text = fileText ?? ''
  const at = text.indexOf(answer.find)
  const start = at === -1 ? 0 : text.lastIndexOf('\n', at) + 1
  const lineEnd = text.indexOf('\n', at + answer.find.length - (answer.find.endsWith('\n') ? 1 : 0))
  const old = at === -1 ? answer.find : text.slice(start, lineEnd === -1 ? undefined : lineEnd + 1)
  const changed = old.replace(answer.find, () => answer.replace)
  const added = changed === '' ? [] : marked('+', changed)
  return patch([`*** Update File: ${answer.path}`, '@@', ...marked('-', old), ...added])
}

const callOf = (answer: FilledTurn, { fileText, body }: Pick<ReplyContext, 'fileText' | 'body'>): Call => {
  switch (answer.kind) {
    case 'tool': {
      // Codex names a tool of a server only after a search for it, and runs it without one.
      const { name, group = `mcp__${answer.server}` } = toolEndingWith(answer.name, body)
      return functionCall(name, answer.input, group)
    }
    case 'text':
      return message(answer.text)
    case 'read':
      return functionCall('exec_command', { cmd: `cat -- '${answer.path.replaceAll("'", `'\\''`)}'`, login: false })
    case 'shell':
      // A login shell would read /etc/profile, which may replace the PATH of the test.
      return functionCall('exec_command', { cmd: answer.command, login: false, yield_time_ms: 30_000 })
    case 'write':
      return patch([`*** Add File: ${answer.path}`, ...marked('+', answer.content)])
    case 'edit':
      return editPatch(answer, fileText(answer.path))
  }
}

const deltas = (call: Call): WireEvent[] => {
  const [type, text] =
    call.type === 'message'
      ? ['response.output_text.delta', call.content[0]?.text ?? '']
      : call.type === 'function_call'
        ? ['response.function_call_arguments.delta', call.arguments]
        : ['response.custom_tool_call_input.delta', call.input]
  return halves(text).map((delta) => ({ type, item_id: call.id, output_index: 0, content_index: 0, delta }))
}

const opened = (call: Call): Call => {
  if (call.type === 'message') return { ...call, content: [] }
  return call.type === 'function_call' ? { ...call, arguments: '' } : { ...call, input: '' }
}

const reply = (call: Call, { model, usage }: Pick<ReplyContext, 'model' | 'usage'>): WireReply => {
  const response = { id: `resp_${randomUUID()}`, object: 'response', model, output: [] }
  const item = call.type === 'message' && call.content[0]?.text === '' ? [] : [call]
  const total = {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
  const list: WireEvent[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    ...item.flatMap((one) => [
      { type: 'response.output_item.added', output_index: 0, item: opened(one) },
      ...deltas(one),
      { type: 'response.output_item.done', output_index: 0, item: one },
    ]),
    { type: 'response.completed', response: { ...response, status: 'completed', output: item, usage: total } },
  ]
  return eventStreamReply(list.map((event, index) => ({ ...event, sequence_number: index })))
}

const errorTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'invalid_api_key',
  404: 'model_not_found',
  429: 'rate_limit_exceeded',
  503: 'server_is_overloaded',
}

export const openaiProtocol: Protocol = {
  name: 'openai',
  route: (method, path) => (method === 'POST' && /^(\/v1)?\/responses$/.test(path) ? 'model' : undefined),
  read,
  turnReply: (answer, context) => reply(callOf(answer, context), context),
  error: ({ status, type, message: text }) => {
    const name = type ?? errorTypes[status] ?? 'server_error'
    return jsonReply(status, { error: { message: text, type: name, code: name, param: null } })
  },
  limit: (reset) =>
    jsonReply(429, {
      error: {
        type: 'usage_limit_reached',
        message: 'The usage limit has been reached',
        plan_type: 'plus',
        ...(reset === undefined ? {} : { resets_at: reset.resetAt, resets_in_seconds: reset.resetInSeconds }),
      },
    }),
  // Sent inside the stream, because Codex does not recognise the HTTP status alone.
  overflow: () =>
    eventStreamReply([
      {
        type: 'response.failed',
        sequence_number: 0,
        response: {
          id: `resp_${randomUUID()}`,
          status: 'failed',
          error: { code: 'context_length_exceeded', message: 'The input is longer than the context window.' },
        },
      },
    ]),
}
