/** What each recorded transcript of Gemini CLI must be read as; see `expected.ts`. */
import type { FaultType } from '../../src/harness/driver.ts'
import type { Expected, ExpectedError } from './expected.ts'
import { event, exit, row, stderr } from './expected.ts'

// A routing request, a tool call and an answer; with a model named the routing falls away.
const done = (session: string, more: Partial<Expected> = {}): Expected =>
  row({ session, tokens: [3600, 126], toolCalls: 1, final: 'success', ...more })
const answered = { tokens: [2400, 84], toolCalls: 0 } satisfies Partial<Expected>
/** A session whose first request failed cannot be resumed: none is reported. */
const failed = (session: string | null, error: ExpectedError, more: Partial<Expected> = {}): Expected =>
  row({ session, final: 'error', error, ...more })
const unstarted = (error: ExpectedError, more: Partial<Expected> = {}): Expected =>
  row({ session: null, error, ...more })

const badKey = event('authentication_failed', 'API key not valid. Please pass a valid API key.', {
  code: 'API_KEY_INVALID',
  httpStatus: 400,
})
const noModel = event('model_not_found', 'models/no-such-model is not found for API version v1beta', {
  httpStatus: 404,
})
const unreachable = (retry: FaultType): Partial<Expected> => ({ retry })
const noFetch = event('network', 'exception TypeError: fetch failed sending request')
const silentEnd = exit('no_result', 'gemini exited with 0 without its final event')
const killed = exit('signal', 'gemini died of SIGKILL')
const locked: Expected['denials'] = [['filesystem', 'write_file', '/repo/locked/new.txt']]

