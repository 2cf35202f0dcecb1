/** What each recorded transcript of OpenCode must be read as; see `expected.ts`. */
import type { Expected, ExpectedError } from './expected.ts'
import { event, exit, row, stderr } from './expected.ts'

// A tool call and an answer; the request for a title is not counted by the CLI.
const done = (session: string, more: Partial<Expected> = {}): Expected =>
  row({ session: `ses_${session}`, tokens: [2400, 84], cost: 0, toolCalls: 1, final: 'stop', ...more })
const answered = { tokens: [1200, 42], toolCalls: 0 } satisfies Partial<Expected>
const failed = (session: string, error: ExpectedError, more: Partial<Expected> = {}): Expected =>
  row({ session: `ses_${session}`, error, ...more })
const unstarted = (error: ExpectedError, more: Partial<Expected> = {}): Expected =>
  row({ session: null, error, ...more })

/** The turn ends there, with exit code 0 and without a final event: a refusal, no death. */
const rejected = (session: string, denial: Expected['denials'][number]): Expected =>
  done(session, { tokens: [1200, 42], final: null, denials: [denial] })

const badKey = event('authentication_failed', 'Incorrect API key provided: sk-bad.', {
  code: 'invalid_api_key',
  httpStatus: 401,
})
const noModel = event('model_not_found', 'The model `no-such-model` does not exist', {
  code: 'model_not_found',
  httpStatus: 404,
})
const unreachable = (text: string): ExpectedError => event('network', text, { code: 'APIError' })
const killed = (signal: string): ExpectedError => exit('signal', `opencode died of ${signal}`)

