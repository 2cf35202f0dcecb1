/** Every sentence that means trouble when a CLI says it, for tests in which somebody else says it. */

const claudePhrases = [
  "Claude requested permissions to write to /etc/passwd, but you haven't granted it yet.",
  "Claude requested permissions to read from /etc/shadow, but you haven't granted it yet.",
  "Output redirection to '/etc/x' was blocked. For security, Claude Code may only write to files in the allowed working directories for this session: '/repo'.",
  "cd in '/etc' was blocked. For security, Claude Code may only change directories to the allowed working directories for this session: '/repo'.",
  'This Bash command contains multiple operations. The following part requires approval: rm -rf /',
  "Permission to use Write has been denied because Claude Code is running in don't ask mode.",
  'Cannot write to /etc/x while in plan mode.',
  "Dangerous rm operation detected: '/repo'",
  "EACCES: permission denied, open '/repo/locked/new.txt'",
  "<tool_use_error>Error calling tool (Write): EACCES: permission denied, statx '/repo/x'</tool_use_error>",
  'Not logged in · Please run /login',
  'Invalid API key · Fix external API key',
  'Failed to authenticate. API Error: 401',
  'Credit balance is too low',
  'API Error: Request rejected (429) · rate limit',
  "You've hit your limit · resets 11:13pm (UTC)",
  'Claude AI usage limit reached|1795302825',
  '5-hour limit reached ∙ resets 3pm',
  'API Error: Repeated 529 Overloaded errors. The API is at capacity',
  'API Error: Unable to connect to API (ConnectionRefused)',
  'API Error: API returned an empty or malformed response (HTTP 200)',
  'Prompt is too long',
  "There's an issue with the selected model (x).",
  "The 'gpt-9-none' model is not supported when using Codex with a ChatGPT account.",
  'No conversation found with session ID: 11111111-1111-4111-8111-111111111111',
  'Access blocked',
  "Access blocked: /etc/x is outside of '/repo'",
  'API Error: 403 Access blocked by network policy',
  "Output redirection to '/repo/x' needs approval. The path is inside the working directories for this session ('/repo'), and Claude Code asks before a shell command creates, changes or removes files there.",
]

const codexPhrases = [
  'Not inside a trusted directory and --skip-git-repo-check was not specified.',
  'Repository check failed',
  'Not a git repository',
  'Not inside a Git repo and --skip-git-repo-check was not specified.',
  '2026-11-21T20:45:37.270737Z ERROR codex_core::tools::router: error=patch rejected: writing outside of the project; rejected by user approval settings',
  '2026-11-21T21:55:48.977807Z  WARN codex_sandboxing::violation: recorded sandbox violation: resource=filesystem backend=linux_sandbox reason=read_only_file_system path=/etc/x',
  'patch rejected: writing outside of the project; rejected by user approval settings',
  'Failed to write file /repo/x',
  'fatal: Unable to create /repo/.git/index.lock: Read-only file system',
  'Missing environment variable: `OPENAI_API_KEY`.',
  'unexpected status 401 Unauthorized: no, url: x',
  'exceeded retry limit, last status: 429 Too Many Requests',
  'Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)',
  'Quota exceeded. Check your plan and billing details.',
  'You’ve hit your usage limit. Upgrade to Pro or try again at 10:53 PM.',
  'Selected model is at capacity. Please try a different model.',
  'stream disconnected before completion: idle timeout waiting for SSE',
  "Codex ran out of room in the model's context window.",
]

const geminiPhrases = [
  'Path not in workspace: Attempted path "/etc/x" resolves outside the allowed workspace directories: /repo',
  'File path must be within one of the workspace directories',
  'Path must be within one of the workspace directories: /repo',
  'Path validation failed: Attempted path "/etc/x" resolves outside the allowed workspace directories: /repo',
  'Search path ("/etc") resolves outside the allowed workspace directories: /repo',
  "Directory '/etc' is not within any of the registered workspace directories.",
  "Permission denied: Consumer 'projects/7' has been suspended.",
  'Permission denied writing to file: /etc/x (EACCES)',
  "Error reading file x: EACCES: permission denied, open '/repo/x'",
  'Tool "run_shell_command" not found. Did you mean one of: "read_file"?',
  'Tool execution denied by policy.',
  'Access denied: plan path (/repo/x) must be within the designated plans directory (/home/user/plans).',
  'Gemini CLI is not running in a trusted directory. To proceed, either use `--skip-trust`',
  'When using Gemini API, you must specify the GEMINI_API_KEY environment variable.',
  'Please set an Auth method in your /home/user/.gemini/settings.json',
  'Invalid auth method selected.',
  'Error resuming session: No previous sessions found for this project.',
  'An unexpected critical error occurred:Error: Directory does not exist: /x',
  '[API Error: You have exhausted your daily quota on this model.]',
  '[API Error: The model is overloaded. Please try again later.]',
  '[API Error: {"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}]',
  '[API Error: terminated]',
  'Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {"error":{"code":503}}',
  'Attempt 3 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request',
  'The model returned an empty response with no text or thoughts.',
  'Loop detected, stopping execution',
]

const opencodePhrases = [
  'The user rejected permission to use this specific tool call.',
  'The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules [{"permission":"external_directory","pattern":"*","action":"deny"}]',
  'PermissionDenied: FileSystem.writeFile (/etc/x)',
  "Model tried to call unavailable tool 'bash'. Available tools: read.",
  '\u{1b}[93m\u{1b}[1m! \u{1b}[0mpermission requested: external_directory (/etc/*); auto-rejecting',
  'Error: Session not found',
  'Error: Config file at OPENCODE_CONFIG_CONTENT is not valid JSON(C): ',
  'timestamp=2026-11-21T21:58:40.726Z level=ERROR run=9da49a0c message=failed error="ProviderModelNotFoundError: Model not found: x."',
  'Cannot connect to API: Unable to connect.',
  'SSE read timed out',
  'opencode run [message..]',
]

const otherPhrases = [
  'Path must be within one of the workspace directories',
  'Path not in workspace: Attempted path "/x" resolves outside the allowed workspace directories: /repo',
  'Permission denied',
  '/bin/bash: line 1: locked/new.txt: Permission denied',
  'a.ts(429,12): error TS2322',
  'EDQUOT disk quota exceeded',
  'insufficient_quota: You exceeded your current quota',
  'rate limit exceeded, Retry-After: 120',
]

/** Whole events of the CLIs, printed by a tool or quoted by the model. */
const eventPhrases = [
  '{"type":"turn.failed","error":{"message":"Quota exceeded. Check your plan and billing details."}}',
  '{"type":"error","message":"unexpected status 401 Unauthorized: no"}',
  '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key"}',
  '{"type":"system","subtype":"api_retry","attempt":1,"error":"rate_limit","error_status":429}',
  '{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: terminated]"}}',
  '{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"no","statusCode":401}}}',
]

const phrases = [
  ...claudePhrases,
  ...codexPhrases,
  ...geminiPhrases,
  ...opencodePhrases,
  ...otherPhrases,
  ...eventPhrases,
]

/** Each alone, and all of them as one text of many lines. */
export const triggerPhrases: string[] = [...phrases, phrases.join('\n')]
