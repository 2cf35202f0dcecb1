import { expect, test } from 'vitest'
import { drivers } from '../harness/drivers.ts'
import type { DriverName } from '../harness/names.ts'
import type { Refused } from '../harness/remedy-words.ts'
import { remedyOf } from './remedy.ts'

const approval = 'This Bash command contains multiple operations. The following part requires approval: npm --version'
const outside = { kind: 'scope', tool: 'Write', target: '/far/x.txt', directory: '/far', text: 'outside' } as const
const shell = { kind: 'tool', tool: 'Bash', target: 'npm --version', text: approval } as const
const rejectedText = 'The user rejected permission to use this specific tool call.'

test.each<[DriverName, Refused, string[], RegExp]>([
  ['claude', shell, [], /^add --allowedTools "Bash\(npm --version:\*\)"$/],
  [
    'claude',
    { kind: 'tool', tool: 'Bash', target: '/w/x', text: "Output redirection to '/w/x' was blocked." },
    [],
    /acceptEdits$/,
  ],
  ['claude', outside, [], /--add-dir \/far .*unstuck exec --allow-dir \/far -- …$/],
  [
    'claude',
    { kind: 'tool', tool: 'Write', target: '/w/x', text: 'Cannot write to /w/x while in plan mode.' },
    [],
    /^choose another mode/,
  ],
  [
    'claude',
    {
      kind: 'tool',
      tool: 'Write',
      text: 'Error: No such tool available: Write. Write exists but is not enabled in this context',
    },
    [],
    /^remove Write from --disallowedTools/,
  ],
  [
    'codex',
    { kind: 'tool', tool: 'apply_patch', text: 'patch rejected: writing is blocked by read-only sandbox; rejected' },
    [],
    /^add -s workspace-write$/,
  ],
  ['codex', { ...outside, directory: "/it's" }, [], /--add-dir '\/it'\\''s' /],
  ['gemini', outside, [], /--include-directories \/far /],
  [
    'gemini',
    { kind: 'tool', tool: 'write_file', text: 'Tool "write_file" not found.' },
    [],
    /--approval-mode auto_edit$/,
  ],
  [
    'gemini',
    { kind: 'tool', tool: 'run_shell_command', target: 'ls', text: 'x' },
    [],
    /--allowed-tools "run_shell_command\(ls\)"/,
  ],
  [
    'opencode',
    { ...outside, text: rejectedText },
    [],
    /"external_directory": \{ "\/far\/\*\*": "allow" \} \} in opencode\.json, or add --auto$/,
  ],
  [
    'opencode',
    { kind: 'tool', tool: 'bash', target: 'ls /far', text: rejectedText },
    ['! permission requested: external_directory (/far/*); auto-rejecting'],
    /"external_directory": \{ "\/far\/\*\*"/,
  ],
  [
    'opencode',
    { kind: 'tool', tool: 'bash', text: "Model tried to call unavailable tool 'bash'." },
    [],
    /^set "permission": \{ "bash": "allow" \} in opencode\.json$/,
  ],
  [
    'claude',
    { kind: 'filesystem', tool: 'Write', target: '/w/locked/x', directory: '/w/locked', text: 'EACCES' },
    [],
    /chmod u\+rwx \/w\/locked$/,
  ],
  ['claude', { kind: 'safety', tool: 'Bash', text: 'Dangerous rm' }, [], /^nothing allows this/],
])('%s, %j', (harness, refused, stderr, expected) => {
  expect(remedyOf(drivers[harness], refused, stderr)).toMatch(expected)
})
