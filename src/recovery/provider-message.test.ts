/** What agents print whose driver is `command`, as they print it, and what only looks like it. */
import { describe, expect, it } from 'vitest'
import { limitOf } from './limit.ts'

const said = { at: new Date('2026-11-21T21:13:40Z'), timeZone: 'UTC' }
const limitIn = (text: string) => limitOf({ source: 'stderr', text, messageTime: said })
const seen = (text: string): string | undefined => limitIn(text)?.kind

describe("a program's own last words", () => {
  it.each<[string, string]>([
    // Claude Code and Codex in their text modes.
    ['overload', 'API Error: Repeated 529 Overloaded errors. The API is at capacity'],
    ['overload', 'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'],
    ['network', 'API Error: Unable to connect to API (ConnectionRefused)'],
    ['auth', 'Invalid API key · Fix external API key'],
    ['auth', 'Not logged in · Please run /login'],
    ['quota', "You've hit your limit · resets 11:13pm (UTC)"],
    ['quota', '5-hour limit reached ∙ resets 3pm'],
    ['quota', 'Credit balance is too low'],
    ['context', 'Prompt is too long'],
    ['model', "There's an issue with the selected model (x). It may not exist"],
    ['quota', 'ERROR: You’ve hit your usage limit. Upgrade to Pro or try again at 10:53 PM.'],
    ['rate limit', 'ERROR: exceeded retry limit, last status: 429 Too Many Requests'],
    ['auth', '2026-11-21T21:13:40.123Z ERROR: unexpected status 401 Unauthorized: no key, url: https://x'],
    // The SDKs of Python.
    [
      'rate limit',
      "Traceback (most recent call last):\n  File \"/a/b.py\", line 3, in <module>\n    main()\nopenai.RateLimitError: Error code: 429 - {'error': {'message': 'Slow down', 'code': 'rate_limit_exceeded'}}",
    ],
    [
      'quota',
      "openai.RateLimitError: Error code: 429 - {'error': {'message': 'You exceeded your current quota', 'type': 'insufficient_quota'}}",
    ],
    [
      'overload',
      "anthropic.InternalServerError: Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}",
    ],
    [
      'quota',
      "anthropic.BadRequestError: Error code: 400 - {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': 'Your credit balance is too low to access the API'}}",
    ],
    [
      'context',
      'anthropic.BadRequestError: Error code: 400 - {"error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}}',
    ],
    [
      'model',
      "anthropic.NotFoundError: Error code: 404 - {'type': 'error', 'error': {'type': 'not_found_error', 'message': 'model: claude-9'}}",
    ],
    [
      'auth',
      "openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key provided: sk-x'}}",
    ],
    ['network', 'openai.APIConnectionError: Connection error.'],
    ['network', 'httpx.ConnectError: [Errno -2] Name or service not known'],
    ['rate limit', 'litellm.RateLimitError: AnthropicException - {"type":"error","error":{"type":"rate_limit_error"}}'],
    ['rate limit', 'google.api_core.exceptions.ResourceExhausted: 429 Resource has been exhausted (e.g. check quota).'],
    ['overload', 'google.api_core.exceptions.ServiceUnavailable: 503 The model is overloaded.'],
    // Node, curl, Go and Rust.
    ['network', 'Error: connect ECONNREFUSED 10.0.0.1:443'],
    [
      'network',
      "node:internal/process:394\n      trigger(err)\n      ^\n\nTypeError: fetch failed\n    at node:internal/undici:1:1 {\n  [cause]: Error: getaddrinfo ENOTFOUND api.x.dev\n      at f (node:dns:1:1) {\n    code: 'ENOTFOUND'\n  }\n}\n\nNode.js v24.1.0",
    ],
    [
      'network',
      '[TypeError: fetch failed] {\n  [cause]: Error: bad port\n      at f (node:x:1:1)\n}\n\nNode.js v24.1.0',
    ],
    ['network', 'curl: (6) Could not resolve host: api.x.dev'],
    ['network', 'Error: error sending request for url (https://api.x.dev/v1/messages)'],
    ['network', 'Error: dial tcp: lookup api.x.dev on 127.0.0.53:53: no such host'],
    ['overload', 'Error: Request failed with status code 503'],
    ['rate limit', 'HTTP 429: slow down'],
    ['overload', '503 Service Unavailable'],
    // Programs that name themselves, loggers, and sentences that no recording has.
    ['overload', 'goose: provider error: Server overloaded (529), giving up after 3 attempts'],
    ['overload', '[2026-11-21 21:13:40] ERROR agent.llm - 503 Service Unavailable'],
    ['rate limit', 'aider: litellm.exceptions.RateLimitError: litellm.RateLimitError: VertexAIException - no'],
    ['rate limit', 'botocore.errorfactory.ThrottlingException: An error occurred when calling InvokeModel'],
    ['quota', 'Your monthly included requests are used up. Resets on Dec 1.'],
    ['quota', 'You have 0 credits left. Add credits to continue.'],
    ['model', 'ollama: model "qwen9" not found, try pulling it first'],
    ['network', 'error: failed to reach model endpoint: connection reset by peer'],
    ['network', 'panic: Post "https://api.x/v1": dial tcp 1.2.3.4:443: i/o timeout'],
    // Bodies.
    ['quota', '{"error":{"code":"usage_limit_reached","message":"no more","resets_at":1795303197}}'],
    ['overload', 'Error: 529\n{\n  "type": "error",\n  "error": {\n    "type": "overloaded_error"\n  }\n}'],
    ['auth', '{"type":"result","is_error":true,"api_error_status":401,"result":"Invalid API key"}'],
    ['quota', '\u{1b}[31mError: The usage limit has been reached\u{1b}[39m'],
    ['quota', 'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.'],
  ])('%s: %s', (kind, text) => expect(seen(text)).toBe(kind))

  it('say when it ends, in their line or in the others', () => {
    const at = (text: string): string | undefined => limitIn(text)?.reset?.resetAt.toISOString()
    expect(at('starting\nusage limit reached, resets at 10:00 UTC')).toBe('2026-11-22T10:01:00.000Z')
    expect(at('Error: 429 Too Many Requests\nRetry-After: 120')).toBe('2026-11-21T21:15:40.000Z')
    expect(at('{"error":{"code":"usage_limit_reached","resets_at":1795303197}}')).toBe('2026-11-21T23:19:57.000Z')
    expect(
      at('{\n  "error": {\n    "type": "usage_limit_reached",\n    "resets_at": "2026-11-21T23:19:57Z"\n  }\n}'),
    ).toBe('2026-11-21T23:19:57.000Z')
    // The time of another thing, long before.
    expect(at(['resets at 10:00', 1, 2, 3, 4, 5, 'rate limit exceeded'].join('\n'))).toBeUndefined()
  })
})

