import { expect, it } from 'vitest'
import { inferCommands } from './infer-commands.ts'
import { planCommand } from '../../recovery/command/command-plan.ts'
import type { RepositoryFacts } from './infer-commands.ts'

const scripts = { test: 'vitest run', typecheck: 'tsc', lint: 'eslint .', build: 'x' }

it.each<[string, RepositoryFacts, string[]]>([
  [
    'npm scripts',
    { packageJson: { scripts }, files: ['package-lock.json'] },
    ['npm test', 'npm run typecheck', 'npm run lint'],
  ],
  ['pnpm by lockfile', { packageJson: { scripts: { test: 'x' } }, files: ['pnpm-lock.yaml'] }, ['pnpm test']],
  ['yarn by lockfile', { packageJson: { scripts: { test: 'x' } }, files: ['yarn.lock'] }, ['yarn test']],
  [
    'bun runs the script, not its own test runner',
    { packageJson: { scripts: { test: 'x' } }, files: ['bun.lock'] },
    ['bun run test'],
  ],
  [
    'the declared manager wins',
    { packageJson: { packageManager: 'pnpm@9.0.0', scripts: { test: 'x' } }, files: ['yarn.lock'] },
    ['pnpm test'],
  ],
  [
    'the script that npm init writes is no test',
    { packageJson: { scripts: { test: 'echo "Error: no test specified" && exit 1' } }, files: [] },
    [],
  ],
  ['a lint that writes is no check', { packageJson: { scripts: { lint: 'eslint . --fix' } }, files: [] }, []],
  [
    'one type check is enough',
    { packageJson: { scripts: { types: 'tsc', 'type-check': 'tsc' } }, files: [] },
    ['npm run type-check'],
  ],
  ['a package.json of any shape', { packageJson: ['x'], files: [] }, []],
  ['scripts of any shape', { packageJson: { scripts: { test: 5, lint: '', toString: 'x' } }, files: [] }, []],
  ['cargo', { files: ['Cargo.toml', 'src/main.rs'] }, ['cargo test']],
  ['go', { files: ['go.mod'] }, ['go test ./...']],
  ['maven', { files: ['pom.xml'] }, ['mvn test']],
  ["gradle by the project's own copy", { files: ['build.gradle.kts', 'gradlew'] }, ['./gradlew test']],
  ['mix', { files: ['mix.exs'] }, ['mix test']],
  ['dotnet', { files: ['App.sln', 'src/App.csproj'] }, ['dotnet test']],
  ['a project file of a subfolder is none of the top', { files: ['legacy/App.csproj', 'x/Cargo.toml'] }, []],
  ['rspec', { files: ['Gemfile', 'spec'] }, ['bundle exec rspec']],
  ['ruby without specs', { files: ['Gemfile'] }, []],
  ['phpunit', { files: ['composer.json', 'phpunit.xml.dist'] }, ['vendor/bin/phpunit']],
  ['deno and swift', { files: ['deno.json', 'Package.swift'] }, ['deno test', 'swift test']],
  ['make', { makefile: '.PHONY: test\nall: x\ntest: all\n\t./run\n', files: ['Makefile'] }, ['make test']],
  ['make check', { makefile: '.PHONY: check\ncheck:\n\t./run\n', files: ['Makefile'] }, ['make check']],
  ['make without the target', { makefile: '.PHONY: test\ntest := 1\ntests:\n\tx\n', files: ['Makefile'] }, []],
  [
    'make beside another stack',
    { makefile: 'test:\n\tcargo test\n', files: ['Makefile', 'Cargo.toml'] },
    ['cargo test'],
  ],
  ['pytest, declared', { pyproject: '[tool.pytest.ini_options]\n', files: ['pyproject.toml'] }, ['python3 -m pytest']],
  ['pytest, by test files', { files: ['setup.py', 'tests/test_a.py'] }, ['python3 -m pytest']],
  ...['vitest --watch', 'tsc -w', 'nodemon test.js', 'jest --watchAll', 'vitest watch', 'mocha -w'].map(
    (test): [string, RepositoryFacts, string[]] => [
      `${test} never ends`,
      { packageJson: { scripts: { test, 'test:ci': 'vitest run' } }, files: [] },
      ['npm run test:ci'],
    ],
  ),
  [
    'scripts that all wait for changes, as what runs once',
    {
      packageJson: { scripts: { test: 'node --test --watch', typecheck: 'tsc -w', lint: 'nodemon lint.js' } },
      files: [],
    },
    ['node --test', 'npx --no-install tsc'],
  ],
  ['the workers of Jest', { packageJson: { scripts: { test: 'jest -w 2' } }, files: [] }, ['npm test']],
  [
    'a watch that is switched off',
    { packageJson: { scripts: { test: 'vitest --watch=false' } }, files: [] },
    ['npm test'],
  ],
  [
    'uv is not on PATH',
    { files: ['pyproject.toml', 'uv.lock', 'tests/test_a.py'], hasProgram: (name) => name !== 'uv' },
    ['python3 -m pytest'],
  ],
  [
    'pnpm is not on PATH, so npm starts the scripts',
    { packageJson: { scripts }, files: ['pnpm-lock.yaml'], hasProgram: (name) => name === 'npm' },
    ['npm test', 'npm run typecheck', 'npm run lint'],
  ],
  ['pytest through uv', { files: ['pyproject.toml', 'uv.lock', 'tests/test_a.py'] }, ['uv run pytest']],
  ['python without tests', { pyproject: '[project]\n', files: ['pyproject.toml', 'a.py'] }, []],
  [
    'at most four',
    { packageJson: { scripts }, files: ['Cargo.toml', 'go.mod', 'pytest.ini'] },
    ['npm test', 'npm run typecheck', 'npm run lint', 'cargo test'],
  ],
  ['nothing known', { files: ['README.md'] }, []],
])('%s', (_, facts, expected) => {
  const commands = inferCommands(facts)
  expect(commands).toEqual(expected)
  expect(commands.filter((command) => !planCommand(command).ok)).toEqual([])
})
