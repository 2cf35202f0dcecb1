/** Paths, commands and settings that try to leave the fence. Each row states the input and the exact result. */
import { describe, expect, it } from 'vitest'
import { autoAllow, type AllowRule, type HeldArea, type PathTask, type RefuseRule } from './auto-allow.ts'
import { commandRulePaths } from './command-rules.ts'
import { generatedMatcher, isLikelyGeneratedArtifactPath } from './generated.ts'
import { checkPathPolicy, type ChangedPath, type PathPolicyInput, type ViolationKind } from './path-policy.ts'
import { parsePathRule, type PathRule } from './path-rule.ts'
import {
  defaultPolicyRecovery,
  mergePolicyRecovery,
  policyRecoverySchema,
  type PolicyRecoveryLayer,
} from './recovery-policy.ts'

const plain: PathTask = {
  role: 'worker',
  title: 'Fix the parser',
  instructions: '',
  commands: [],
  contextFiles: [],
  allowedPaths: ['src'],
  deniedPaths: [],
}

/** A task for which the path would be allowed if nothing spoke against it. */
const listing = (path: string): Partial<PathTask> => ({ contextFiles: [path] })

const judge = (path: string, task: Partial<PathTask>, layer: PolicyRecoveryLayer = {}, held: HeldArea[] = []) =>
  autoAllow(path, { ...plain, ...task }, mergePolicyRecovery(defaultPolicyRecovery, layer), held)

const nfc = 'src/caf\u00E9.ts'
const nfd = 'src/cafe\u0301.ts'

