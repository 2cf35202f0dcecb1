/** Commands, patterns and files that try to be something else than what the owner approved. One row each: given, and what happens. */
import { describe, expect, test } from 'vitest'
import { flagPattern } from './error-pattern.ts'
import { decideCommand, type CommandLists } from './match.ts'
import { checkProposal, readProposal } from './proposal.ts'
import { textGlobMatcher, whyNoTextGlob } from './text-glob.ts'

const strict: CommandLists = {
  auto_approve: [
    ...['bun install', 'npm install', 'yarn install', 'pnpm install'],
    ...['rm -rf node_modules && bun install', 'rm -rf node_modules && npm install', 'rm -rf dist && bun run build'],
  ],
  require_human: ['rm -rf *', 'git reset --hard*', 'git push*', 'curl *', 'wget *'],
  on_unknown: 'escalate',
}
/** Everything that no pattern names runs: what must not run has to be recognised. */
const open: CommandLists = { ...strict, on_unknown: 'allow' }
const closed: CommandLists = { ...strict, on_unknown: 'deny' }

describe('only the exact text is approved', () => {
  test.each(strict.auto_approve)('%j runs', (command) => {
    for (const lists of [strict, open, closed])
      expect(decideCommand(command, lists)).toEqual({ kind: 'run', source: 'auto' })
  })

  test.each([
    ...[
      'npm install ',
      ' npm install',
      'npm  install',
      'NPM install',
      'npm Install',
      'npm\u00a0install',
      'npm install;',
    ],
    ...[
      'npm install && npm install',
      'npm install || true',
      'npm install; true',
      'npm install & true',
      'npm install | cat',
    ],
    ...[
      'npm install > log',
      'npm install 2>&1',
      'npm install < file',
      '(npm install)',
      '{ npm install; }',
      '! npm install',
    ],
    ...['npm install --force', 'npm install evil', 'npm install -g', 'npm instal', 'npm i', 'npm ci', './npm install'],
    ...['/usr/bin/npm install', 'env npm install', 'env A=1 npm install', 'A=1 npm install', 'sudo npm install'],
    ...['bash -c "npm install"', "sh -c 'npm install'", 'xargs npm install', 'time npm install', 'exec npm install'],
    ...['command npm install', 'nohup npm install', '$(npm install)', '`npm install`', 'npm install $(x)', 'npm $X'],
    ...[
      'npm "install"',
      "npm 'install'",
      'n\\pm install',
      'npm install #',
      'cd x && npm install',
      'true && npm install',
    ],
    ...[
      'nрm install',
      'npm instalｌ',
      'npm\u200b install',
      'npm install\u202e',
      '\ufeffnpm install',
      'npm install\u2028',
    ],
    ...[
      'bun install && rm -rf node_modules',
      'rm -rf node_modules&& bun install',
      'rm -rf node_modules  && bun install',
    ],
    ...['rm -rf node_modules/ && bun install', 'rm -rf node_modules && bun install && true', 'npm install\\'],
    ...[
      'npm install ${IFS}',
      'npm install {a,b}',
      'npm install *',
      'npm install ~',
      'npm install <<< x',
      'if npm install; then :; fi',
    ],
  ])('%j does not', (command) => {
    expect(decideCommand(command, strict).kind).toBe('ask')
    expect(decideCommand(command, closed).kind).not.toBe('run')
  })
})

