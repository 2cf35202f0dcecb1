/**
 * What each recorded transcript must be read as. Written from the facts about the CLIs, not from what the code says:
 * when a row and the code differ, look at the transcript. Paths are those of `replay.ts` (`/repo`, `/outside`).
 */
import type { Denial, ExitType, FaultType } from '../../src/harness/driver.ts'

type ExpectedDenial = [kind: Denial['kind'], tool: string, target?: string]

export interface ExpectedError {
  source: 'event' | 'stderr' | 'exit'
  type?: FaultType
  code?: string
  httpStatus?: number
  resetAt?: string
  /** Its first words. */
  text: string
}

export interface Expected {
  /** Start of the session id; null = the CLI never said one. */
  session: string | null
  /** Input and output tokens. */
  tokens: [number, number]
  cost?: number
  toolCalls: number
  /** Reason of the final event; null = there was none. */
  final: string | null
  denials: ExpectedDenial[]
  /** Absent = the launch succeeded. */
  error?: ExpectedError
  /** The CLI's own retry that was in progress when it ended. */
  retry?: FaultType
  foreignLines: number
}

type Row = Partial<Expected> & Pick<Expected, 'session'>

export const row = (fields: Row): Expected => ({
  tokens: [0, 0],
  toolCalls: 0,
  final: null,
  denials: [],
  foreignLines: 0,
  ...fields,
})

// Two requests of the main thread and one side request; or a side request and one more.
const three = { tokens: [3600, 126], cost: 0.02115, final: 'completed', toolCalls: 1 } satisfies Partial<Expected>
const two = { tokens: [2400, 84], cost: 0.0141, final: 'completed' } satisfies Partial<Expected>
const cheap = { ...two, cost: 0.00846 } satisfies Partial<Expected>

export const event = (type: FaultType, text: string, more: Partial<ExpectedError> = {}): ExpectedError => ({
  source: 'event',
  type,
  text,
  ...more,
})
export const stderr = (type: FaultType, text: string): ExpectedError => ({ source: 'stderr', type, text })
export const exit = (type: ExitType, text: string): ExpectedError => ({ source: 'exit', type, text })

/** A launch of Claude whose first request failed: nothing was paid for. */
const failed = (session: string, error: ExpectedError, more: Partial<Expected> = {}): Expected =>
  row({ session, cost: 0, final: 'completed', error, ...more })

const claudeModel = "There's an issue with the selected model (claude-opus-4-8[1m])."
const claudeKey = 'Invalid API key · Fix external API key'
const unauthorised = { code: 'authentication_failed', httpStatus: 401 }
const noModel = { code: 'model_not_found', httpStatus: 404 }