describe('a path that the task lists as context', () => {
  const rows: [name: string, path: string, rule: RefuseRule | 'context_file', more?: Partial<PathTask>][] = [
    ['a plain file', 'lib/a.ts', 'context_file'],
    ['a name with a space', 'lib/a b.ts', 'context_file'],
    ['letters outside of ASCII', 'src/日本語.ts', 'context_file'],
    ['a route of Next.js', 'app/[id]/page.tsx', 'context_file'],
    ['a catch-all route', 'app/[...slug]/(shop)/page.tsx', 'context_file'],
    ['an optional catch-all route', 'app/[[...slug]]/page.tsx', 'context_file'],
    ['a name that only begins with two dots', 'lib/..a.ts', 'context_file'],
    ['a name that ends with dots', 'lib/a...', 'context_file'],
    ['a name that contains .git', 'lib/.github/a.yml', 'context_file'],
    ['a package with @', 'packages/@scope/a.ts', 'context_file'],
    ['braces without a comma', 'lib/{a}.ts', 'context_file'],
    ['a dash inside the path', 'lib/-rf', 'context_file'],
    ['an empty path', '', 'unsafe_path'],
    ['the parent folder', '../../etc/passwd', 'unsafe_path'],
    ['the parent folder inside the path', 'lib/../../x', 'unsafe_path'],
    ['a step back that stays inside', 'lib/../src/a.ts', 'unsafe_path'],
    ['only ..', '..', 'unsafe_path'],
    ['only .', '.', 'unsafe_path'],
    ['a . segment', 'lib/./a.ts', 'unsafe_path'],
    ['an empty segment', 'lib//a.ts', 'unsafe_path'],
    ['a folder', 'lib/', 'unsafe_path'],
    ['an absolute path', '/etc/passwd', 'unsafe_path'],
    ['a Windows drive', 'C:/Windows/x', 'unsafe_path'],
    ['a backslash', String.raw`lib\..\..\x`, 'unsafe_path'],
    ['the home folder', '~/x', 'unsafe_path'],
    ['an option', '--output=x', 'unsafe_path'],
    ['a short option', '-rf', 'unsafe_path'],
    ['a star', 'src/*.ts', 'unsafe_path'],
    ['everything', '**', 'unsafe_path'],
    ['everything below', 'lib/**', 'unsafe_path'],
    ['a question mark', 'lib/a?.ts', 'unsafe_path'],
    ['alternatives', 'lib/{a,b}.ts', 'unsafe_path'],
    ['a line break', 'lib/a\nb.ts', 'unsafe_path'],
    ['a carriage return', 'lib/a\r.ts', 'unsafe_path'],
    ['a NUL', 'lib/a\0.ts', 'unsafe_path'],
    ['an escape sequence of a terminal', 'lib/\u001B[2Ja.ts', 'unsafe_path'],
    ['a line separator', 'lib/a\u2028b.ts', 'unsafe_path'],
    ['a right-to-left override', 'lib/\u202Egpj.ts', 'unsafe_path'],
    ['a zero-width space', 'lib/a\u200Bb.ts', 'unsafe_path'],
    ['a byte order mark', '\uFEFFlib/a.ts', 'unsafe_path'],
    ['bytes that are not UTF-8', 'lib/\uFFFD.ts', 'unsafe_path'],
    ['half a surrogate pair', 'lib/\uD83D.ts', 'unsafe_path'],
    ['a name of 1,025 characters', 'a'.repeat(1025), 'unsafe_path'],
    ['a name of 1,024 characters', 'a'.repeat(1024), 'context_file'],
    ['the git folder', '.git/config', 'unsafe_path'],
    ['a hook', '.git/hooks/pre-commit', 'unsafe_path'],
    ['the git folder in capitals', '.GIT/config', 'unsafe_path'],
    ['the git folder with a character that HFS+ ignores', '.g\u200Cit/config', 'unsafe_path'],
    ['the git folder by its short name on NTFS', 'GIT~1/config', 'unsafe_path'],
    ['the git folder with a trailing dot', '.git./config', 'unsafe_path'],
    ['the git folder of a nested repository', 'vendor/x/.git/config', 'unsafe_path'],
    ['a stream of the git folder', '.git::$INDEX_ALLOCATION/config', 'unsafe_path'],
    ['the settings of Unstuck', '.unstuck/policy-recovery.json', 'unsafe_path'],
    ['the settings of Unstuck in capitals', '.Unstuck/config.json', 'unsafe_path'],
    ['a secret', '.env', 'secret'],
    ['a secret in a folder', 'apps/api/.env.local', 'secret'],
    ['a secret in capitals', 'lib/SERVER.PEM', 'secret'],
    ['a secret key', 'id_rsa', 'secret'],
    ['a backup of a secret', 'lib/server.pem.bak', 'secret'],
    ['a template of a secret', '.env.example', 'context_file'],
    ['a denied file', 'lib/a.ts', 'denied', { deniedPaths: ['lib/a.ts'] }],
    ['a denied folder', 'lib/a.ts', 'denied', { deniedPaths: ['lib'] }],
    ['a denied glob', 'lib/x/a.sql', 'denied', { deniedPaths: ['**/*.sql'] }],
    ['a denied path in other case', 'LIB/A.ts', 'denied', { deniedPaths: ['lib'] }],
    ['a denied path in the other Unicode form', nfd, 'denied', { deniedPaths: [nfc] }],
    ['a denied route with brackets', 'app/[id]/page.tsx', 'denied', { deniedPaths: ['app/[id]'] }],
    ['a denied route does not deny its neighbour', 'app/i/page.tsx', 'context_file', { deniedPaths: ['app/[id]'] }],
    ['denied comes before secret', '.env', 'denied', { deniedPaths: ['.env'] }],
    ['a denied path that cannot be read denies everything', 'lib/a.ts', 'denied', { deniedPaths: ['../x'] }],
    ['denied comes before the docs task', 'lib/a.ts', 'denied', { deniedPaths: ['lib'], role: 'docser' }],
    ['a docs task', 'lib/a.ts', 'docs_task', { role: 'docser' }],
    ['listed with ./', 'lib/a.ts', 'context_file', { contextFiles: ['./lib/a.ts'] }],
    ['listed in other case', 'lib/A.ts', 'no_rule', { contextFiles: ['lib/a.ts'] }],
    ['listed in the other Unicode form', nfd, 'no_rule', { contextFiles: [nfc] }],
    ['listed with a look-alike', 'lib/\u0430.ts', 'no_rule', { contextFiles: ['lib/a.ts'] }],
    ['a context file with a star is a name', 'lib/a.ts', 'no_rule', { contextFiles: ['lib/*.ts', '**'] }],
    ['a context folder is a name', 'lib/a.ts', 'no_rule', { contextFiles: ['lib', 'lib/'] }],
    ['a context file with brackets is a name', 'app/i/page.tsx', 'no_rule', { contextFiles: ['app/[id]/page.tsx'] }],
    ['below a context file', 'lib/a.ts/b', 'no_rule', { contextFiles: ['lib/a.ts'] }],
    ['with a trailing space', 'lib/a.ts ', 'no_rule', { contextFiles: ['lib/a.ts'] }],
  ]
  it.each(rows)('%s', (_, path, rule, more = {}) => {
    expect(judge(path, { ...listing(path), ...more })).toMatchObject({ rule, allowed: rule === 'context_file' })
  })
})

