/** The command lines that `unstuck exec` makes of the user's: events asked for, corrections added, the rest as it was. */
import { describe, expect, test } from 'vitest'
import { agentCommand } from './agent-command.ts'
import { AppError } from '../errors.ts'
import { noCorrections } from '../domain/run.ts'

const lineOf = (
  argv: string[],
  more: { addDirs?: string[]; skipGitCheck?: boolean; resume?: string; again?: true } = {},
) => {
  const { resume, again, ...corrections } = more
  return agentCommand(argv, 'auto').line({
    corrections: { ...noCorrections, ...corrections },
    ...(resume === undefined ? {} : { hint: { session: resume, text: 'Go on.' } }),
    ...(again === undefined ? {} : { hint: { text: 'Take smaller steps.' } }),
  })
}

const events = ['--output-format', 'stream-json', '--verbose']
const log = ['--format', 'json', '--print-logs', '--log-level', 'ERROR']

describe('the first launch', () => {
  test.each<[string, string[], string[]]>([
    ['claude', ['claude', '-p', 'do it', '--model', 'x'], ['claude', ...events, '-p', 'do it', '--model', 'x']],
    ['claude, other format', ['claude', '-p', 'do', '--output-format=json'], ['claude', ...events, '-p', 'do']],
    ['claude by path', ['/opt/claude', '--print', 'do'], ['/opt/claude', ...events, '--print', 'do']],
    ['codex', ['codex', '-c', 'a=b', 'exec', 'do it'], ['codex', '-c', 'a=b', 'exec', '--json', 'do it']],
    ['codex, asked for already', ['codex', 'exec', '--json', 'do'], ['codex', 'exec', '--json', 'do']],
    ['gemini', ['gemini', '-p', 'do', '-o', 'text'], ['gemini', '-p', 'do', '-o', 'stream-json']],
    ['anything else', ['./agent', '-p', 'x'], ['./agent', '-p', 'x']],
  ])('%s', (_name, given, made) => {
    expect(lineOf(given)).toMatchObject({ argv: made, resumed: false })
  })

  test('opencode asks for its events and log, in front of what is no option any more', () => {
    expect(lineOf(['opencode', 'run', '--', '-x']).argv).toEqual([
      'opencode',
      'run',
      '--format',
      'json',
      '--print-logs',
      '--log-level',
      'ERROR',
      '--',
      '-x',
    ])
  })
})