export const claudeExpected: Record<string, Expected> = {
  'approval-bash-acceptEdits': row({ session: 'eb6ea257', ...three, denials: [['tool', 'Bash', 'npm --version']] }),
  'approval-bash-default': row({ session: '4eacb259', ...three, denials: [['tool', 'Bash', '/repo/v.txt']] }),
  'approval-bash.recovered-allowedTools': row({ session: '8386acf4', ...three }),
  'approval-dontAsk-bash': row({
    session: 'dbf006a6',
    ...three,
    denials: [['tool', 'Bash', 'npm --version > v.txt; ls']],
  }),
  'approval-skip-permissions-root': row({
    session: null,
    error: stderr('bad_flag', '--dangerously-skip-permissions cannot be used with root/sudo privileges'),
  }),
  'approval-write-default': row({ session: '57f5ed4e', ...three, denials: [['tool', 'Write', '/repo/hello.txt']] }),
  'auth-401': failed('fe1aa3ba', event('authentication_failed', claudeKey, unauthorised), {
    retry: 'authentication_failed',
  }),
  'auth-then-resume': failed('9ca89a9f', event('authentication_failed', claudeKey, unauthorised)),
  'auth-then-resume.recovered': row({ session: '9ca89a9f', ...two, toolCalls: 1 }),
  'bad-flag': row({ session: null, error: stderr('bad_flag', "error: unknown option '--no-such-flag'") }),
  'bad-resume-id': failed(
    '11111111',
    event('session_not_found', 'No conversation found with session ID: 11111111-', { code: 'error_during_execution' }),
    { final: 'error_during_execution' },
  ),
  'context-400': failed(
    '1fc25c67',
    event('prompt_too_long', 'Prompt is too long · the request is ~210000 tokens', {
      code: 'invalid_request',
      httpStatus: 400,
    }),
    { final: 'prompt_too_long' },
  ),
  'context-midway': row({ session: '06fb1a67', tokens: [7200, 252], cost: 0.0423, toolCalls: 3, final: 'completed' }),
  'cut-mid-stream-then-ok': row({ session: '29a43f85', tokens: [2400, 43], cost: 0.013075, final: 'completed' }),
  'empty-answer': row({ session: '69e24ba4', ...three, toolCalls: 0 }),
  'fallback-model': row({ session: '43380729', ...two, cost: 0.01128 }),
  'fs-perm-dir-000': row({ session: '50847b97', ...three, denials: [['filesystem', 'Write', '/repo/locked/new.txt']] }),
  'fs-perm-read-file': row({ session: 'f30727bb', ...three, denials: [['filesystem', 'Read', '/repo/secret.txt']] }),
  // The command's own output, not the CLI's word.
  'fs-perm-shell': row({ session: '11c5ee78', ...three }),
  'fs-perm-write-dir': row({
    session: '2639c55a',
    ...three,
    denials: [['filesystem', 'Write', '/repo/locked/new.txt']],
  }),
  'fs-perm-write-dir.recovered-chmod-uw': row({ session: '48e89d61', ...three }),
  'hang-after-headers': row({ session: '791637f2', tokens: [2400, 43], cost: 0.013075, final: 'completed' }),
  happy: row({ session: '00a7ae06', ...three }),
  'huge-output': row({ session: 'b0f17f8e', ...three }),
  'json-format': row({ session: '460f0797', ...two }),
  'long-silent-tool': row({ session: 'be0847bd', ...three }),
  // The middle of this transcript was left out when it was recorded.
  'loop-50': row({
    session: '84868b0a',
    tokens: [62_400, 2184],
    cost: 0.3666,
    toolCalls: 16,
    final: 'completed',
    foreignLines: 1,
  }),
  'malformed-tool-json': row({ session: '2b83def5', ...three }),
  'max-turns': row({
    session: '26afe247',
    ...three,
    toolCalls: 2,
    final: 'max_turns',
    error: event('max_turns', 'Reached maximum number of turns (2)', { code: 'error_max_turns' }),
  }),
  'model-404': failed('cd956f4f', event('model_not_found', claudeModel, noModel)),
  'model-404-switch': failed('1b716ad8', event('model_not_found', claudeModel, noModel)),
  'model-404-switch.recovered': row({ session: '1b716ad8', ...cheap, toolCalls: 1 }),
  'no-credit': failed(
    'd86003fd',
    event('billing_error', 'Credit balance is too low', { code: 'billing_error', httpStatus: 400 }),
  ),
  'no-key': failed(
    'b7b29363',
    event('authentication_failed', 'Not logged in · Please run /login', { code: 'authentication_failed' }),
  ),
  'not-git': row({ session: 'd5636abb', ...three }),
  overloaded: failed(
    '7f21dd4b',
    event('overloaded', 'API Error: Repeated 529 Overloaded errors.', { code: 'server_error', httpStatus: 529 }),
    { retry: 'overloaded' },
  ),
  'overloaded-then-ok': row({ session: '25142d87', ...two }),
  'preflight-auth-status-none': row({
    session: null,
    foreignLines: 5,
    error: exit('no_result', 'claude exited with 1 without its final event'),
  }),
  'rate-limit': failed(
    '85316a44',
    event('rate_limit', 'API Error: Request rejected (429) · This request would exceed', {
      code: 'rate_limit',
      httpStatus: 429,
    }),
    { retry: 'rate_limit' },
  ),
  'rate-limit-then-ok': row({ session: 'e63cc6f2', ...two }),
  'refusal-stop': row({
    session: '6807be05',
    ...two,
    error: event('refusal', 'API Error: Claude Code is unable to respond to this request', { code: 'invalid_request' }),
  }),
  refused: failed(
    '32d79206',
    event('network', 'API Error: Unable to connect to API (ConnectionRefused)', { code: 'server_error' }),
    { retry: 'network' },
  ),
  'resume-after-scope': row({ session: '9305746c', ...three, denials: [['scope', 'Write', '/outside/r1.txt']] }),
  'resume-after-scope.recovered': row({ session: '9305746c', ...two, toolCalls: 1 }),
  'scope-read': row({ session: '0d302fef', ...three, denials: [['scope', 'Read', '/outside/secret.txt']] }),
  'scope-shell-cd': row({ session: '0c34722a', ...three, denials: [['scope', 'Bash', '/outside']] }),
  'scope-shell-write': row({ session: '5ce7f1a7', ...three, denials: [['scope', 'Bash', '/outside/cs-sh.txt']] }),
  'scope-write': row({ session: '6e319080', ...three, denials: [['scope', 'Write', '/outside/cw.txt']] }),
  'scope-write.recovered': row({ session: '3455bb2d', ...three }),
  'server-500-then-ok': row({ session: '4b199679', ...two }),
  'session-id-reuse': row({ session: null, error: stderr('session_busy', 'Error: Session ID 22222222-') }),
  'shell-nonzero': row({ session: 'd1708035', ...three }),
  // Exit code 0, and still no success.
  'sigint-during-tool': row({
    session: '7c87f5cb',
    ...two,
    toolCalls: 1,
    final: 'aborted_tools',
    error: event('aborted', '[ede_diagnostic]', { code: 'error_during_execution' }),
  }),
  'sigterm-during-tool': row({
    session: '786093c1',
    tokens: [1200, 1],
    toolCalls: 1,
    error: exit('no_result', 'claude exited with 143 without its final event'),
  }),
  'stdin-pipe-open': row({ session: 'e544708f', ...two }),
  'stream-json-input': row({ session: '0e4a26d6', ...two }),
  'unknown-tool': row({ session: '7d9f5871', ...three }),
  'untrusted-project-settings': row({ session: '8b702a66', ...three, denials: [['tool', 'Bash', 'npm --version']] }),
  'untrusted-project-settings.recovered-trust': row({ session: 'f6b6b3b2', ...three }),
  'usage-limit-oauth': failed(
    'f58a71d2',
    event('usage_limit', "You've hit your limit · resets 11:13pm (UTC)", {
      code: 'five_hour',
      httpStatus: 429,
      resetAt: '2026-11-21T23:13:45.000Z',
    }),
  ),
  'usage-limit-until': failed(
    '222bb81f',
    event('usage_limit', "You've hit your limit · resets 10:18pm (UTC)", {
      code: 'five_hour',
      httpStatus: 429,
      resetAt: '2026-11-21T22:18:30.000Z',
    }),
  ),
  'usage-limit-until.recovered': row({ session: '222bb81f', ...cheap, toolCalls: 1 }),
  'usage-warning-oauth': row({ session: '2919b46b', ...cheap }),
}