describe('an area of another task', () => {
  const rows: [name: string, path: string, area: string, rule: RefuseRule | 'context_file'][] = [
    ['the same folder', 'lib/a.ts', 'lib', 'held_area'],
    ['the file itself', 'lib/a.ts', 'lib/a.ts', 'held_area'],
    ['a slash at its end', 'lib/a.ts', 'lib/', 'held_area'],
    ['a glob', 'lib/x/a.ts', 'lib/**', 'held_area'],
    ['a folder with brackets at the top', '[lang]/page.tsx', '[lang]', 'held_area'],
    ['a folder that only begins alike', 'library/a.ts', 'lib', 'context_file'],
    ['other case', 'Lib/a.ts', 'lib', 'context_file'],
    ['no area', 'lib/a.ts', '', 'context_file'],
  ]
  it.each(rows)('%s', (_, path, area, rule) => {
    expect(judge(path, listing(path), {}, [{ area, by: 'task 3' }])).toMatchObject({ rule })
  })
})

describe('build files', () => {
  type Row = [
    name: string,
    path: string,
    task: Partial<PathTask>,
    rule: AllowRule | RefuseRule,
    layer?: PolicyRecoveryLayer,
  ]
  const make = { commands: ['make test'] }
  const balanced = { mode: 'balanced' as const }
  const conservative = { mode: 'conservative' as const }
  const rows: Row[] = [
    ['the Makefile of a command', 'Makefile', make, 'command_rule'],
    ['balanced: by the command of the task', 'Makefile', make, 'command_rule', balanced],
    ['conservative: by the command of the task', 'Makefile', make, 'command_rule', conservative],
    ['conservative: not by a rule alone', 'Makefile', {}, 'no_rule', conservative],
    ['balanced: not by a rule alone', 'Makefile', {}, 'no_rule', balanced],
    ['balanced: a Makefile in another folder', 'sub/Makefile', make, 'infra_file', balanced],
    ['balanced has no command rules', 'infra/x.tf', { commands: ['terraform plan'] }, 'no_rule', balanced],
    ['a Makefile without make', 'Makefile', {}, 'command_rule'],
    ['a Makefile in other case', 'MAKEFILE', make, 'no_rule'],
    ['a Makefile with Cyrillic letters', 'M\u0430kefile', make, 'no_rule'],
    ['a Makefile with a dot', 'Makefile.', make, 'no_rule'],
    ['"Make the button blue" is not make', 'Makefile', { title: 'Make the button blue' }, 'command_rule'],
    ['"Build the settings page" is not the build', 'Makefile', { title: 'Build the settings page' }, 'command_rule'],
    ['"Link the docs" is not the linker', 'Makefile', { title: 'Link the docs' }, 'command_rule'],
    ['make in code is make', 'Makefile', { instructions: 'Use `make check` for it.' }, 'infra_file'],
    ['make in a code block', 'Makefile', { instructions: 'Then:\n```sh\nmake check\n```' }, 'infra_file'],
    ['a forbidden tool', 'Makefile', { instructions: 'Do not use `make`.' }, 'no_rule'],
    ['a forbidden file', 'Makefile', { instructions: 'Leave the Makefile as it is.' }, 'no_rule'],
    ['a named file', 'Makefile', { instructions: 'Add a target to the Makefile.' }, 'infra_file'],
    ['the broken build', 'CMakeLists.txt', { title: 'Fix the build' }, 'infra_file'],
    ['the broken build needs no Cargo.lock', 'Cargo.lock', { title: 'Fix the build' }, 'command_rule'],
    ['Cargo.lock with make but without cargo', 'Cargo.lock', make, 'command_rule'],
    ['Cargo.lock with cargo', 'Cargo.lock', { commands: ['cargo test'] }, 'command_rule'],
    ['go.mod with `echo go home`', 'go.mod', { commands: ['echo go home'] }, 'command_rule'],
    ['go.mod with make', 'go.mod', make, 'command_rule'],
    ['go.mod with go', 'go.mod', { commands: ['go vet ./...'] }, 'command_rule'],
    ['go.mod of another module', 'other/go.mod', { commands: ['cd sub && go vet ./...'] }, 'no_rule'],
    ['go.mod of this module', 'sub/go.mod', { commands: ['cd sub && go vet ./...'] }, 'command_rule'],
    ['a linker script', 'boot/kernel.ld', { title: 'Fix the link script' }, 'infra_file'],
    ['a linker script without a reason', 'boot/kernel.ld', {}, 'no_rule'],
    ['a file that is only an extension', 'boot/.ld', make, 'no_rule'],
    ['package.json with "link"', 'package.json', { title: 'Link the build page' }, 'no_rule'],
    ['package.json with make', 'package.json', make, 'no_rule'],
    ['package.json with the build', 'package.json', { title: 'Fix the build' }, 'no_rule'],
    ['Dockerfile with "build"', 'Dockerfile', { title: 'Fix the build', commands: ['make'] }, 'no_rule'],
    ['id_rsa with the build', 'id_rsa', { title: 'Fix the build', commands: ['make'] }, 'secret'],
    ['server.pem with the build', 'server.pem', { title: 'Fix the build', commands: ['make'] }, 'secret'],
    ['secrets.json with the build', 'secrets.json', { title: 'Fix the build', commands: ['make'] }, 'secret'],
    ['.env with the build', '.env', { title: 'Fix the build', commands: ['make'] }, 'secret'],
    ['.npmrc with the build', '.npmrc', { title: 'Fix the build', commands: ['make'] }, 'no_rule'],
    ['.gitignore with the build', '.gitignore', make, 'root_infra'],
    ['.gitignore in a folder', 'sub/.gitignore', make, 'no_rule'],
    ['.gitignore without the build', '.gitignore', {}, 'no_rule'],
    ['balanced: .gitignore', '.gitignore', make, 'no_rule', balanced],
    ['a second file of the tool at the top', 'GNUmakefile', make, 'root_infra'],
    ['a second file of the tool elsewhere', 'sub/GNUmakefile', make, 'no_rule'],
    ['a second file of another tool', 'rust-toolchain.toml', make, 'no_rule'],
    ['a name of Object.prototype', 'constructor', { commands: ['constructor', '__proto__ x'] }, 'no_rule'],
    ['a denied build file', 'Makefile', { ...make, deniedPaths: ['Makefile'] }, 'denied'],
    ['a docs task with make', 'Makefile', { ...make, role: 'docser' }, 'docs_task'],
    [
      'a rule of the owner',
      'infra/db/main.tf',
      { commands: ['terraform plan'] },
      'command_rule',
      { commandDrivenAllowedPathRules: [{ pattern: 'terraform', paths: ['infra/'] }] },
    ],
    [
      'a folder of a rule is not its prefix',
      'infra-old/main.tf',
      { commands: ['terraform plan'] },
      'no_rule',
      { commandDrivenAllowedPathRules: [{ pattern: 'terraform', paths: ['infra/'] }] },
    ],
    [
      'a secret in a folder of a rule',
      'infra/db/server.key',
      { commands: ['terraform plan'] },
      'secret',
      { commandDrivenAllowedPathRules: [{ pattern: 'terraform', paths: ['infra/'] }] },
    ],
    [
      'replaced rules do not apply',
      'go.mod',
      { commands: ['go vet ./...'] },
      'no_rule',
      { replaceDefaultCommandDrivenAllowedPathRules: true },
    ],
  ]
  it.each(rows)('%s', (...[, path, task, rule, layer = {}]) => {
    const allowed = ['context_file', 'command_rule', 'infra_file', 'root_infra'].includes(rule)
    expect(judge(path, task, layer)).toMatchObject({ rule, allowed })
  })
})

