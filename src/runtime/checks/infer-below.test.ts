import { describe, expect, it } from 'vitest'
import { planCommand } from '../../recovery/command/command-plan.ts'
import { checksFor } from './infer-below.ts'
import { inferChecks } from './infer-from-files.ts'

const pkg = (test: string, more: object = {}): string => JSON.stringify({ scripts: { test }, ...more })

const found = (texts: Record<string, string>, hasProgram: (name: string) => boolean = () => true) =>
  inferChecks({ names: Object.keys(texts), texts: new Map(Object.entries(texts)) }, hasProgram)

const commandsOf = async (texts: Record<string, string>, allowed: string[] = ['**']): Promise<string[]> =>
  checksFor(await found(texts), allowed).commands

const leftOf = async (texts: Record<string, string>, allowed: string[] = ['**']): Promise<string[]> =>
  checksFor(await found(texts), allowed).left.map(({ folder }) => folder)

const python = { 'backend/pyproject.toml': '[tool.pytest.ini_options]\n' }
const web = { 'web/package.json': pkg('vitest run') }
const api = { 'services/api/go.mod': 'module api\n' }

describe('without a check at the top', () => {
  it.each<[string, Record<string, string>, string[]]>([
    ['two stacks', { ...python, ...web }, ['cd backend && python3 -m pytest', 'cd web && npm test']],
    ['two levels, outer folders first', { ...api, ...web }, ['cd web && npm test', 'cd services/api && go test ./...']],
    ['three levels are too deep', { 'a/b/c/go.mod': '' }, []],
    ['maven by its own copy', { 'core/pom.xml': '', 'core/mvnw': '' }, ['cd core && ./mvnw test']],
    [
      'cargo and make',
      { 'cli/Cargo.toml': '', 'tool/Makefile': 'test:\n\t./t\n' },
      ['cd cli && cargo test', 'cd tool && make test'],
    ],
    ['a folder of a stack is a part of it', { ...web, 'web/api/go.mod': '' }, ['cd web && npm test']],
    ['the manager of the top', { 'pnpm-lock.yaml': '', ...web }, ['cd web && pnpm test']],
    ['a name that a shell would split', { 'my app/go.mod': '' }, ["cd 'my app' && go test ./..."]],
    [
      'requirements that name pytest',
      { 'a/requirements.txt': 'pytest\n', 'a/test_a.py': '' },
      ['cd a && python3 -m pytest'],
    ],
    ...['node_modules/x', 'vendor/x', 'examples/x', 'test/fixtures', 'docs', 'templates', '.hidden', 'x/testdata'].map(
      (folder): [string, Record<string, string>, string[]] => [
        `other projects: ${folder}`,
        { [`${folder}/go.mod`]: '' },
        [],
      ],
    ),
  ])('%s', async (_case, texts, commands) => {
    expect(await commandsOf(texts)).toEqual(commands)
    for (const command of commands) expect(planCommand(command).ok).toBe(true)
  })

  it('takes the stacks that a task may change, and all where it may change none', async () => {
    const texts = { ...python, ...web, ...api }
    expect(await commandsOf(texts, ['web/src/**'])).toEqual(['cd web && npm test'])
    expect(await commandsOf(texts, ['services/**', 'backend'])).toEqual([
      'cd backend && python3 -m pytest',
      'cd services/api && go test ./...',
    ])
    expect(await commandsOf(texts, ['README.md'])).toHaveLength(3)
  })

  it('is bounded, and names what it leaves out', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 9 }, (_each, at) => [
        `p${at}/package.json`,
        pkg('vitest run', { scripts: { test: 'x', lint: 'y' } }),
      ]),
    )
    expect(await commandsOf(many)).toHaveLength(6)
    expect(await leftOf(many)).toEqual(['p6', 'p7', 'p8'])
  })

  it('leaves out a stack whose program is missing, unless no other is there', async () => {
    const noGo = (name: string): boolean => name !== 'go'
    expect(checksFor(await found({ ...web, ...api }, noGo), ['**']).commands).toEqual(['cd web && npm test'])
    expect(checksFor(await found(api, noGo), ['**']).commands).toHaveLength(1)
  })
})

describe('with a check at the top', () => {
  const top = { 'package.json': pkg('vitest run') }

  it.each<[string, Record<string, string>, string[]]>([
    ['another stack', { ...top, ...api }, ['services/api']],
    ['a package beside the top', { ...top, ...web }, ['web']],
    ['a package of its workspace', { 'package.json': pkg('x', { workspaces: ['./web/'] }), ...web }, []],
    ['a package of its pnpm workspace', { ...top, 'pnpm-workspace.yaml': "packages:\n  - '*'\n", ...web }, []],
    ['a folder in which its script runs', { 'package.json': pkg('x && cd services/api && go test ./...'), ...api }, []],
    ['a folder that its script names', { 'package.json': pkg('npm --prefix web test'), ...web }, []],
    [
      'folders of a loop',
      { Makefile: 'test:\n\tfor d in web api; do $(MAKE) -C $$d test; done\n', ...web, ...api },
      [],
    ],
    ['a crate or a module of the same build', { 'Cargo.toml': '', 'x/Cargo.toml': '' }, []],
    ['a Go module of its own', { 'go.mod': '', ...api }, ['services/api']],
    ['tests of Python, which are found from the top', { 'pyproject.toml': '[tool.pytest]', ...python }, []],
  ])('%s', async (_case, texts, left) => {
    expect(await leftOf(texts)).toEqual(left)
    expect((await commandsOf(texts)).every((command) => !command.startsWith('cd '))).toBe(true)
  })

  it('checks a folder that it leaves out where the task is about that folder', async () => {
    const texts = { ...top, ...api, ...web }
    expect(await commandsOf(texts, ['services/api/**'])).toEqual(['npm test', 'cd services/api && go test ./...'])
    expect(await commandsOf(texts, ['services/**', 'web/a.js'])).toHaveLength(3)
    expect(await leftOf(texts, ['services/api/**'])).toEqual([])
    expect(await leftOf(texts, ['src/**'])).toEqual([])
  })
})