const done = (session: string, more: Partial<Expected> = {}): Expected =>
  row({ session, tokens: [2400, 84], final: 'completed', ...more })
const brief = (session: string): Expected => done(session, { tokens: [1200, 42] })
const broken = (session: string, error: ExpectedError, more: Partial<Expected> = {}): Expected =>
  row({ session, final: 'failed', error, ...more })
const unstarted = (error: ExpectedError, more: Partial<Expected> = {}): Expected =>
  row({ session: null, error, ...more })

const oneCall = { toolCalls: 1 }
const fullWindow = event('prompt_too_long', "Codex ran out of room in the model's context window.")
const badKey = event('authentication_failed', 'unexpected status 401 Unauthorized: Incorrect API key provided', {
  httpStatus: 401,
})
const idle = event('timeout', 'stream disconnected before completion: idle timeout waiting for SSE')
const untrusted = stderr('git_trust', 'Not inside a trusted directory and --skip-git-repo-check was not specified.')
const tooMany = (text: string): ExpectedError => event('rate_limit', text, { httpStatus: 429 })
const limitText = 'exceeded retry limit, last status: 429 Too Many Requests'
const usageText = 'You’ve hit your usage limit. Upgrade to Pro'

export const codexExpected: Record<string, Expected> = {
  'approval-on-request-escalate': done('01a1fff2-7e73', { denials: [['tool', 'exec_command']] }),
  'approve-for-me': done('01a1fff2-85c1', {
    ...oneCall,
    denials: [['tool', 'command_execution', "/bin/bash -lc 'echo hi > /outside/esc2.txt'"]],
  }),
  'auth-401': broken('01a1ffe2-3514', badKey, { retry: 'authentication_failed' }),
  'bad-config-toml': unstarted(stderr('bad_config', 'Error loading config.toml:\n/home/user/.codex/config.toml:1:9:')),
  'bad-flag': unstarted(stderr('bad_flag', "error: unexpected argument '--no-such-flag' found")),
  'bad-resume-id': unstarted(
    stderr('session_not_found', 'Error: thread/resume: thread/resume failed: no rollout found'),
  ),
  'context-400': broken('01a1ffe2-88c9', fullWindow),
  'context-midway': broken('01a20012-044e', fullWindow, { toolCalls: 3 }),
  'context-midway.resume': done('01a20012-044e'),
  'cut-mid-stream-then-ok': brief('01a1ffe2-d82b'),
  'empty-answer': brief('01a1fff0-5edf'),
  'env-in-tools': done('01a20034-60c5', oneCall),
  // A quickly failing command is often not shown at all, and nothing is logged.
  'fs-perm-shell': done('01a1fff1-bccb'),
  'fs-perm-write-dir': done('01a1fff1-ac20', {
    ...oneCall,
    denials: [['filesystem', 'file_change', '/repo/locked/new.txt']],
  }),
  'fs-perm-write-dir.recovered-chmod-uw': done('01a1fff1-b1ba', oneCall),
  'full-auto-flag': unstarted(stderr('bad_flag', "error: unexpected argument '--full-auto' found")),
  'git-commit-blocked': done('01a1fff7-552b'),
  'git-commit-blocked.recovered-add-dir-git': done('01a1fff7-59fa', oneCall),
  'hang-after-headers': broken('01a1ffda-c63f', idle, { retry: 'timeout' }),
  'hang-idle-timeout-config': broken('01a1fff3-d5b7', idle, { retry: 'timeout' }),
  happy: done('01a1ffd9-6d6e', oneCall),
  'huge-output': done('01a20027-37ac', oneCall),
  'long-silent-tool': done('01a20003-bde3', oneCall),
  'loop-50': done('01a20003-8ba3', { tokens: [61_200, 2142], toolCalls: 50 }),
  'malformed-tool-json': done('01a20003-82f4'),
  'model-404': broken('01a1ffe2-77b8', event('model_not_found', 'The model `no-such-model` does not exist')),
  'model-unknown-metadata': brief('01a1fff4-dd82'),
  'network-in-sandbox': done('01a1ffdb-f2e7', oneCall),
  'network-in-sandbox.recovered-config': done('01a20032-28bf', oneCall),
  'no-credit': broken('01a1ffe2-926d', event('billing_error', 'Quota exceeded. Check your plan and billing details.')),
  'no-key': broken('01a1fff3-6276', event('authentication_failed', 'Missing environment variable: `STUB_API_KEY`.')),
  'no-login-openai': broken('01a20027-9365', badKey, { retry: 'authentication_failed' }),
  'no-user-namespaces': done('01a20026-8b92', {
    tokens: [3600, 126],
    toolCalls: 2,
    denials: [['filesystem', 'file_change', '/repo/b.txt']],
  }),
  'not-git': unstarted(untrusted),
  'not-git.recovered-skip': done('01a1ffef-5375', oneCall),
  'not-git.recovered-trust-flag': unstarted(untrusted),
  overloaded: broken('01a1ffe9-397c', event('overloaded', 'Selected model is at capacity.')),
  'parallel-same-session.b': unstarted(
    stderr('session_busy', 'Error: thread/resume: thread/resume failed: thread 01a20025'),
  ),
  'preflight-login-status': unstarted({ source: 'stderr', type: 'no_result', text: 'Not logged in' }),
  'rate-limit': broken('01a1ffe9-082e', tooMany(limitText), { retry: 'rate_limit' }),
  // Both of these never came back; the retry in progress is the evidence.
  'rate-limit-long': row({ session: '01a1ffe2-e9de', error: tooMany(limitText), retry: 'rate_limit' }),
  refused: row({
    session: '01a1ffea-4155',
    error: event('network', 'Connection failed: error sending request'),
    retry: 'network',
  }),
  'rate-limit-then-ok': brief('01a1ffe2-a1c4'),
  'read-only-default': done('01a1ffdb-d3f2'),
  'read-only-default-patch': done('01a1ffdb-e17d', { denials: [['tool', 'apply_patch']] }),
  'read-only-default.recovered': done('01a1ffdb-e8f8', oneCall),
  'resume-after-scope': done('01a1fff7-22b9', { denials: [['scope', 'apply_patch']] }),
  // Counts go on over a resumed thread.
  'resume-after-scope.recovered': done('01a1fff7-22b9', { tokens: [4800, 168], ...oneCall }),
  'resume-after-scope.resume-noflags': done('01a1fff7-22b9', {
    tokens: [9600, 336],
    denials: [['tool', 'apply_patch']],
  }),
  'resume-sandbox-flag-unsupported': unstarted(stderr('bad_flag', "error: unexpected argument '-s' found")),
  'scope-read': done('01a1ffdb-90b6', oneCall),
  // Without the sandbox's log the refusal stands only in the command's output.
  'scope-shell-write': done('01a1ffdb-9727'),
  'scope-shell-write-exit0': done('01a1ffdb-9da8', oneCall),
  'scope-shell-write-rustlog': done('01a2001b-c177', { denials: [['scope', 'exec_command', '/outside/rl.txt']] }),
  'scope-shell-write-slow': done('01a1ffdb-a429', oneCall),
  'scope-shell-write.recovered': done('01a1ffdb-b0d5', oneCall),
  'scope-write': done('01a1ffdb-7d3e', { denials: [['scope', 'apply_patch']] }),
  'scope-write.recovered': done('01a1ffdb-8498', oneCall),
  'server-500': broken('01a1ffe9-4f82', event('server_error', 'We’re currently experiencing high demand'), {
    retry: 'server_error',
  }),
  'shell-fails-plain': done('01a1ffdb-cb31', oneCall),
  'sigint-during-tool': row({
    session: '01a20002-fb6d',
    ...oneCall,
    error: exit('no_result', 'codex exited with 1 without its final event'),
  }),
  'sigterm-during-tool': row({ session: '01a20002-e7fe', ...oneCall, error: exit('signal', 'codex died of SIGTERM') }),
  'stdin-pipe-open': unstarted(exit('signal', 'codex died of SIGTERM')),
  'text-format': unstarted(exit('no_result', 'codex exited with 0 without its final event'), { foreignLines: 1 }),
  'trust-flag-in-repo': done('01a20023-8820', oneCall),
  'unknown-tool': done('01a1fff2-8c96'),
  'untrusted-project-config': done('01a20023-7d5f', { denials: [['tool', 'apply_patch']] }),
  'usage-limit': broken('01a1ffe2-e04c', event('usage_limit', usageText)),
  'usage-limit-until': broken('01a20030-978d', event('usage_limit', usageText)),
  'usage-limit-until.recovered': done('01a20030-978d', oneCall),
}