describe('the files that a command needs', () => {
  const rows: [command: string, ...paths: string[]][] = [
    ['make test', 'Makefile'],
    ['make -C sub test', 'sub/Makefile'],
    ['make -Csub test', 'sub/Makefile'],
    ['make --directory=sub', 'sub/Makefile'],
    ['make -C a -C b', 'a/b/Makefile'],
    ['make -f build.mk', 'build.mk'],
    ['make -C sub -f ../x.mk', 'x.mk'],
    ['cd sub && make', 'sub/Makefile'],
    ['cd a && cd b && make', 'a/b/Makefile'],
    ['/usr/bin/make', 'Makefile'],
    ['CC=clang make', 'Makefile'],
    ['env CC=clang make', 'Makefile'],
    ['timeout 60 make', 'Makefile'],
    ['cargo test --manifest-path crates/a/Cargo.toml', 'crates/a/Cargo.toml', 'crates/a/Cargo.lock'],
    ['cargo test -- -C sub', 'Cargo.toml', 'Cargo.lock'],
    ['cmake -S src -B build', 'src/CMakeLists.txt'],
    ['cd build && cmake ..', 'CMakeLists.txt'],
    ['cmake -B build -DX=1 src', 'src/CMakeLists.txt'],
    ['cmake -P script.cmake'],
    ['ninja -C build', 'build/build.ninja'],
    ['go test -C sub ./...', 'sub/go.mod', 'sub/go.sum'],
    ['go test -modfile=tools.mod ./...', 'tools.mod', 'tools.sum'],
    ['mvn -f sub verify', 'sub/pom.xml'],
    ['mvn -f sub/pom.xml verify', 'sub/pom.xml'],
    ['mvn -fae verify', 'pom.xml'],
    ['go vet && cd sub && make', 'go.mod', 'go.sum', 'sub/Makefile'],
    ['echo go home'],
    ['npm run make'],
    ['git commit -m "make cargo go"'],
    ['sudo make'],
    ['sh -c "make"'],
    ['Make test'],
    ['make.sh'],
    ['make | tee log'],
    ['make; rm -rf x'],
    ['make $(cat x)'],
    ['make -C "$DIR"'],
    ['make -kC sub'],
    ['make -C ../x'],
    ['make -C /etc'],
    ['make -f /etc/passwd'],
    ['make -f ../../etc/passwd'],
    ['make -f .env'],
    ['make -f "*.mk"'],
    ['make -f -'],
    ['cd .. && make'],
    ['cd /etc && make'],
    ['cd .git && make'],
    ['env -i make'],
    ['make "unclosed'],
    [''],
    ['\0make'],
  ]
  it.each(rows.map(([command, ...paths]) => ({ command, paths })))('$command', ({ command, paths }) => {
    expect(commandRulePaths([command], defaultPolicyRecovery).map(({ path }) => path)).toEqual(paths)
  })
})

