import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { simulate } from './simulate.ts'
import type { ScriptInput } from './script.ts'
import { parseScript } from './script.ts'
import type { Sim } from './server.ts'
import { startSim } from './server.ts'

type Steps = ScriptInput['conversations'][number]['steps']
interface WireEvent {
  type: string
  [field: string]: any
}

let folder: string
let sim: Sim | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sim-server-'))
})
afterEach(async () => {
  await sim?.close()
  sim = undefined
  rmSync(folder, { recursive: true })
})

const start = async (...steps: Steps): Promise<Sim> => {
  sim = await startSim({ script: parseScript({ conversations: [{ name: 'job', match: 'MARK', steps }] }, 'test') })
  return sim
}

const post = (path: string, body: unknown, options: { signal?: AbortSignal } = {}): Promise<Response> =>
  fetch(`${sim!.url}${path}`, { method: 'POST', body: JSON.stringify(body), ...options })

const eventsOf = async (response: Response): Promise<WireEvent[]> =>
  [...(await response.text()).matchAll(/^event: (.+)\ndata: (.+)$/gm)].map(([, name, data]) => {
    const event = JSON.parse(data!) as WireEvent
    expect(event.type).toBe(name)
    return event
  })

const claude = (messages: unknown[], more: object = {}): object => ({
  model: 'm',
  stream: true,
  system: [{ type: 'text', text: ` - Primary working directory: ${folder}` }],
  tools: [{ name: 'Bash' }],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'do MARK' }] }, ...messages],
  ...more,
})
const geminiAsked = {
  contents: [{ role: 'user', parts: [{ text: 'do MARK' }] }],
  tools: [{ functionDeclarations: [] }],
}
const chatAsked = { model: 'm', tools: [{ type: 'function' }], messages: [{ role: 'user', content: 'do MARK' }] }
const used = (id: string, result: string, error = false): unknown[] => [
  { role: 'assistant', content: [{ type: 'tool_use', id, name: 'Bash', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: result, is_error: error }] },
]

const codex = (items: unknown[], more: object = {}): object => ({
  model: 'gpt-5.5',
  stream: true,
  tools: [{ type: 'function', name: 'exec_command' }],
  input: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: `<cwd>${folder}</cwd>` }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'do MARK' }] },
    ...items,
  ],
  ...more,
})
const called = (id: string, output: string): unknown[] => [
  { type: 'function_call', call_id: id, name: 'exec_command', arguments: '{}' },
  { type: 'function_call_output', call_id: id, output },
]

const inputOf = (events: WireEvent[], index = 0): unknown =>
  JSON.parse(
    events
      .filter((event) => event.type === 'content_block_delta' && event.index === index)
      .map((event) => event.delta.partial_json)
      .join(''),
  )
const itemOf = (events: WireEvent[]): WireEvent => events.find(({ type }) => type === 'response.output_item.done')!.item

test('a Messages answer streams its blocks in the order the protocol asks for', async () => {
  await start({ write: { path: 'a.txt', content: 'hi\n' } })
  const response = await post('/v1/messages?beta=true', claude([]))
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const events = await eventsOf(response)
  expect(events.map(({ type }) => type)).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  expect(events[1]!.content_block).toMatchObject({ type: 'tool_use', name: 'Write', input: {} })
  expect(inputOf(events)).toEqual({ file_path: join(folder, 'a.txt'), content: 'hi\n' })
  expect(events[5]!.delta.stop_reason).toBe('tool_use')
})

test('a Responses answer streams its item between created and completed', async () => {
  await start({ write: { path: 'a.txt', content: 'hi\n\nyou\n' } })
  const events = await eventsOf(await post('/v1/responses', codex([])))
  expect(events.at(0)?.type).toBe('response.created')
  expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { usage: { total_tokens: 1050 } } })
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
  expect(itemOf(events)).toMatchObject({
    name: 'apply_patch',
    input: `*** Begin Patch\n*** Add File: ${join(folder, 'a.txt')}\n+hi\n+\n+you\n*** End Patch\n`,
  })
})