export const opencodeExpected: Record<string, Expected> = {
  'approval-ask-bash': rejected('e0002b7c', ['tool', 'bash', 'npm --version > v.txt; ls']),
  'approval-ask-bash.recovered-auto': done('e0002a1f'),
  'approval-deny-bash': done('e00026f5', { denials: [['tool', 'bash']] }),
  'auth-401': failed('e00093e0', badKey),
  'bad-config-json': unstarted(stderr('bad_config', 'Error: Config file at OPENCODE_CONFIG_CONTENT is not valid JSON')),
  'bad-flag': unstarted(stderr('bad_flag', 'opencode run [message..]')),
  'bad-model-flag': failed('e0001fcf', {
    source: 'event',
    code: 'UnknownError',
    text: 'Unexpected server error. Check server logs for details.',
  }),
  'bad-model-flag-print-logs': failed(
    'dffe1a4b',
    event('model_not_found', 'ProviderModelNotFoundError: Model not found: stub/nope.', { code: 'UnknownError' }),
  ),
  'bad-resume-id': unstarted(stderr('session_not_found', 'Error: Session not found')),
  'context-400': failed(
    'e0008b53',
    event('prompt_too_long', 'Your input exceeds the context window', { code: 'context_length_exceeded' }),
    { retry: 'prompt_too_long' },
  ),
  // Error and compaction in turns, without end. The middle was left out when it was recorded.
  'context-midway-persistent': failed('dffed348', killed('SIGTERM'), {
    tokens: [12_000, 420],
    cost: 0,
    toolCalls: 3,
    final: 'stop',
    foreignLines: 1,
  }),
  'cut-mid-stream': failed('dfffc38e', unreachable('Connection reset by server'), { retry: 'network' }),
  'cut-mid-stream-then-ok': done('e0006540', answered),
  'empty-answer': done('dfff8d96', answered),
  'fs-perm-home-ro': unstarted(stderr('filesystem', "EACCES: permission denied, mkdir '/home/user/.local'")),
  'fs-perm-read-file': done('dffffb2d', { denials: [['filesystem', 'read', '/repo/secret.txt']] }),
  // The command's own output, not the CLI's word.
  'fs-perm-shell': done('dffff98c'),
  'fs-perm-write-dir': done('dffffe7e', { denials: [['filesystem', 'write', '/repo/locked/new.txt']] }),
  'fs-perm-write-dir.recovered-chmod-uw': done('dffffcd4'),
  'hang-after-headers-chunkTimeout': failed('dffe2edb', event('timeout', 'SSE read timed out', { code: 'APIError' })),
  happy: done('e00264cb'),
  'huge-output': done('dffd8853'),
  // Exit code 0, and still no success.
  'length-stop': failed(
    'dfff8a94',
    event('max_output_tokens', 'the response reached its maximum length', { code: 'length' }),
    { tokens: [1200, 42], cost: 0, final: 'length' },
  ),
  // The middle of this transcript was left out when it was recorded.
  'loop-50': done('dffe919f', { tokens: [18_000, 630], toolCalls: 14, foreignLines: 1 }),
  'malformed-tool-json': done('dffe94ef'),
  'model-404': failed('e0008dc4', noModel),
  'model-404-switch': failed('dffceb7f', noModel),
  'model-404-switch.recovered': done('dffceb7f'),
  'no-key': failed('e0002235', badKey),
  // Asked for again for ever; each time counts as a retry.
  'non-json-response': failed('dffe0384', event('server_error', 'the response was empty or could not be'), {
    cost: 0,
    foreignLines: 1,
    retry: 'server_error',
  }),
  'not-git': done('e00023bb'),
  overloaded: failed(
    'dfffeab6',
    event('overloaded', 'The server is overloaded or not ready yet.', {
      code: 'server_is_overloaded',
      httpStatus: 503,
    }),
  ),
  'overloaded-then-ok': done('e0006f8e', answered),
  'rate-limit': failed(
    'dfffee66',
    event('rate_limit', 'Rate limit reached for gpt-5', {
      code: 'rate_limit_exceeded',
      httpStatus: 429,
      resetAt: '2026-11-21T21:26:56.163Z',
    }),
  ),
  // It slept for the hour that it was told, without a word.
  'rate-limit-long': unstarted(killed('SIGTERM')),
  'rate-limit-then-ok': done('e0007297', answered),
  'refusal-stop': failed(
    'dfff8764',
    event('refusal', "The response was blocked by the provider's content filter", { code: 'ContentFilterError' }),
    { tokens: [1200, 42], cost: 0 },
  ),
  refused: failed('dfffa038', unreachable('Cannot connect to API: Unable to connect.')),
  'resume-after-scope': rejected('e0007e61', ['scope', 'write', '/outside/r4.txt']),
  'resume-after-scope.recovered': done('e0007e61'),
  'resume-other-cwd-again': unstarted(killed('SIGTERM')),
  'resume-other-cwd-again.recovered-dir': done('e0001480', answered),
  'scope-read': rejected('e0021811', ['scope', 'read', '/outside/secret.txt']),
  'scope-shell-write': done('e0021574'),
  'scope-write': rejected('e00229b5', ['scope', 'write', '/outside/ow.txt']),
  'scope-write-deny': done('e0021041', { denials: [['scope', 'write', '/outside/ow4.txt']] }),
  'scope-write.recovered': done('e00224c9'),
  'shell-nonzero': done('dffe066c'),
  'sigint-during-tool': failed('dffeac12', killed('SIGINT')),
  'sigterm-during-tool': failed('dffeb014', killed('SIGTERM')),
  'stdin-pipe-open': unstarted(killed('SIGTERM')),
  'text-format': unstarted(exit('no_result', 'opencode exited with 0 without its final event'), { foreignLines: 1 }),
  // A tool that nobody has was not refused.
  'unknown-tool': done('e000254c'),
  'usage-limit': failed(
    'e00062f4',
    event('usage_limit', 'The usage limit has been reached', {
      code: 'usage_limit_reached',
      httpStatus: 429,
      resetAt: '2026-11-21T23:19:57.000Z',
    }),
  ),
}