describe('what may enter a commit', () => {
  const rule = (text: string): PathRule => {
    const parsed = parsePathRule(text)
    if (!parsed.ok) throw new Error(parsed.reason)
    return parsed.rule
  }
  const absent = '000000'
  const file = '100644'
  const change = (path: string, oldMode: string, newMode: string): ChangedPath => ({ path, oldMode, newMode })
  const moved = (from: string, to: string): ChangedPath[] => [change(from, file, absent), change(to, absent, file)]
  type Row = [
    name: string,
    changes: ChangedPath[],
    kinds: Record<string, ViolationKind>,
    more?: Partial<PathPolicyInput>,
  ]
  const rows: Row[] = [
    ['a file moved inside', moved('src/a.ts', 'src/b.ts'), {}],
    ['a file moved out', moved('src/a.ts', 'lib/a.ts'), { 'lib/a.ts': 'outside' }],
    ['a file moved in', moved('lib/a.ts', 'src/a.ts'), { 'lib/a.ts': 'outside' }],
    ['a secret moved in', moved('secrets.json', 'src/k.txt'), { 'secrets.json': 'secret' }],
    ['a denied file moved in', moved('vault/k', 'src/k'), { 'vault/k': 'denied' }],
    ['a file moved to a secret', moved('src/a', 'src/a.pem'), { 'src/a.pem': 'secret' }],
    ['a file renamed in case only', moved('src/a.ts', 'src/A.ts'), {}],
    ['a folder renamed in case only', moved('src/a.ts', 'Src/a.ts'), { 'Src/a.ts': 'outside' }],
    ['a submodule', [change('src/lib', absent, '160000')], { 'src/lib': 'nested_repository' }],
    ['a file that becomes a submodule', [change('src/lib', file, '160000')], { 'src/lib': 'nested_repository' }],
    ['a submodule that is removed', [change('src/lib', '160000', absent)], { 'src/lib': 'nested_repository' }],
    [
      'a file in a nested repository',
      [change('src/lib/a', absent, file)],
      { 'src/lib/a': 'nested_repository', 'src/lib': 'nested_repository' },
      { nestedRepositories: ['src/lib/'] },
    ],
    [
      'a symlink out',
      [change('src/l', absent, '120000')],
      { 'src/l': 'symlink_out' },
      { symlinkTargets: new Map([['src/l', '../../etc']]) },
    ],
    [
      'a symlink into the git folder',
      [change('src/l', absent, '120000')],
      { 'src/l': 'symlink_out' },
      { symlinkTargets: new Map([['src/l', '../.GIT/hooks']]) },
    ],
    ['a symlink inside', [change('src/l', absent, '120000')], {}, { symlinkTargets: new Map([['src/l', 'a.ts']]) }],
    ['a symlink with an unknown target', [change('src/l', absent, '120000')], { 'src/l': 'symlink_out' }],
    ['build/server.pem', [change('build/server.pem', absent, file)], { 'build/server.pem': 'secret' }],
    ['a denied file in coverage/', [change('coverage/k.sql', absent, file)], { 'coverage/k.sql': 'denied' }],
    ['.gitmodules', [change('.gitmodules', absent, file)], { '.gitmodules': 'outside' }],
    ['the settings of Unstuck', [change('.unstuck/config.json', file, file)], { '.unstuck/config.json': 'outside' }],
  ]
  it.each(rows)('%s', (_, changes, kinds, more = {}) => {
    const input = { changes, allowedPaths: [rule('src')], deniedPaths: [rule('vault'), rule('**/*.sql')] }
    const { violations } = checkPathPolicy({ ...input, nestedRepositories: [], ...more })
    expect(Object.fromEntries(violations.map(({ path, kind }) => [path, kind]))).toEqual(kinds)
  })
})

