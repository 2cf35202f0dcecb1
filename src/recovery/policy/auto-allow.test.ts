import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { autoAllow, autoAllowFor, type PathTask } from './auto-allow.ts'
import { commandNamesOf } from './command-names.ts'
import { infraSignals } from './infra-signals.ts'
import { defaultPolicyRecovery } from './recovery-policy.ts'
import { samples } from '../../../test/support/samples.ts'

const task: PathTask = {
  role: 'worker',
  title: 'Fix the parser',
  instructions: '',
  commands: ['make -C tools check'],
  contextFiles: ['lib/a.ts'],
  allowedPaths: ['src'],
  deniedPaths: ['vault'],
}

const because = (path: string, more: Partial<PathTask> = {}, mode = defaultPolicyRecovery.mode): string =>
  autoAllow(path, { ...task, ...more }, { ...defaultPolicyRecovery, mode }, [{ area: 'api', by: 'task 3' }]).because

describe('the sentence for people', () => {
  it.each([
    ['lib/a.ts', 'lib/a.ts is listed as context of the task.'],
    ['tools/Makefile', 'tools/Makefile is needed by the command "make -C tools check" (rule make).'],
    ['lib/Makefile', 'lib/Makefile is a build file, and the task concerns "make".'],
    ['.gitignore', '.gitignore at the top belongs to the build, and the task concerns "make".'],
    ['vault/k', 'vault/k is covered by the denied path vault.'],
    ['.env', '.env is a secret by its name (**/.env).'],
    ['api/x.ts', 'api/x.ts is in api, where task 3 works.'],
    ['../x', '../x is not allowed: the path leaves the repository with "..".'],
    ['lib/b.ts', 'lib/b.ts is outside of the allowed paths, and no rule connects it with the task.'],
    ['a\n\u202Eb', String.raw`"a\n\u{202e}b" is not allowed: the name contains a control character.`],
  ])('%s', (path, sentence) => expect(because(path)).toBe(sentence))

  it('says which mode would allow a path', () => {
    const sentence = (mode: string): string =>
      `lib/Makefile is outside of the allowed paths. The mode "balanced" would allow it; the mode is "${mode}".`
    expect(because('lib/Makefile', {}, 'conservative')).toBe(sentence('conservative'))
    expect(because('.gitignore', {}, 'balanced')).toContain('The mode "aggressive" would allow it')
  })

  it('cuts long names', () => {
    expect(because('x'.repeat(5000)).length).toBeLessThan(300)
  })
})

it('never throws, is deterministic, and never allows a denied path, a secret or another place', () => {
  const segment = fc.oneof(
    fc.constantFrom('..', '.git', '.env', 'vault', 'Makefile', 'lib', '', '*', 'a.pem'),
    fc.string(),
  )
  const path = fc.array(segment, { maxLength: 4 }).map((parts) => parts.join('/'))
  const text = fc.oneof(fc.string(), fc.constantFrom('make', '`make`', 'Fix the build', '```\nmake'))
  fc.assert(
    fc.property(path, text, text, (name, title, command) => {
      const given = { ...task, title, instructions: command, commands: [command], contextFiles: [name] }
      const first = autoAllow(name, given, defaultPolicyRecovery, [])
      expect(autoAllow(name, given, defaultPolicyRecovery, [])).toEqual(first)
      expect(first.because).not.toBe('')
      if (first.allowed) expect(name).not.toMatch(/(^|\/)(\.\.|\.git|\.env|[^/]*\.pem)(\/|$)|^vault(\/|$)|^\/|[*\0\n]/)
    }),
    { numRuns: samples(500) },
  )
})

it('judges tens of thousands of paths of one task at once', () => {
  const decide = autoAllowFor(task, defaultPolicyRecovery, [{ area: 'api', by: 'task 3' }])
  const began = performance.now()
  for (let at = 0; at < 30_000; at += 1) expect(decide(`node_modules/p${at}/index.js`).allowed).toBe(false)
  expect(performance.now() - began).toBeLessThan(60_000)
  expect(decide('lib/a.ts').rule).toBe('context_file')
})

describe('the signals of a task', () => {
  const toolsIn = (title: string, instructions = '', commands: string[] = []): string[] =>
    infraSignals({ title, instructions, commands }, defaultPolicyRecovery).tools

  it.each([
    ['a command', '', ['make test'], ['make']],
    ['a command behind others', '', ['cd x && npm ci && cargo test'], ['cargo']],
    ['a wrapper script of the tool', '', ['./gradlew test'], ['gradle']],
    ['a word in a command', '', ['echo make'], []],
    ['code', 'Run it with `make -j4`.', [], ['make']],
    ['code of another program', 'Print `echo make`.', [], []],
    ['a verb before the name', 'Then run make.', [], ['make']],
    ['a word that is only a tool', 'Port it to CMake.', [], ['cmake']],
    ['a part of a word', 'Fix the cmake-lint remark, remake it.', [], []],
    ['a file of the tool', 'Pin serde in Cargo.toml.', [], ['cargo']],
    ['a file of the tool in a folder', 'Pin serde in crates/a/Cargo.toml.', [], ['cargo']],
    ['a file with a similar name', 'Read Makefile.am and cargo.toml.', [], []],
    ['an English verb', 'Make it faster. We make cargo ships.', [], []],
    ['a forbidden tool', 'Never run make.', [], []],
    ['a forbidden block', 'Do not do this:\n```\nmake\n```', [], []],
  ])('%s', (_, instructions, commands, tools) => expect(toolsIn('x', instructions, commands)).toEqual(tools))

  it.each([
    ['Fix the build', ['build']],
    ['The build fails on Windows', ['build']],
    ['It does not compile', ['compile']],
    ['Do not compile it', []],
    ['Do not touch the build', []],
    ['The release build breaks; fix its link flags', ['build', 'link']],
    ['Fix compile errors', ['compile']],
    ['Build the login page', []],
    ['Link to the setup page', []],
    ['Compile a list of users', []],
    ['Use Bootstrap for the form', []],
  ])('the build in "%s"', (title, build) => {
    expect(infraSignals({ title, instructions: '', commands: [] }, defaultPolicyRecovery).build).toEqual(build)
  })

  it('hostile texts take no time', () => {
    for (const text of ['`', '\n', '```\n', 'a\n', 'the ', 'build ', '"', '$('].map((piece) => piece.repeat(50_000))) {
      const began = performance.now()
      infraSignals({ title: text, instructions: text, commands: [text] }, defaultPolicyRecovery)
      expect(performance.now() - began).toBeLessThan(10_000)
    }
  })
})

it.each([
  ['make', ['make']],
  ['gradle|gradlew|./gradlew', ['gradle', 'gradlew', './gradlew']],
  [String.raw`\bmake\b`, ['make']],
  ['^(?:cmake|ctest)$', ['cmake', 'ctest']],
  [String.raw`build\.sh`, ['build.sh']],
  ['', undefined],
  ['make|', undefined],
  ['ma.*', undefined],
  ['m+', undefined],
  ['(a|b)c', undefined],
  ['(a)|(b)', undefined],
  ['[a-z]', undefined],
  ['make test', undefined],
  ['x'.repeat(1001), undefined],
])('the names of the pattern %s', (pattern, names) => expect(commandNamesOf(pattern)).toEqual(names))