describe('a relaunch', () => {
  const dirs = { addDirs: ['/a', '/b'] }
  test.each<[string, string[], Parameters<typeof lineOf>[1], string[], boolean]>([
    [
      'claude goes on',
      ['claude', '-p', 'do'],
      { ...dirs, resume: 's' },
      ['claude', ...events, '-p', 'Go on.', '--resume', 's', '--add-dir', '/a', '--add-dir', '/b'],
      true,
    ],
    [
      'claude with its prompt elsewhere begins again',
      ['claude', 'do', '-p'],
      { ...dirs, resume: 's' },
      ['claude', ...events, 'do', '-p', '--add-dir', '/a', '--add-dir', '/b'],
      false,
    ],
    [
      'claude leaves the session that it resumed',
      ['claude', '-p', 'do', '--resume', 'old'],
      { resume: 's' },
      ['claude', ...events, '-p', 'Go on.', '--resume', 's'],
      true,
    ],
    [
      'codex skips its check',
      ['codex', 'exec', 'do'],
      { skipGitCheck: true },
      ['codex', 'exec', '--json', '--skip-git-repo-check', 'do'],
      false,
    ],
    [
      'codex goes on',
      ['codex', 'exec', '-m', 'gpt', 'do'],
      { ...dirs, resume: 's' },
      ['codex', 'exec', '--json', '--add-dir', '/a', '--add-dir', '/b', '-m', 'gpt', 'resume', 's', 'Go on.'],
      true,
    ],
    [
      'codex behind a switch goes on',
      ['codex', 'exec', '--full-auto', 'do'],
      { resume: 's' },
      ['codex', 'exec', '--json', '--full-auto', 'resume', 's', 'Go on.'],
      true,
    ],
    [
      'codex whose last word may be a value begins again',
      ['codex', 'exec', 'do', '-m', 'gpt'],
      { resume: 's' },
      ['codex', 'exec', '--json', 'do', '-m', 'gpt'],
      false,
    ],
    [
      'codex that resumed itself begins again',
      ['codex', 'exec', 'resume', 'x', 'do'],
      { resume: 's' },
      ['codex', 'exec', '--json', 'resume', 'x', 'do'],
      false,
    ],
    [
      "gemini goes on and includes; trust is its user's decision",
      ['gemini', '-p', 'do'],
      { addDirs: ['/a', '/b,c'], skipGitCheck: true, resume: 's' },
      ['gemini', '-p', 'Go on.', '--resume', 's', '-o', 'stream-json', '--include-directories', '/a'],
      true,
    ],
    [
      'opencode goes on',
      ['opencode', 'run', '-m', 'a/b', '--auto', 'do'],
      { resume: 's' },
      ['opencode', 'run', '-m', 'a/b', '--auto', 'Go on.', '--session', 's', ...log],
      true,
    ],
    [
      'opencode whose last word may be a value begins again',
      ['opencode', 'run', 'do', '-m', 'a/b'],
      { resume: 's' },
      ['opencode', 'run', 'do', '-m', 'a/b', ...log],
      false,
    ],
    [
      'a hint without a session stands behind the task (claude)',
      ['claude', '-p', 'do', '--session-id', 'once', '--resume', 'older'],
      { again: true },
      ['claude', ...events, '-p', 'do\n\nTake smaller steps.', '--resume', 'older'],
      false,
    ],
    [
      'a hint without a session stands behind the task (codex)',
      ['codex', 'exec', 'do'],
      { again: true },
      ['codex', 'exec', '--json', 'do\n\nTake smaller steps.'],
      false,
    ],
    [
      'a hint without a session stands behind the task (gemini)',
      ['gemini', '-p', 'do'],
      { again: true },
      ['gemini', '-p', 'do\n\nTake smaller steps.', '-o', 'stream-json'],
      false,
    ],
    ['anything else is the same again', ['agent', 'x'], { ...dirs, resume: 's' }, ['agent', 'x'], false],
  ])('%s', (...[, given, change, argv, resumed]) => {
    expect(lineOf(given, change)).toMatchObject({ argv, resumed })
  })

  test.each([
    [['claude', '-p', 'do', '--add-dir', '/x', '/a', '--model', 'm'], '--add-dir', 2],
    [['codex', 'exec', '--add-dir=/', 'do'], '--add-dir', 0],
    [['gemini', '-p', 'do', '--include-directories', '/x,/a'], '--include-directories', 2],
  ])('%j is not given twice what it has', (argv, flag, added) => {
    const line = lineOf(argv, { addDirs: ['/a', '/b'] }).argv
    expect(line.filter((arg) => arg === flag)).toHaveLength(added)
    expect(line.includes('/b')).toBe(added > 0)
  })

  test('a fresh session resumes nothing, not even what its user named', () => {
    const fresh = { corrections: noCorrections, hint: { text: 'Go on.', fresh: true as const } }
    const line = (argv: string[]) => agentCommand(argv, 'auto').line(fresh).argv.join(' ')
    expect(line(['claude', '-p', 'do', '--resume', 'old'])).toMatch(/do\n\nGo on\.$/)
    expect(line(['gemini', '-p', 'do', '--resume', 'old'])).not.toContain('old')
    expect(line(['opencode', 'run', '--session', 'old', 'do'])).not.toContain('old')
  })

  test('opencode gets directories by its environment', () => {
    expect(lineOf(['opencode', 'run', 'x']).env).not.toHaveProperty('OPENCODE_PERMISSION')
    expect(JSON.parse(lineOf(['opencode', 'run', 'x'], { addDirs: ['/a'] }).env.OPENCODE_PERMISSION ?? '')).toEqual({
      external_directory: { '/a/**': 'allow' },
    })
  })
})

describe('a command that waits for a person', () => {
  test.each([
    [['claude', 'do it'], 'claude -p'],
    [['codex', 'do it'], 'codex exec'],
    [['gemini', 'do it'], 'gemini -p'],
    [['opencode'], 'opencode run'],
  ])('%j is refused with its headless form', (argv, form) => {
    expect(() => lineOf(argv)).toThrow(
      expect.objectContaining({ code: 'USAGE', message: expect.stringContaining(form) }),
    )
  })

  test('a harness that nobody knows is named with those that are known', () => {
    expect(() => agentCommand(['x'], 'cursor')).toThrow(AppError)
    expect(() => agentCommand(['x'], 'cursor')).toThrow(/auto, claude, codex, gemini, opencode, command/)
  })

  test('the harness can be given where the program has another name', () => {
    expect(agentCommand(['./my-claude', '-p', 'x'], 'claude').driver.name).toBe('claude')
  })
})