describe('generated files', () => {
  const likely: [path: string, expected: boolean][] = [
    ['coverage/index.html', true],
    ['a/report/x.html', true],
    ['core.dump', true],
    ['logs/server.log', true],
    ['coverage/', true],
    ['build', false],
    ['report', false],
    ['.log', false],
    ['log', false],
    ['src/builder/a.ts', false],
    ['Build/a.o', false],
    ['build/server.pem', false],
    ['dist/.env', false],
    ['tmp/../../etc/x.log', false],
    ['/tmp/x.log', false],
    ['a\0.log', false],
  ]
  it('the endings and folders of the founding document look generated, and only at their place', () => {
    for (const ending of ['.dump', '.log', '.tmp', '.trace'])
      expect([`made/it${ending}`, `it${ending}/made.ts`].map(isLikelyGeneratedArtifactPath)).toEqual([true, false])
    for (const folder of ['coverage', 'report', 'artifact', 'build', 'dist'])
      expect([`${folder}/it`, `app/${folder}/it`, folder].map(isLikelyGeneratedArtifactPath)).toEqual([
        true,
        true,
        false,
      ])
  })
  it.each(likely)('%s', (path, expected) => expect(isLikelyGeneratedArtifactPath(path)).toBe(expected))

  const matched: [pattern: string, path: string, expected: string | undefined][] = [
    ['coverage', 'coverage/a.html', 'coverage'],
    ['coverage', 'coverage2/a.html', undefined],
    ['coverage', 'Coverage/a.html', undefined],
    ['app/[id]/out', 'app/[id]/out/a.js', 'app/[id]/out'],
    ['app/[id]/out', 'app/i/out/a.js', undefined],
    ['**/*.pem', 'build/server.pem', undefined],
    ['**', '.env', undefined],
    ['**', '../x', undefined],
    ['../x', 'x', undefined],
    ['*a*a*a*a*a*a*b', 'a'.repeat(255), undefined],
  ]
  it.each(matched)('%s for %s', (pattern, path, expected) => {
    expect(generatedMatcher([pattern])(path)).toBe(expected)
  })
})

