/**
 * The Gemini API as Gemini CLI uses it: POST /v1beta/models/<model>:streamGenerateContent, streamed. Requests without a
 * stream (which model to use, whether the model repeats itself) consume no step. A turn counts as finished if it is a text,
 * or if the request contains its tool result.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { ModelRequest, ReplyContext, Protocol, WireReply, FilledTurn } from './protocol.ts'
import { halves, jsonReply, toolEndingWith } from './protocol.ts'

const partSchema = z.looseObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  functionCall: z.looseObject({}).optional(),
  functionResponse: z.looseObject({ response: z.looseObject({}).optional() }).optional(),
})
const contentSchema = z.looseObject({ role: z.string().default('user'), parts: z.array(partSchema).default([]) })
const bodySchema = z.looseObject({
  contents: z.array(contentSchema),
  systemInstruction: contentSchema.optional(),
  tools: z.array(z.looseObject({})).default([]),
})
type Content = z.output<typeof contentSchema>

const textOf = (content: Content | undefined): string =>
  (content?.parts ?? [])
    .filter(({ thought }) => thought !== true)
    .map(({ text }) => text ?? '')
    .join('\n')

type Answered = NonNullable<z.output<typeof partSchema>['functionResponse']>

const responsesOf = (content: Content): Answered[] =>
  content.parts.map(({ functionResponse }) => functionResponse).filter((answered) => answered !== undefined)

const isFinishedTurn = (content: Content): boolean => {
  if (content.role !== 'model') return responsesOf(content).length > 0
  return textOf(content).trim() !== '' && content.parts.every(({ functionCall }) => functionCall === undefined)
}

const paths = /^\/v1(?:beta|alpha)?\/models\/([^/:]+):(streamGenerateContent|generateContent|countTokens)$/

const noUsage = { inputTokens: 10, outputTokens: 5 }
const place =
  /(?:Workspace Directories:\*\*\s*\n\s*- |working in the (?:directory|following directories):\s*(?:- )?)(\/.*)/i

const read: Protocol['read'] = (value, _headers, path) => {
  const body = bodySchema.parse(value)
  const [, model = '', method] = paths.exec(path) ?? []
  const first = body.contents.findIndex(({ role }) => role === 'model')
  const before = first === -1 ? body.contents : body.contents.slice(0, first)
  const opening = before.map(textOf).join('\n')
  const last = body.contents.flatMap(responsesOf).at(-1)
  const isSide = method !== 'streamGenerateContent' || body.tools.length === 0
  return {
    model,
    session: undefined,
    opening,
    turns: body.contents.filter(isFinishedTurn).length,
    cwd: place.exec(`${textOf(body.systemInstruction)}\n${opening}`)?.[1]?.trim(),
    lastResult: last === undefined ? undefined : JSON.stringify(last.response),
    aside: isSide
      ? jsonReply(
          200,
          chunk([{ text: '{"complexity_score":1,"reasoning":"scripted"}' }], 'STOP', { model, usage: noUsage }),
        )
      : undefined,
  } satisfies ModelRequest
}

type Part = { text: string } | { functionCall: { name: string; args: Record<string, unknown> } }

const call = (name: string, args: Record<string, unknown>): Part[] => [{ functionCall: { name, args } }]

const partsOf = (answer: FilledTurn, body: unknown): Part[] => {
  switch (answer.kind) {
    case 'tool':
      return call(toolEndingWith(answer.name, body).name, answer.input)
    case 'text':
      return halves(answer.text).map((text) => ({ text }))
    case 'read':
      return call('read_file', { file_path: answer.path })
    case 'shell':
      return call('run_shell_command', { command: answer.command, description: 'Scripted command' })
    case 'write':
      return call('write_file', { file_path: answer.path, content: answer.content })
    case 'edit':
      return call('replace', {
        ...{ file_path: answer.path, instruction: 'Scripted change' },
        ...{ old_string: answer.find, new_string: answer.replace },
      })
  }
}

const chunk = (
  parts: Part[],
  finishReason: string | undefined,
  { model, usage }: Pick<ReplyContext, 'model' | 'usage'>,
) => ({
  candidates: [
    { content: { role: 'model', parts }, index: 0, ...(finishReason === undefined ? {} : { finishReason }) },
  ],
  usageMetadata: {
    promptTokenCount: usage.inputTokens,
    candidatesTokenCount: usage.outputTokens,
    totalTokenCount: usage.inputTokens + usage.outputTokens,
  },
  modelVersion: model,
  responseId: randomUUID(),
})

const answer: Protocol['turnReply'] = (settled, context): WireReply => {
  const parts = partsOf(settled, context.body).filter((part) => !('text' in part) || part.text !== '')
  const chunks = parts.length === 0 ? [[]] : parts.map((part) => [part])
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
    parts: chunks.map((part, at) => {
      const end = at === chunks.length - 1 ? 'STOP' : undefined
      return `data: ${JSON.stringify(chunk(part, end, context))}\n\n`
    }),
  }
}

const statuses: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}

export const geminiProtocol: Protocol = {
  name: 'gemini',
  route: (method, path) => {
    const [, , asked] = (method === 'POST' && paths.exec(path)) || []
    if (asked === 'countTokens') return jsonReply(200, { totalTokens: 1000 })
    return asked === undefined ? undefined : 'model'
  },
  read,
  turnReply: answer,
  error: ({ status, type, message }) =>
    jsonReply(status, { error: { code: status, message, status: type ?? statuses[status] ?? 'INTERNAL' } }),
  limit: (reset) =>
    jsonReply(429, {
      error: {
        code: 429,
        status: 'RESOURCE_EXHAUSTED',
        message: 'The quota of this model is used up.',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
            violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel' }],
          },
          ...(reset === undefined
            ? []
            : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${reset.resetInSeconds}s` }]),
        ],
      },
    }),
  overflow: () =>
    jsonReply(400, {
      error: {
        code: 400,
        status: 'INVALID_ARGUMENT',
        message: 'The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).',
      },
    }),
}
