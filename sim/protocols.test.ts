/** The protocols of Gemini CLI and OpenCode, with requests as these CLIs send them. */
import { afterEach, describe, expect, test } from 'vitest'
import { pointersTo } from './simulate.ts'
import type { ScriptInput } from './script.ts'
import { parseScript } from './script.ts'
import type { Sim } from './server.ts'
import { startSim } from './server.ts'

type Steps = ScriptInput['conversations'][number]['steps']

let sim: Sim | undefined
afterEach(async () => {
  await sim?.close()
  sim = undefined
})

const start = async (...steps: Steps): Promise<void> => {
  sim = await startSim({ script: parseScript({ conversations: [{ name: 'job', match: 'MARK', steps }] }, 'test') })
}

const post = (path: string, body: unknown): Promise<Response> =>
  fetch(`${sim!.url}${path}`, { method: 'POST', body: JSON.stringify(body) })

const dataOf = async (response: Response): Promise<any[]> =>
  [...(await response.text()).matchAll(/^data: (\{.+)$/gm)].map(([, data]) => JSON.parse(data!) as unknown)

const steps = (): (number | undefined)[] => sim!.requests().map(({ step }) => step)

describe('the Gemini API', () => {
  const path = '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse'
  const place = '- **Workspace Directories:**\n  - /srv/repo\n- **Directory Structure:**'
  const asked = (contents: object[], more: object = {}): object => ({
    contents: [{ role: 'user', parts: [{ text: place }] }, { role: 'user', parts: [{ text: 'do MARK' }] }, ...contents],
    tools: [{ functionDeclarations: [] }],
    ...more,
  })
  const called = (output: string): object[] => [
    { role: 'model', parts: [{ functionCall: { name: 'write_file', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'write_file', response: { output } } }] },
  ]

  test('sends calls of its tools with absolute paths, then text in pieces', async () => {
    await start({ write: { path: 'a.txt', content: 'hi\n' } }, { text: 'done' })
    const [call] = await dataOf(await post(path, asked([])))
    expect(call.candidates[0]).toEqual({
      content: {
        role: 'model',
        parts: [{ functionCall: { name: 'write_file', args: { file_path: '/srv/repo/a.txt', content: 'hi\n' } } }],
      },
      index: 0,
      finishReason: 'STOP',
    })
    const words = await dataOf(await post(path, asked(called('written'))))
    expect(words.map((part) => part.candidates[0].content.parts[0].text)).toEqual(['do', 'ne'])
    expect(words.map((part) => part.candidates[0].finishReason)).toEqual([undefined, 'STOP'])
    expect(words[1].usageMetadata).toEqual({ promptTokenCount: 1000, candidatesTokenCount: 50, totalTokenCount: 1050 })
    expect(sim!.requests()[1]).toMatchObject({
      model: 'gemini-2.5-pro',
      cwd: '/srv/repo',
      lastResult: '{"output":"written"}',
    })
  })

  test('a request without a stream consumes no step', async () => {
    await start({ text: 'a' })
    expect((await post('/v1beta/models/m:generateContent', asked([]))).status).toBe(200)
    expect((await post(path, asked([], { tools: [] }))).status).toBe(200)
    expect((await post('/v1beta/models/m:countTokens', {})).status).toBe(200)
    await dataOf(await post(path, asked([])))
    expect(steps()).toEqual([undefined, undefined, undefined, 0])
  })

  test('an error has its status and name, and an empty answer has no part', async () => {
    await start({ error: { status: 503, message: 'full' } }, { empty: true }, { text: 'a' })
    const refused = await post(path, asked([]))
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { error: { code: 503, message: 'full', status: 'UNAVAILABLE' } },
    ])
    const [empty] = await dataOf(await post(path, asked([])))
    expect(empty.candidates[0].content.parts).toEqual([])
  })
})

describe('chat completions', () => {
  const asked = (messages: object[], more: object = {}): object => ({
    model: 'm1',
    stream: true,
    tools: [{ type: 'function' }],
    messages: [
      { role: 'system', content: '<env>\n  Working directory: /srv/repo\n</env>' },
      { role: 'user', content: 'do MARK' },
      ...messages,
    ],
    ...more,
  })
  const called = (content: string): object[] => [
    { role: 'assistant', content: '', tool_calls: [{ id: 'c1' }] },
    { role: 'tool', tool_call_id: 'c1', content },
  ]

  test('sends a call in pieces, then text, each with its end and its usage', async () => {
    await start({ edit: { path: 'a.txt', find: 'x', replace: 'y' } }, { text: 'done' })
    const call = await dataOf(await post('/v1/chat/completions', asked([])))
    const pieces = call.flatMap((part) => part.choices[0]?.delta.tool_calls ?? [])
    expect(pieces[0]).toMatchObject({ index: 0, type: 'function', function: { name: 'edit' } })
    expect(JSON.parse(pieces.map((piece: any) => piece.function.arguments).join(''))).toEqual({
      filePath: '/srv/repo/a.txt',
      oldString: 'x',
      newString: 'y',
    })
    expect(call.at(-2).choices[0].finish_reason).toBe('tool_calls')
    expect(call.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 1050 } })
    const words = await dataOf(await post('/chat/completions', asked(called('ok'))))
    expect(words.map((part) => part.choices[0]?.delta.content ?? '').join('')).toBe('done')
    expect(steps()).toEqual([0, 1])
  })

  test('a title consumes no step, and an error has its code', async () => {
    await start({ error: { status: 401 } }, { text: 'a' })
    await dataOf(await post('/chat/completions', asked([], { tools: undefined })))
    const refused = await post('/chat/completions', asked([]))
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: { code: 'invalid_api_key' } }])
    expect(steps()).toEqual([undefined, 0])
  })
})

test('the pointers name the server for every CLI', () => {
  const pointers = pointersTo('http://127.0.0.1:1')
  expect(pointers.gemini.env['GOOGLE_GEMINI_BASE_URL']).toBe('http://127.0.0.1:1')
  const config = JSON.parse(pointers.opencode.env['OPENCODE_CONFIG_CONTENT'] ?? '') as { provider: object }
  expect(config.provider).toMatchObject({ sim: { options: { baseURL: 'http://127.0.0.1:1/v1' } } })
})