describe('a pattern that always needs a person is found in', () => {
  test.each([
    ...['rm -rf /', 'rm -rf build', 'rm  -rf build', '/bin/rm -rf build', './rm -rf build', 'sudo rm -rf build'],
    ...['sudo -n rm -rf build', 'env rm -rf build', 'env A=1 rm -rf build', 'A=1 rm -rf build', 'cd x && rm -rf build'],
    ...['true; rm -rf build', 'true || rm -rf build', 'true | rm -rf build', '(rm -rf build)', '{ rm -rf build; }'],
    ...['! rm -rf build', 'time rm -rf build', 'nohup rm -rf build', 'nice rm -rf build', 'setsid rm -rf build'],
    ...[
      'find . -name x -exec rm -rf build ;',
      'ls | xargs rm -rf build',
      'xargs -n 1 rm -rf build',
      'timeout 5 rm -rf build',
    ],
    ...[
      'bash -c "rm -rf build"',
      "sh -c 'cd x && rm -rf build'",
      'bash -c "bash -c \'rm -rf build\'"',
      'eval "rm -rf build"',
    ],
    ...['if true; then rm -rf build; fi', 'while true; do rm -rf build; done', 'for i in a; do rm -rf build; done'],
    ...['case x in x) rm -rf build;; esac', 'f() { rm -rf build; }; f', 'echo $(rm -rf build)', 'echo `rm -rf build`'],
    ...[
      'cat <(rm -rf build)',
      '"rm" -rf build',
      "r'm' -rf build",
      '\\rm -rf build',
      'rm "-rf" build',
      'rm -rf build &',
    ],
    ...['rm -rf build # npm install', 'npm install && rm -rf build', 'command rm -rf build', 'exec rm -rf build'],
    ...['curl x', 'curl x | sh', 'echo "$(curl x)"', 'wget x', 'true && wget x', 'git push', 'git push origin main'],
    ...[
      'git push --force',
      'sudo git push',
      'git reset --hard',
      'git reset --hard HEAD~3',
      'env -i git push',
      'busybox wget x',
    ],
    ...[
      'cat <<X\n$(curl x)\nX'.replaceAll('\n', ' '),
      'echo ${A:-$(curl x)}',
      'echo $(( $(curl x) ))',
      '[[ -n $(curl x) ]]',
    ],
  ])('%j', (command) => {
    expect(decideCommand(command, open).kind).toBe('ask')
  })
})

describe('what cannot be read completely asks, although unknown commands are allowed', () => {
  test.each([
    ...[
      '$X install',
      '${CMD} x',
      'r$()m -rf build',
      'a=rm; $a -rf build',
      'rm -{r,f} build',
      'mаke',
      'make\u200b',
      'make "',
    ],
    ...["make '", 'make $(', 'make `', 'echo $((1+1))', 'cat <(ls)', 'f() { ls; }', 'coproc ls', 'make )', 'if make'],
  ])('%j', (command) => {
    expect(decideCommand(command, open).kind).toBe('ask')
  })

  test.each(['make', 'make build', 'bun run build && bun test', 'cargo build', 'rm build', 'git status', 'echo curl'])(
    '%j runs, because it is read and no pattern names it',
    (command) => {
      expect(decideCommand(command, open)).toEqual({ kind: 'run', source: 'on_unknown' })
    },
  )
})

test('the default pattern asks about everything that is not listed, whatever on_unknown allows', () => {
  const lists: CommandLists = { auto_approve: ['make'], require_human: ['*'], on_unknown: 'allow' }
  expect(decideCommand('make', lists).kind).toBe('run')
  expect(decideCommand('make x', lists)).toEqual({ kind: 'ask', reason: 'command not in auto_approve' })
})

describe('globs mean what they say', () => {
  test.each([
    ['rm -rf (tmp*', 'rm -rf (tmp/x)', true],
    ['make [all *', 'make [all x', true],
    ['make [all *', 'make a x', false],
    ['c++ *', 'c++ x.cc', true],
    ['c++ *', 'ccc x.cc', false],
    ['a|b*', 'zzz b', false],
    ['a|b*', 'a|bc', true],
    ['a.b', 'axb', false],
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'axb', false],
    ['a?c', 'abc', true],
    ['a?c', 'a😀c', true],
    ['a?c', 'ac', false],
    ['*', 'anything / at all', true],
    ['^a$', 'a', false],
    ['', '', true],
    ['git push', 'git push origin', false],
    ['{a,b}', 'a', false],
    ['*a*a*a*a*a*a*a*b', 'a'.repeat(4000), false],
  ])('%j and %j: %j', (glob, text, matches) => {
    expect(textGlobMatcher(glob)(text)).toBe(matches)
  })

  test.each(['', '  ', 'a\nb', 'a\u0000', 'a\\', 'x'.repeat(5000), '\ud800'])('%j is no glob', (glob) => {
    expect(whyNoTextGlob(glob)).toBeDefined()
  })
})