describe('are not', () => {
  it.each([
    'the test expects: rate limit exceeded',
    '> rate limit exceeded',
    '"Overloaded"',
    '`529 Overloaded`',
    '    Error: connect ECONNREFUSED 127.0.0.1:5432',
    '  "type": "overloaded_error"',
    '✗ returns 429 Too Many Requests',
    '× 503 Service Unavailable is retried',
    'not ok 3 - 529 Overloaded is retried',
    'FAIL src/limit.test.ts > rate limit exceeded',
    'src/limit.ts:12: rate limit exceeded',
    '12: You exceeded your current quota',
    '+ Error: connect ECONNREFUSED 10.0.0.1:443',
    '- usage limit reached',
    'AssertionError: 503 Service Unavailable',
    'AssertionError [ERR_ASSERTION]: rate limit exceeded',
    'expected: 429 Too Many Requests',
    'Expected 200, received 429 Too Many Requests',
    '429 tests passed',
    'got: 429 Too Many Requests',
    'FAILED test_retry.py::test_529_overloaded - assert 200 == 529',
    'E   requests.exceptions.ConnectionError: mocked connection refused',
    'The rate limit middleware now returns 429 Too Many Requests.',
    '503 files changed',
    '401 passing (3s)',
    'a.ts(429,12): error TS2322: rate limit',
    'Time limit exceeded',
    'Memory limit exceeded',
    'RecursionError: maximum recursion depth exceeded',
    'Error: retry limit reached',
    'EDQUOT: disk quota exceeded',
    'Error: Cannot find module ./rate-limit',
    'Rate limiter: 3 tests failed',
    'Model is not defined',
    'error: the prompt is empty',
    'You have reached the end of the file',
    'Error: the server test failed',
    "const error = { code: 'insufficient_quota' }",
    'assert response.status == 503',
    'npm error code ECONNRESETTER',
  ])('%s', (text) => expect(seen(text)).toBeUndefined())

  it('lines long before the end', () => {
    expect(seen(['Error: 529 Overloaded', 1, 2, 3, 4, 5].join('\n'))).toBeUndefined()
    expect(seen(['Error: 529 Overloaded', 1, 2, 3, 4].join('\n'))).toBe('overload')
  })
})
