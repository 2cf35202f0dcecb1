/** Launch lines, against those that were run with the real CLIs. */
import { describe, expect, it } from 'vitest'
import { acp } from '../../src/harness/acp.ts'
import { capabilitiesOf } from '../../src/harness/capabilities.ts'
import { claude } from '../../src/harness/claude.ts'
import { codex } from '../../src/harness/codex.ts'
import { command } from '../../src/harness/command.ts'
import type { LaunchRequest } from '../../src/harness/driver.ts'
import { driverNamed, drivers } from '../../src/harness/drivers.ts'
import { gemini } from '../../src/harness/gemini.ts'
import { driverNames } from '../../src/harness/names.ts'
import { opencode } from '../../src/harness/opencode.ts'
import { transcript } from './replay.ts'

const prompt = 'Create hello.txt with a greeting.'

/** The run's folder lies inside the workspace, so that it needs no flag of its own. */
const request = (more: Partial<LaunchRequest> = {}): LaunchRequest => ({
  can: capabilitiesOf(drivers.claude, undefined).capabilities,
  prompt,
  promptFile: '/repo/.run/prompt.md',
  workspace: '/repo',
  runDir: '/repo/.run',
  addDirs: [],
  skipGitCheck: false,
  toolRules: [],
  commands: [],
  extraArgs: [],
  ...more,
})

/** The recorded offline provider, which a test's configuration hands over as extra arguments. */
const stubArgs = (argv: string[]): string[] =>
  argv.flatMap((argument, at) => (argument === '-c' ? [argument, argv[at + 1] ?? ''] : []))

describe('claude launches', () => {
  it('a plain launch is the recorded one', () => {
    const { argv } = transcript('claude', 'happy')
    expect(claude.launch(request())).toEqual({
      argv,
      cwd: '/repo',
      env: { DISABLE_AUTOUPDATER: '1' },
      stdinFile: null,
    })
  })

  it('a relaunch with a directory is the recorded one', () => {
    const { argv } = transcript('claude', 'scope-write.recovered')
    expect(claude.launch(request({ addDirs: ['/outside'] })).argv).toEqual(argv)
  })

  it('a resumed launch with a directory is the recorded one', () => {
    const { argv } = transcript('claude', 'resume-after-scope.recovered')
    const resumed = request({
      prompt: argv[2] ?? '',
      resumeSession: argv[argv.indexOf('--resume') + 1] ?? '',
      addDirs: ['/outside'],
    })
    expect(claude.launch(resumed).argv).toEqual(argv)
  })

  it('the prompt stands before everything that takes several values', () => {
    const { argv } = claude.launch(
      request({
        addDirs: ['/a', '/b'],
        commands: ['npm test', 'npm run lint'],
        model: 'sonnet',
        extraArgs: ['--allowedTools', 'Bash(ls:*)'],
        program: ['node', 'fake.js'],
      }),
    )
    expect(argv.slice(0, 6)).toEqual(['node', 'fake.js', '--allowedTools', 'Bash(ls:*)', '-p', prompt])
    expect(argv.slice(11)).toEqual([
      '--model',
      'sonnet',
      '--add-dir',
      '/a',
      '--add-dir',
      '/b',
      '--allowedTools',
      'Bash(npm test:*)',
      'Bash(npm run lint:*)',
    ])
  })

  it('a command that cannot be written as one rule gives none, and no flag without rules', () => {
    expect(claude.launch(request({ commands: ['node -e "f()"', 'a\nb', ' '] })).argv).not.toContain('--allowedTools')
  })

  it('a run folder outside the workspace is opened', () => {
    const { argv } = claude.launch(request({ runDir: '/state/run', addDirs: ['/outside'] }))
    expect(argv.slice(-4)).toEqual(['--add-dir', '/outside', '--add-dir', '/state/run'])
  })

  it('never asks for a bypass mode', () => {
    for (const driver of [claude, codex, gemini, opencode])
      expect(driver.launch(request()).argv.join(' ')).not.toMatch(/dangerous|bypass|full-access|yolo|--auto\b/)
  })
})