test('Claude reads an existing file in the same turn, and that read consumes no step', async () => {
  await start({ edit: { path: 'a.txt', find: 'one', replace: 'two' } }, { text: 'end' })
  writeFileSync(join(folder, 'a.txt'), 'one\n')
  const events = await eventsOf(await post('/v1/messages', claude([])))
  const starts = events.filter(({ type }) => type === 'content_block_start').map((event) => event.content_block)
  expect(starts.map(({ name }) => name)).toEqual(['Read', 'Edit'])
  expect(inputOf(events, 1)).toEqual({ file_path: join(folder, 'a.txt'), old_string: 'one', new_string: 'two' })
  await (await post('/v1/messages', claude(used(starts[0].id, 'one')))).text()
  await (await post('/v1/messages', claude([...used(starts[0].id, 'one'), ...used(starts[1].id, 'ok')]))).text()
  expect(sim!.requests().map(({ step }) => step)).toEqual([0, 0, 1])
})

test('an edit for Codex is extended to whole lines', async () => {
  await start({ edit: { path: 'a.txt', find: 'o tw', replace: '$&\n' } })
  writeFileSync(join(folder, 'a.txt'), 'one\ntwo two\nthree\n')
  const item = itemOf(await eventsOf(await post('/responses', codex([]))))
  expect(item.input).toBe(
    `*** Begin Patch\n*** Update File: ${join(folder, 'a.txt')}\n@@\n-two two\n+tw$&\n+o\n*** End Patch\n`,
  )
})

test.each([
  [
    'Claude',
    '/v1/messages',
    () => claude([...used('t1', 'x'), ...used('t2', 'denied', true)]),
    () => claude(used('t1', 'x')),
  ],
  ['Codex', '/responses', () => codex([...called('c1', 'x'), ...called('c2', 'y')]), () => codex(called('c1', 'x'))],
])(
  'a %s session continues at the step that its history implies, even on a fresh server',
  async (_, path, later, earlier) => {
    await start({ shell: 'a' }, { shell: 'b' }, { text: 'c' })
    await (await post(path, later())).text()
    await (await post(path, earlier())).text()
    expect(sim!.requests().map(({ step, kind }) => [step, kind])).toEqual([
      [2, 'text'],
      [1, 'shell'],
    ])
  },
)

test('an interrupted call is sent again', async () => {
  await start({ shell: 'a' }, { text: 'b' })
  await (await post('/responses', codex(called('c1', 'aborted')))).text()
  await (await post('/v1/messages', claude(used('t1', '[Request interrupted by user for tool use]', true)))).text()
  const dropped = { role: 'assistant', content: [{ type: 'text', text: 'No response requested.' }] }
  await (await post('/v1/messages', claude([dropped]))).text()
  expect(sim!.requests().map(({ step }) => step)).toEqual([0, 0, 0])
})

test('a call of a tool that the CLI does not know yet is sent again, and not for ever', async () => {
  await start({ tool: { name: 'report_progress', input: {} } }, { text: 'b' })
  const missing = 'No such tool available: mcp__unstuck__report_progress'
  const calls = (count: number, call: (id: string) => unknown[]): unknown[] =>
    Array.from({ length: count }, (_, index) => call(`c${index}`)).flat()
  const ofClaude = (id: string) => used(id, `<tool_use_error>Error: ${missing}</tool_use_error>`, true)
  const ofCodex = (id: string) => called(id, 'unsupported call: mcp__unstuck__report_progress')
  for (const count of [2, 30, 31]) {
    await (await post('/v1/messages', claude(calls(count, ofClaude)))).text()
    await (await post('/responses', codex(calls(count, ofCodex)))).text()
  }
  await (await post('/v1/messages', claude([...calls(2, ofClaude), ...used('known', 'Recorded')]))).text()
  // A tool that is switched off never comes.
  await (
    await post('/v1/messages', claude(used('off', 'Error: No such tool available: Write. Write exists', true)))
  ).text()
  expect(sim!.requests().map(({ step }) => step)).toEqual([0, 0, 0, 0, 1, 1, 1, 1])
})