const valid = {
  ...{ version: 1, timestamp: '2026-01-23T05:36:33Z', category: 'dependency', severity: 'blocking' },
  diagnosis: { error_pattern: 'x', root_cause: 'y', evidence: ['z'] },
  recovery: { command: 'npm install', expected_outcome: 'it starts', confidence: 'high' },
}
const recovery = (change: object): unknown => ({ ...valid, recovery: { ...valid.recovery, ...change } })
const diagnosis = (change: object): unknown => ({ ...valid, diagnosis: { ...valid.diagnosis, ...change } })

describe('an invalid proposal names its field', () => {
  test.each<[string, unknown]>([
    ['', null],
    ['', []],
    ['', 'text'],
    ['version', { ...valid, version: '1' }],
    ['version', { ...valid, version: undefined }],
    ['version', { ...valid, version: 1.5 }],
    ['timestamp', { ...valid, timestamp: '2026-02-30T00:00:00Z' }],
    ['timestamp', { ...valid, timestamp: '' }],
    ['timestamp', { ...valid, timestamp: 1769146593 }],
    ['category', { ...valid, category: 'Dependency' }],
    ['category', { ...valid, category: ['dependency'] }],
    ['severity', { ...valid, severity: 'fatal' }],
    ['diagnosis', { ...valid, diagnosis: 'x' }],
    ['diagnosis.error_pattern', diagnosis({ error_pattern: '' })],
    ['diagnosis.error_pattern', diagnosis({ error_pattern: 'x'.repeat(5000) })],
    ['diagnosis.root_cause', diagnosis({ root_cause: null })],
    ['diagnosis.evidence', diagnosis({ evidence: 'a' })],
    ['diagnosis.evidence[0]', diagnosis({ evidence: [1] })],
    ['diagnosis.evidence', diagnosis({ evidence: Array.from({ length: 101 }, () => 'a') })],
    ['recovery', { ...valid, recovery: undefined }],
    ['recovery.command', recovery({ command: '' })],
    ['recovery.command', recovery({ command: ' \u3000' })],
    ['recovery.command', recovery({ command: ['npm', 'install'] })],
    ['recovery.command', recovery({ command: 'npm install\n' })],
    ['recovery.command', recovery({ command: 'npm install\r' })],
    ['recovery.command', recovery({ command: 'npm\tinstall' })],
    ['recovery.command', recovery({ command: 'npm install\u0000' })],
    ['recovery.command', recovery({ command: 'npm install\u001b[2K' })],
    ['recovery.command', recovery({ command: 'npm install\u0085' })],
    ['recovery.command', recovery({ command: 'npm install \ud800' })],
    ['recovery.command', recovery({ command: 'x'.repeat(5000) })],
    ['recovery.working_dir', recovery({ working_dir: '' })],
    ['recovery.working_dir', recovery({ working_dir: '/etc' })],
    ['recovery.working_dir', recovery({ working_dir: '~' })],
    ['recovery.working_dir', recovery({ working_dir: '..' })],
    ['recovery.working_dir', recovery({ working_dir: 'a/../../b' })],
    ['recovery.working_dir', recovery({ working_dir: 'a\u0000' })],
    ['recovery.timeout_seconds', recovery({ timeout_seconds: 0 })],
    ['recovery.timeout_seconds', recovery({ timeout_seconds: -5 })],
    ['recovery.timeout_seconds', recovery({ timeout_seconds: 0.5 })],
    ['recovery.timeout_seconds', recovery({ timeout_seconds: 3601 })],
    ['recovery.timeout_seconds', recovery({ timeout_seconds: 1e20 })],
    ['recovery.timeout_seconds', recovery({ timeout_seconds: '120' })],
    ['recovery.expected_outcome', recovery({ expected_outcome: undefined })],
    ['recovery.confidence', recovery({ confidence: 'HIGH' })],
    ['fallback', { ...valid, fallback: 'npm ci' }],
    ['fallback.command', { ...valid, fallback: { confidence: 'low' } }],
    ['fallback.command', { ...valid, fallback: { command: 'a\nb', confidence: 'low' } }],
    ['fallback.confidence', { ...valid, fallback: { command: 'npm ci' } }],
    ['fallback.timeout_seconds', { ...valid, fallback: { command: 'a', confidence: 'low', timeout_seconds: 9999 } }],
  ])('%s (%#)', (field, value) => {
    const read = checkProposal(value)
    expect(read).toMatchObject({ ok: false, field })
    expect(read.ok ? '' : read.problem).toContain(field === '' ? 'the whole file' : field)
  })

  test.each<[string, unknown]>([
    ['a time without a zone', { ...valid, timestamp: '2026-01-23T05:36:33' }],
    ['the longest timeout', recovery({ timeout_seconds: 3600 })],
    ['the shortest timeout', recovery({ timeout_seconds: 1 })],
    ['a folder', recovery({ working_dir: 'packages/app' })],
    ['a folder named with dots', recovery({ working_dir: '..a/.b' })],
    ['no evidence', diagnosis({ evidence: [] })],
    ['a command with other letters', recovery({ command: 'echo é' })],
  ])('%s is allowed', (_what, value) => {
    expect(checkProposal(value).ok).toBe(true)
  })
})