describe('codex launches', () => {
  it.each([
    ['happy', {}],
    ['scope-write.recovered', { addDirs: ['/outside'] }],
    ['not-git.recovered-skip', { skipGitCheck: true }],
  ])('%s is launched as recorded, but for the working directory', (scenario, more) => {
    const recorded = transcript('codex', scenario).argv
    const line = codex.launch(request({ model: 'gpt-5.5', extraArgs: stubArgs(recorded), ...more }))
    const at = line.argv.indexOf('-C')
    expect(line.argv.slice(at, at + 2)).toEqual(['-C', '/repo'])
    expect(line.argv.toSpliced(at, 2)).toEqual(recorded)
    expect(line.env).toEqual({ RUST_LOG: 'error,codex_sandboxing=warn' })
    expect(line.stdinFile).toBeNull()
  })

  it('a resumed launch has every flag before resume, with the sandbox and directories again', () => {
    const recorded = transcript('codex', 'resume-after-scope.recovered').argv
    const [id = '', text = ''] = [recorded[3], recorded.at(-1)]
    const { argv } = codex.launch(
      request({ prompt: text, resumeSession: id, addDirs: ['/outside'], skipGitCheck: true, model: 'gpt-5.5' }),
    )
    expect(argv).toEqual([
      'codex',
      'exec',
      '--json',
      '-C',
      '/repo',
      '-m',
      'gpt-5.5',
      '-s',
      'workspace-write',
      '--add-dir',
      '/outside',
      '--skip-git-repo-check',
      'resume',
      id,
      text,
    ])
  })
})

describe('a CLI that cannot open directories', () => {
  it('is given no flag for them, which would end it', () => {
    const { capabilities: can } = capabilitiesOf(drivers.codex, '0.42.0')
    const { argv } = codex.launch(request({ can, runDir: '/state/run', addDirs: ['/outside'] }))
    expect(argv).not.toContain('--add-dir')
    expect(codex.launch(request({ addDirs: ['/outside'] })).argv).toContain('--add-dir')
  })
})

describe('gemini launches', () => {
  it('a plain launch is the recorded one, without its starting itself again', () => {
    expect(gemini.launch(request())).toEqual({
      argv: transcript('gemini', 'approval-auto_edit-shell').argv,
      cwd: '/repo',
      env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
      stdinFile: null,
    })
  })

  it('a resumed launch with a directory is the recorded one in the lesser mode', () => {
    const recorded = transcript('gemini', 'resume-after-scope.recovered').argv
    const resumed = request({
      prompt: recorded[2] ?? '',
      resumeSession: recorded[recorded.indexOf('--resume') + 1] ?? '',
      addDirs: ['/outside'],
    })
    expect(gemini.launch(resumed).argv).toEqual(recorded.map((part) => (part === 'yolo' ? 'auto_edit' : part)))
  })

  it('allows the shell for the commands of the task alone', () => {
    const { argv } = gemini.launch(request({ commands: ['npm test', 'npm test', 'a, b', 'f()', ' '], model: 'm' }))
    expect(argv.slice(-4)).toEqual(['-m', 'm', '--allowed-tools', 'run_shell_command(npm test)'])
  })

  it('leaves out a directory that its flag would split', () => {
    const { argv } = gemini.launch(request({ addDirs: ['/a,b', '/c'], runDir: '/state/run' }))
    expect(argv.slice(-4)).toEqual(['--include-directories', '/c', '--include-directories', '/state/run'])
  })
})

describe('opencode launches', () => {
  const permissions = (more: Parameters<typeof request>[0]): Record<string, unknown> =>
    JSON.parse(opencode.launch(request(more)).env['OPENCODE_PERMISSION'] ?? '') as Record<string, unknown>

  it('is the recorded launch with the log and the folder', () => {
    const recorded = transcript('opencode', 'model-404-switch.recovered').argv
    const at = recorded.indexOf('--session')
    const line = opencode.launch(request({ model: 'stub/m2', resumeSession: recorded[at + 1] ?? '' }))
    expect(line.argv).toEqual([
      ...recorded.slice(0, 4),
      ...['--print-logs', '--log-level', 'ERROR', '-m', 'stub/m2'],
      ...recorded.slice(at, at + 2),
      ...['--dir', '/repo', prompt],
    ])
    expect(line).toMatchObject({ cwd: '/repo', stdinFile: null })
  })

  it('leaves no class of permissions to be asked for', () => {
    expect(JSON.stringify(permissions({}))).not.toContain('"ask"')
    const classes = ['bash', 'doom_loop', 'edit', 'external_directory', 'question', 'read', 'task', 'webfetch']
    expect(Object.keys(permissions({}))).toEqual(expect.arrayContaining(classes))
  })

  it('opens the allowed directories and no other', () => {
    expect(permissions({ addDirs: ['/outside'], runDir: '/state/run' })['external_directory']).toEqual({
      '*': 'deny',
      '/outside/**': 'allow',
      '/state/run/**': 'allow',
    })
  })
})