test('a Codex command that still runs is polled and counts once when it ends', async () => {
  await start({ shell: 'a' }, { text: 'b' })
  const running = called('c1', 'Wall time: 10 seconds\nProcess running with session ID 42\nOutput:\n')
  const item = itemOf(await eventsOf(await post('/responses', codex(running))))
  expect(item.name).toBe('write_stdin')
  expect(JSON.parse(item.arguments)).toMatchObject({ session_id: 42, chars: '' })
  await (await post('/responses', codex([...running, ...called('c2', 'Process exited with code 0')]))).text()
  expect(sim!.requests().map(({ step, kind }) => [step, kind])).toEqual([
    [undefined, 'aside'],
    [1, 'text'],
  ])
})

test('an error happens as many times as it says, in the format of the protocol', async () => {
  await start(
    { error: { status: 529, times: 2, retryAfterSeconds: 7 } },
    { error: { status: 503, message: 'busy' } },
    { text: 'ok' },
  )
  const first = await post('/v1/messages', claude([]))
  expect([first.status, first.headers.get('retry-after')]).toEqual([529, '7'])
  expect(await first.json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } })
  expect((await post('/v1/messages', claude([]))).status).toBe(529)
  const third = await post('/responses', codex([]))
  expect(third.status).toBe(503)
  expect(await third.json()).toMatchObject({ error: { code: 'server_is_overloaded', message: 'busy' } })
  expect((await post('/v1/messages', claude([]))).status).toBe(200)
})

test('a limit has its reset time, in the format of the protocol', async () => {
  const before = Math.floor(Date.now() / 1000)
  await start({ limit: { resetInSeconds: 3600, times: 4 } }, { limit: true }, { text: 'ok' })
  const anthropic = await post('/v1/messages', claude([]))
  expect([anthropic.status, anthropic.headers.get('retry-after')]).toEqual([429, '3600'])
  const openai = (await (await post('/responses', codex([]))).json()) as { error: { resets_at: number } }
  expect(openai.error).toMatchObject({ type: 'usage_limit_reached', resets_in_seconds: 3600 })
  expect(openai.error.resets_at - before - 3600).toBeOneOf([0, 1, 2, 3, 4, 5])
  const gemini = await post('/v1beta/models/m:streamGenerateContent', geminiAsked)
  expect(await gemini.json()).toMatchObject({
    error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{}, { retryDelay: '3600s' }] },
  })
  const chat = await post('/v1/chat/completions', chatAsked)
  expect([chat.status, chat.headers.get('retry-after')]).toEqual([429, '3600'])
  const without = await post('/v1/messages', claude([]))
  expect([without.status, without.headers.get('retry-after')]).toEqual([429, null])
  expect((await post('/v1/messages', claude([]))).status).toBe(200)
})

test('a conversation that no longer fits is refused as each protocol does', async () => {
  await start({ overflow: { times: 'always' } })
  expect(await (await post('/v1/messages', claude([]))).json()).toMatchObject({
    error: { type: 'invalid_request_error', message: expect.stringContaining('prompt is too long') },
  })
  const [event] = await eventsOf(await post('/responses', codex([])))
  expect(event).toMatchObject({ type: 'response.failed', response: { error: { code: 'context_length_exceeded' } } })
  expect((await post('/v1beta/models/m:streamGenerateContent', geminiAsked)).status).toBe(400)
  expect(await (await post('/v1/chat/completions', chatAsked)).json()).toMatchObject({
    error: { code: 'context_length_exceeded' },
  })
})

test('garbage is an HTML page instead of an answer', async () => {
  await start({ garbage: true }, { text: 'ok' })
  const response = await post('/v1/messages', claude([]))
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html'])
  expect(await response.text()).toContain('<html>')
  expect(await (await post('/v1/messages', claude([]))).text()).toContain('message_stop')
})

test('requests without tools get a harmless text and consume no fault', async () => {
  await start({ error: { status: 503 } })
  const response = await post('/v1/messages', claude([], { tools: [], stream: false }))
  expect(await response.json()).toMatchObject({ type: 'message', content: [{ text: '{"title":"Scripted session"}' }] })
  expect((await post('/responses', codex([], { tools: [] }))).status).toBe(200)
  expect((await post('/v1/messages', claude([]))).status).toBe(503)
})