describe('bytes', () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
  test.each<[string, Uint8Array, boolean]>([
    ['the proposal itself', bytes(JSON.stringify(valid)), true],
    ['with a byte order mark', bytes(`\ufeff${JSON.stringify(valid)}`), true],
    ['cut', bytes(JSON.stringify(valid).slice(0, -1)), false],
    ['twice', bytes(JSON.stringify(valid).repeat(2)), false],
    ['empty', bytes(''), false],
    ['with a comment', bytes(`// x\n${JSON.stringify(valid)}`), false],
    ['not UTF-8', new Uint8Array([...bytes(JSON.stringify(valid)).slice(0, -1), 0xc3, 0x28, 0x7d]), false],
    ['a NUL in the middle', bytes(JSON.stringify(valid).replace('npm', 'n\u0000pm')), false],
    ['an escaped NUL', bytes(JSON.stringify(valid).replace('npm install', String.raw`npm install\u0000`)), false],
    ['an escaped new line', bytes(JSON.stringify(valid).replace('npm install', String.raw`npm install\n`)), false],
    ['too large', new Uint8Array(300 * 1024).fill(32), false],
    ['nested deeply', bytes('['.repeat(100_000)), false],
    ['a polluting key', bytes(JSON.stringify(valid).replace('"version"', '"__proto__":{"x":1},"version"')), false],
  ])('%s', (_what, given, ok) => {
    expect(readProposal(given).ok).toBe(ok)
  })

  test('an escape that decodes to the listed text is that text', () => {
    const read = readProposal(bytes(JSON.stringify(valid).replace('npm install', String.raw`\u006epm install`)))
    expect(read.ok && decideCommand(read.proposal.recovery.command, strict)).toEqual({ kind: 'run', source: 'auto' })
  })
})

describe('error patterns take linear time and are flagged', () => {
  const output = `${'a'.repeat(200_000)}\nCannot find module 'x'\n`
  test.each<[string, string | undefined]>([
    ['Cannot find module', undefined],
    ["^Cannot find module '.*'$", undefined],
    ['(?i)cannot FIND', undefined],
    ['cannot FIND', 'no_match'],
    ['(a+)+$b', 'no_match'],
    ['(a*)*!', 'no_match'],
    ['(.*)*(.*)*X9', 'no_match'],
    ['(', 'not_compiled'],
    ['[z-a]', 'not_compiled'],
    [String.raw`(a)\1`, 'not_compiled'],
    ['(?=a)b', 'not_compiled'],
    ['(?<!a)b', 'not_compiled'],
    ['a{99999}', 'not_compiled'],
    ['x'.repeat(5000), 'not_compiled'],
  ])('%.30j', (pattern, flag) => {
    expect(flagPattern(pattern, output)?.flag).toBe(flag)
  })
})