describe('prompts as arguments', () => {
  it.each(['--help', '-', '- a list\n- of wishes', 'resume', 'review', ''])(
    '%j is neither an option nor a subcommand',
    (text) => {
      for (const driver of [claude, codex, gemini, opencode]) {
        const { argv } = driver.launch(request({ prompt: text }))
        expect(argv).toContain(`\n${text}`)
      }
    },
  )

  it('a NUL does not reach the program', () => {
    for (const driver of [claude, codex, gemini, opencode, command]) {
      const { argv } = driver.launch(request({ prompt: 'a b\0c', program: ['p'] }))
      expect(argv.join('')).not.toContain('\0')
    }
  })
})

describe('command launches', () => {
  it('the prompt comes last unless the arguments name its place', () => {
    expect(command.launch(request({ program: ['agent'], extraArgs: ['--quiet'] })).argv).toEqual([
      'agent',
      '--quiet',
      prompt,
    ])
    expect(command.launch(request({ program: ['agent', '--say={prompt}', 'x'] })).argv).toEqual([
      'agent',
      `--say=${prompt}`,
      'x',
    ])
  })

  it('by file and by standard input the prompt itself is no argument', () => {
    const file = command.launch(request({ program: ['agent', '-f', '{promptFile}'], promptMode: 'file' }))
    expect(file).toMatchObject({ argv: ['agent', '-f', '/repo/.run/prompt.md'], stdinFile: null })
    expect(command.launch(request({ program: ['agent'], promptMode: 'file' })).argv).toEqual([
      'agent',
      '/repo/.run/prompt.md',
    ])
    const stdin = command.launch(request({ program: ['agent', '{workspace}', '{runDir}'], promptMode: 'stdin' }))
    expect(stdin).toMatchObject({ argv: ['agent', '/repo', '/repo/.run'], stdinFile: '/repo/.run/prompt.md' })
  })

  it('what looks like a placeholder or a pattern inside the prompt stays as it is', () => {
    const text = '{workspace} $& $1 {promptFile}'
    expect(command.launch(request({ prompt: text, program: ['agent', '<{prompt}>'] })).argv).toEqual([
      'agent',
      `<${text}>`,
    ])
  })

  it('without a program it says what to configure', () => {
    for (const program of [undefined, []])
      expect(() => command.launch(request(program === undefined ? {} : { program }))).toThrow(
        /harness\.command\.command/,
      )
  })
})

describe('drivers by name', () => {
  it('finds them and nothing else', () => {
    expect(driverNames).toEqual(['claude', 'codex', 'gemini', 'opencode', 'acp', 'command'])
    for (const name of driverNames) expect(driverNamed(name)?.name).toBe(name)
    for (const name of ['', 'cursor', '__proto__', 'constructor']) expect(driverNamed(name)).toBeUndefined()
  })
})

describe('what the owner left unrestricted', () => {
  it.each([
    [claude, /--permission-mode bypassPermissions/],
    [codex, /-s danger-full-access/],
    [gemini, /--approval-mode yolo/],
    [acp, /--allow-all -- agent/],
  ])('is launched without bounds, and nothing else is', (driver, bounds) => {
    const lineOf = (more: Partial<LaunchRequest>): string =>
      driver.launch(request({ program: ['agent'], ...more })).argv.join(' ')
    expect(lineOf({ unrestricted: true })).toMatch(bounds)
    expect(lineOf({})).not.toMatch(bounds)
  })

  it('is told to OpenCode by its permissions', () => {
    const asked = (more: Partial<LaunchRequest>): { external_directory: Record<string, string> } =>
      JSON.parse(opencode.launch(request(more)).env['OPENCODE_PERMISSION'] ?? '') as never
    expect(asked({ unrestricted: true }).external_directory).toEqual({ '*': 'allow' })
    expect(asked({}).external_directory).toMatchObject({ '*': 'deny' })
  })
})

describe('a resumed session', () => {
  it.each([claude, codex, gemini, opencode, acp])('is given every granted directory again: %o', (driver) => {
    const granted = { addDirs: ['/first', '/second'], resumeSession: 'session-1', program: ['agent'] }
    const { argv, env } = driver.launch(request(granted))
    const line = [...argv, ...Object.values(env)].join(' ')
    expect(line).toContain('session-1')
    for (const dir of granted.addDirs) expect(line).toContain(dir)
  })
})