export const geminiExpected: Record<string, Expected> = {
  'approval-auto_edit-shell': done('b416a202', {
    denials: [['tool', 'run_shell_command', 'npm --version > v.txt; ls']],
  }),
  'approval-default-write': done('374e3a80', { denials: [['tool', 'write_file', '/repo/hello.txt']] }),
  'approval-plan-mode': done('485e03e9', { tokens: [2400, 84], denials: [['tool', 'write_file', '/repo/hello.txt']] }),
  'approval-shell.recovered-allowed-tools': done('783e50ce'),
  'auth-401': failed(null, badKey),
  'auth-then-resume': failed(null, badKey),
  'auth-then-resume.recovered': unstarted(stderr('session_not_found', 'Error resuming session: No previous sessions')),
  'bad-flag': unstarted(stderr('bad_flag', 'Unknown arguments: such-flag, suchFlag')),
  'bad-resume-id': unstarted(stderr('session_not_found', 'Error resuming session: Invalid session identifier')),
  'bad-settings-json': unstarted(stderr('bad_config', 'Error in /home/user/.gemini/settings.json: Expected')),
  'context-400': failed(
    null,
    event('prompt_too_long', 'The input token count (1200000) exceeds the maximum number of tokens', {
      code: 'INVALID_ARGUMENT',
      httpStatus: 400,
    }),
  ),
  'cut-mid-stream': failed('712dbc31', event('network', 'terminated'), { tokens: [1200, 42] }),
  // Exit code 0, and still no success.
  'empty-answer': failed(
    null,
    event('server_error', 'The model returned an empty response', { code: 'empty_response' }),
    { tokens: [6000, 210] },
  ),
  'fs-perm-dir-000': done('a9691c0a', { denials: locked }),
  'fs-perm-dir-000.chmod-x-only': done('76631353', { denials: locked }),
  'fs-perm-read-file': done('72578e64', { denials: [['filesystem', 'read_file', '/repo/secret.txt']] }),
  // The command's own output, not the CLI's word.
  'fs-perm-shell': done('23574a23'),
  'fs-perm-write-dir': done('7feb4086', { denials: locked }),
  'fs-perm-write-dir.recovered-chmod-uw': done('a34a2412'),
  'gateway-auth-invalid': unstarted(stderr('authentication_failed', 'Invalid auth method selected.')),
  'hang-before-headers': failed(null, noFetch, { tokens: [1200, 42], ...unreachable('network') }),
  happy: done('82425f2a'),
  // Cut in the middle of a line of 17 MB, exit code 0.
  'huge-output': row({ session: 'bae89eaf', toolCalls: 1, foreignLines: 1, error: silentEnd }),
  'json-format': unstarted(silentEnd, { foreignLines: 85 }),
  'json-format-429': unstarted({ source: 'exit', type: 'rate_limit', httpStatus: 429, text: '' }),
  'loop-50': done('559d96d0', { tokens: [6000, 210], toolCalls: 4 }),
  'malformed-tool-json': done('40761025'),
  'max-turns': failed(
    '21bf6604',
    event('max_turns', 'Reached max session turns for this session.', { code: 'FatalTurnLimitedError' }),
    { tokens: [3600, 126], toolCalls: 2 },
  ),
  'model-404': failed(null, noModel),
  'model-404-switch': failed(null, noModel),
  'model-404-switch.recovered': done('c3d6ac14', { tokens: [2400, 84] }),
  'no-auth-config': unstarted(stderr('authentication_failed', 'Please set an Auth method in your ')),
  'no-key': unstarted(stderr('authentication_failed', 'When using Gemini API, you must specify the GEMINI_API_KEY')),
  overloaded: failed(
    null,
    event('overloaded', 'The model is overloaded.', { httpStatus: 503 }),
    unreachable('overloaded'),
  ),
  'overloaded-then-ok': done('85568b5b', { ...answered, ...unreachable('overloaded') }),
  'rate-limit-long': failed(
    null,
    event('rate_limit', 'Quota exceeded. Please retry in 3600s.', {
      httpStatus: 429,
      resetAt: '2026-11-21T22:15:08.851Z',
    }),
  ),
  'rate-limit-then-ok': done('8381e966', { ...answered, ...unreachable('rate_limit') }),
  refused: failed(null, noFetch, unreachable('network')),
  'resume-after-scope': done('0b20ab0e', { denials: [['scope', 'write_file', '/outside/r3.txt']] }),
  'resume-after-scope.recovered': done('0b20ab0e'),
  'scope-missing-dir': unstarted(
    stderr('directory_missing', 'An unexpected critical error occurred:Error: Directory does not exist: '),
  ),
  'scope-read': done('0ac7574d', { denials: [['scope', 'read_file', '/outside/secret.txt']] }),
  'scope-shell-write': done('5e5acbf0'),
  'scope-write': done('2fc32aba', { denials: [['scope', 'write_file', '/outside/gw.txt']] }),
  'scope-write.recovered': done('d33c80b0'),
  'session-id-reuse': unstarted(stderr('session_busy', 'Error starting session: Session ID "33333333-')),
  'shell-nonzero': done('ca9498b3'),
  'sigkill-during-tool': row({ session: '3b46b332', toolCalls: 1, error: killed }),
  'sigterm-during-request': row({ session: null, error: killed }),
  // It went on as if nothing had been said.
  'sigterm-during-tool': done('19129cfc'),
  'sigterm-group-during-tool': row({ session: '11501fb1', toolCalls: 1, error: silentEnd }),
  'sigterm-norelaunch': row({ session: '66f4da59', toolCalls: 1, error: silentEnd }),
  'text-format-429': unstarted({ source: 'stderr', type: 'no_result', text: '' }),
  // A tool that nobody has was not refused.
  'unknown-tool': done('8d1f80cf'),
  untrusted: unstarted(stderr('git_trust', 'Gemini CLI is not running in a trusted directory.')),
  'untrusted.recovered-env': done('f4fb756b'),
  'untrusted.recovered-skip-trust': done('3b6e08dd'),
  'usage-limit': failed(
    null,
    event('usage_limit', 'You have exhausted your daily quota on this model.', { httpStatus: 429 }),
  ),
}