describe('a layer of the policy', () => {
  const refused: [name: string, layer: unknown, key: string][] = [
    ['an unknown key', { Mode: 'balanced' }, ''],
    ['an unknown mode', { mode: 'Aggressive' }, 'mode'],
    ['a mode that is a list', { mode: ['balanced'] }, 'mode'],
    ['a backtracking pattern', rules('(a+)+$', 'x'), 'commandDrivenAllowedPathRules.0.pattern'],
    ['a pattern that matches every command', rules('.*', 'x'), 'commandDrivenAllowedPathRules.0.pattern'],
    ['an empty name in a pattern', rules('make|', 'x'), 'commandDrivenAllowedPathRules.0.pattern'],
    ['a name with a space', rules('make test', 'x'), 'commandDrivenAllowedPathRules.0.pattern'],
    ['a path that leaves', rules('make', '../x'), 'commandDrivenAllowedPathRules.0.paths.0'],
    ['an absolute path', rules('make', '/etc/'), 'commandDrivenAllowedPathRules.0.paths.0'],
    ['a glob', rules('make', '**'), 'commandDrivenAllowedPathRules.0.paths.0'],
    ['the top folder', rules('make', '/'), 'commandDrivenAllowedPathRules.0.paths.0'],
    ['a secret', rules('make', 'certs/server.pem'), 'commandDrivenAllowedPathRules.0.paths.0'],
    ['the git folder', rules('make', '.git/'), 'commandDrivenAllowedPathRules.0.paths.0'],
    ['the settings of Unstuck', rules('make', '.unstuck/'), 'commandDrivenAllowedPathRules.0.paths.0'],
    ['no path', rules('make'), 'commandDrivenAllowedPathRules.0.paths'],
    [
      'an unknown key of a rule',
      { commandDrivenAllowedPathRules: [{ pattern: 'x', paths: ['y'], path: 'z' }] },
      'commandDrivenAllowedPathRules.0',
    ],
    ['a token with a space', { infraSignalTokens: ['make it'] }, 'infraSignalTokens.0'],
    ['an empty token', { infraSignalTokens: [''] }, 'infraSignalTokens.0'],
    ['a basename with a folder', { safeInfraFileBasenames: ['a/b'] }, 'safeInfraFileBasenames.0'],
    ['a basename that is a glob', { safeInfraFileBasenames: ['*'] }, 'safeInfraFileBasenames.0'],
    ['an extension that is only a dot', { safeInfraFileExtensions: ['.'] }, 'safeInfraFileExtensions.0'],
    ['an empty extension', { safeInfraFileExtensions: [''] }, 'safeInfraFileExtensions.0'],
    ['an extension with a star', { safeInfraFileExtensions: ['.*'] }, 'safeInfraFileExtensions.0'],
    ['a hidden file with a folder', { safeHiddenRootFiles: ['../.x'] }, 'safeHiddenRootFiles.0'],
    ['a text as a list', { infraSignalTokens: 'make' }, 'infraSignalTokens'],
    ['a list', [], ''],
    ['null', null, ''],
  ]
  it.each(refused)('%s is refused', (_, layer, key) => {
    const result = policyRecoverySchema.safeParse(layer)
    expect(result.error?.issues.map(({ path }) => path.join('.'))).toEqual([key])
  })

  it('a secret in a list of safe names stays a secret', () => {
    const layer = {
      safeInfraFileBasenames: ['id_rsa'],
      safeHiddenRootFiles: ['.env'],
      safeInfraFileExtensions: ['pem'],
    }
    for (const path of ['id_rsa', '.env', 'lib/a.pem'])
      expect(judge(path, { commands: ['make'] }, layer)).toMatchObject({ allowed: false, rule: 'secret' })
  })

  it('__proto__ as a key changes nothing', () => {
    const layer: unknown = JSON.parse('{"__proto__":{"mode":"balanced"}}')
    expect(policyRecoverySchema.safeParse(layer).success).toBe(false)
    expect(Object.hasOwn(Object.prototype, 'mode')).toBe(false)
  })
})

function rules(pattern: string, ...paths: string[]): unknown {
  return { commandDrivenAllowedPathRules: [{ pattern, paths }] }
}