test('a cut stream ends in the middle, and the next one is complete', async () => {
  await start({ cut: true }, { text: 'a long enough answer' })
  const response = await post('/v1/messages', claude([]))
  const reader = response.body!.getReader()
  let text = ''
  const drain = async (): Promise<void> => {
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += Buffer.from(part.value).toString()
  }
  await expect(drain()).rejects.toThrow()
  expect(text).toContain('message_start')
  expect(text).not.toContain('message_stop')
  expect(await (await post('/v1/messages', claude([]))).text()).toContain('message_stop')
})

test('an empty answer is well formed and has no content', async () => {
  await start({ empty: { times: 2 } }, { text: 'ok' })
  const events = await eventsOf(await post('/v1/messages', claude([])))
  expect(events.map(({ type }) => type)).toEqual(['message_start', 'message_delta', 'message_stop'])
  const others = await eventsOf(await post('/responses', codex([])))
  expect(others.map(({ type }) => type)).toEqual(['response.created', 'response.completed'])
  await (await post('/responses', codex([]))).text()
  expect(sim!.requests().map(({ kind }) => kind)).toEqual(['empty', 'empty', 'text'])
})

test('silence lasts until the client disconnects and does not keep the server open', async () => {
  await start({ silence: true }, { silence: { afterHeaders: true } }, { text: 'ok' })
  await expect(post('/v1/messages', claude([]), { signal: AbortSignal.timeout(200) })).rejects.toThrow(/timeout/)
  const headers = await post('/v1/messages', claude([]))
  expect(headers.status).toBe(200)
  const body = headers.text()
  body.catch(() => {}) // closing the server breaks this request, which the next line tests
  await sim!.close()
  sim = undefined
  await expect(body).rejects.toThrow()
})

test('a lingering answer is complete and ends only when the client disconnects', async () => {
  await start({ linger: true }, { text: 'said' })
  const { body } = await post('/v1/messages', claude([]), { signal: AbortSignal.timeout(1000) })
  let text = ''
  const drain = async (): Promise<void> => {
    for await (const part of body!) text += Buffer.from(part).toString()
  }
  await expect(drain()).rejects.toThrow(/timeout/)
  expect(text).toContain('message_stop')
  expect(await (await post('/v1/messages', claude([]))).text()).toContain('message_stop')
})

test('a prompt that matches no conversation is refused, and quoted', async () => {
  await start({ text: 'a' })
  const response = await post('/v1/messages', claude([], { messages: [{ role: 'user', content: 'paint' }] }))
  expect(response.status).toBe(400)
  expect(JSON.stringify(await response.json())).toContain('The prompt was: paint')
})

test('unknown routes and invalid requests get an error and are logged', async () => {
  await start({ shell: 'ls {cwd}' })
  expect((await fetch(sim!.url, { method: 'HEAD' })).status).toBe(200)
  expect((await post('/v1/messages/count_tokens', {})).status).toBe(200)
  expect((await fetch(`${sim!.url}/v1/models`)).status).toBe(404)
  expect((await post('/v1/messages', { model: 7 })).status).toBe(400)
  expect((await post('/v1/messages', claude([], { system: 'nothing' }))).status).toBe(400)
  expect((await post('/responses', codex([{ type: 'additional_tools' }], { tools: [] }))).status).toBe(400)
  expect(sim!.requests().at(-2)?.problem).toContain('names no working directory')
})

test('simulate serves a script file and returns the pointers to it', async () => {
  const path = join(folder, 'script.json')
  writeFileSync(path, JSON.stringify({ conversations: [{ name: 'a', default: true, steps: [{ text: 'hello' }] }] }))
  const ready: string[] = []
  sim = await simulate({ scriptPath: path, onReady: (pointers) => ready.push(JSON.stringify(pointers)) })
  expect(ready).toHaveLength(1)
  expect(ready[0]).toContain(`"ANTHROPIC_BASE_URL":"${sim.url}"`)
  expect(await (await post('/v1/messages', claude([]))).text()).toContain('hel')
  await expect(simulate({ scriptPath: path, port: sim.port, onReady: () => {} })).rejects.toThrow(/cannot listen/)
})
