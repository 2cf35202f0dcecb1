import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { affectedPackages, narrowStep, type WorkspacePackage } from './narrowing.ts'
import { planCommand, type CommandStep } from './command-plan.ts'
import { commandText, replaceScript } from './replacement.ts'

describe('a script of the same intent', () => {
  const scripts = { test: 'node --test', lint: 'eslint .', check: 'tsc', fmt: 'prettier --write .' }
  test.each([
    ['npm run unit', 'unit', 'npm run test'],
    ['npm run test:unit -- --grep a', 'test:unit', 'npm run test'],
    ['cd web && CI=1 npm --prefix app run e2e', 'e2e', 'cd web && CI=1 npm --prefix app run test'],
    ['pnpm run eslint', 'eslint', 'pnpm run lint'],
    ['npm run typecheck', 'typecheck', 'npm run check'],
    // Nothing here stands for these.
    ['npm run deploy', 'deploy', undefined],
    ['npm run build', 'build', undefined],
    ['npm run unit | cat', 'unit', undefined],
  ])('%s', (command, missing, expected) =>
    expect(replaceScript(command, missing, { now: scripts, base: scripts })).toBe(expected),
  )

  it('is none that the work wrote or changed, and none that judges nothing', () => {
    expect(replaceScript('npm run unit', 'unit', { now: { test: 'true' }, base: {} })).toBeUndefined()
    expect(
      replaceScript('npm run unit', 'unit', { now: { test: 'true' }, base: { test: 'node --test' } }),
    ).toBeUndefined()
    const empty = { test: 'echo "Error: no test specified" && exit 1' }
    expect(replaceScript('npm run unit', 'unit', { now: empty, base: empty })).toBeUndefined()
  })
})

test('the text of steps plans to the same steps', () => {
  const word = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => !/[\0\r\n~]/.test(text))
  const step = fc.record({
    argv: fc.tuple(fc.constantFrom('node', 'npm'), word, word).map((argv): string[] => argv),
    env: fc.dictionary(fc.constantFrom('A', 'B_1'), word),
    cwd: fc.constant([] as string[]),
  })
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 3 }),
      fc.array(
        word.filter((text) => !text.startsWith('-')),
        { maxLength: 2 },
      ),
      (steps, cwd) => {
        const moved: CommandStep[] = steps.map((each) => ({ ...each, cwd }))
        expect(planCommand(commandText(moved))).toEqual({ ok: true, steps: moved })
      },
    ),
  )
})

const packages: WorkspacePackage[] = [
  { name: '@a/core', folder: 'packages/core', scripts: ['test'], dependencies: [] },
  { name: '@a/web', folder: 'packages/web', scripts: ['test'], dependencies: ['@a/core'] },
  { name: '@a/app', folder: 'packages/app', scripts: ['test'], dependencies: ['@a/web'] },
  { name: '@a/docs', folder: 'packages/docs', scripts: [], dependencies: [] },
]
const stepOf = (...argv: string[]): CommandStep => ({ argv, env: {}, cwd: [] })

describe('a check of all packages', () => {
  it('goes to the changed one and to all that depend on it', () => {
    expect(affectedPackages(packages, ['packages/core/a.js', 'README.md'])?.map(({ name }) => name)).toEqual([
      '@a/core',
      '@a/web',
      '@a/app',
    ])
    expect(affectedPackages(packages, ['packages/app/a.js'])?.map(({ name }) => name)).toEqual(['@a/app'])
    expect(affectedPackages(packages, ['packages/app/a.js', 'tsconfig.json'])).toBeUndefined()
    expect(affectedPackages(packages, ['packages/application/a.js'])).toBeUndefined()
  })
  test.each([
    [
      ['npm', 'test', '--workspaces'],
      ['packages/web/a.js'],
      ['npm', '--workspace=@a/web', '--workspace=@a/app', 'test'],
    ],
    [['npm', 'run', 'test', '-ws'], ['packages/app/a.js'], ['npm', '--workspace=@a/app', 'run', 'test']],
    [['pnpm', '-r', 'test'], ['packages/app/a.js'], ['pnpm', '--filter=@a/app', 'test']],
    // The changed one has no such script: nothing may stand for it.
    [['npm', 'test', '--workspaces'], ['packages/docs/a.js'], undefined],
    [['npm', 'test', '--workspaces'], ['packages/docs/a.js', 'packages/web/a.js'], undefined],
    [['npm', 'test', '--workspaces'], ['lib/a.js'], undefined],
    [['npm', 'test'], ['packages/app/a.js'], undefined],
    [['npm', 'ci', '--workspaces'], ['packages/app/a.js'], undefined],
  ])('%j of %j', (argv, changed, expected) =>
    expect(narrowStep(stepOf(...argv), packages, changed)?.argv).toEqual(expected),
  )

  it('is not narrowed where every package is affected', () => {
    const all = packages.filter(({ name }) => name !== '@a/docs')
    expect(narrowStep(stepOf('npm', 'test', '-ws'), all, ['packages/core/a.js'])).toBeUndefined()
  })
})
