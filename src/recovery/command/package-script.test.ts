import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planCommand } from './command-plan.ts'
import { makeTargetsIn, packageScriptIn } from './package-script.ts'
import { samples } from '../../../test/support/samples.ts'

const argv = (text: string): string[] => {
  const plan = planCommand(text)
  if (!plan.ok) throw new Error(plan.reason)
  return plan.steps[0]?.argv ?? []
}

describe('package.json scripts', () => {
  it.each([
    ['npm test', { manager: 'npm', script: 'test' }],
    ['npm t', { manager: 'npm', script: 'test' }],
    ['npm run x -- --prefix d', { manager: 'npm', script: 'x' }],
    ['npm run-script lint:all', { manager: 'npm', script: 'lint:all' }],
    ['npm --prefix d run x', { manager: 'npm', script: 'x', directory: 'd' }],
    ['npm run x --prefix=packages/a', { manager: 'npm', script: 'x', directory: 'packages/a' }],
    ['npm -s run --if-present x', { manager: 'npm', script: 'x' }],
    ['npm test --coverage', { manager: 'npm', script: 'test' }],
    ['/usr/bin/npm start', { manager: 'npm', script: 'start' }],
    ['pnpm -C d x', { manager: 'pnpm', script: 'x', directory: 'd', orProgram: true }],
    ['pnpm run x --filter y', { manager: 'pnpm', script: 'x' }],
    ['pnpm test', { manager: 'pnpm', script: 'test' }],
    ['pnpm vitest run', { manager: 'pnpm', script: 'vitest', orProgram: true }],
    ['yarn x --flag', { manager: 'yarn', script: 'x', orProgram: true }],
    ['yarn --cwd d run x', { manager: 'yarn', script: 'x', directory: 'd', orProgram: true }],
    ['yarn test', { manager: 'yarn', script: 'test', orProgram: true }],
    ['bun run x', { manager: 'bun', script: 'x', orProgram: true }],
    ['bun run test', { manager: 'bun', script: 'test', orProgram: true }],
    ['bun --cwd=d dev', { manager: 'bun', script: 'dev', directory: 'd', orProgram: true }],
  ])('%s', (text, expected) => {
    expect(packageScriptIn(argv(text))).toEqual(expected)
  })

  it.each([
    'npm',
    'npm install',
    'npm ci',
    'npm exec vitest',
    'npm run',
    'npm lint',
    'npm toString',
    'npm -- run x',
    'npx vitest',
    'node x',
    'npm run x -w a',
    'npm run x --workspaces',
    'npm --unknown run x',
    'npm run --prefix',
    'npm -w a test',
    'pnpm install',
    'pnpm exec x',
    'pnpm dlx x',
    'pnpm patch-commit d',
    'yarn generate-lock-entry',
    'pnpm --filter a test',
    'pnpm -r test',
    'pnpm -w test',
    'pnpm',
    'yarn',
    'yarn install',
    'yarn workspace a test',
    'yarn dlx x',
    'yarn run -T x',
    'yarn workspaces foreach run x',
    'bun test',
    'bun install',
    'bun x vitest',
    'bun run a.ts',
    'bun ./a',
    'bun --filter a run x',
    'make test',
  ])('%s names no script of a package that is known for sure', (text) => {
    expect(packageScriptIn(argv(text))).toBeUndefined()
  })
})

describe('make targets', () => {
  it.each([
    ['make test', { targets: ['test'] }],
    ['make -j4 CC=clang test lint', { targets: ['test', 'lint'] }],
    ['make -j 4 test', { targets: ['test'] }],
    ['make -C sub test', { targets: ['test'], directory: 'sub' }],
    ['make -Csub -f Build.mk test', { targets: ['test'], directory: 'sub', file: 'Build.mk' }],
    ['gmake --directory=sub -ks test', { targets: ['test'], directory: 'sub' }],
  ])('%s', (text, expected) => {
    expect(makeTargetsIn(argv(text))).toEqual(expected)
  })

  it.each([
    'make',
    'make -j4',
    'make A=b',
    'make -C',
    'make --weird test',
    'make -C a -C b test',
    'cmake test',
    'npm test',
  ])('%s names none', (text) => {
    expect(makeTargetsIn(argv(text))).toBeUndefined()
  })
})

it('no argv makes them throw', () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom('npm', 'yarn', 'bun', 'pnpm', 'make', 'run', '-C', '--', '--prefix=', '__proto__', '-f'),
  )
  fc.assert(
    fc.property(fc.array(word), (words) => {
      packageScriptIn(words)
      makeTargetsIn(words)
    }),
    { numRuns: samples(2000) },
  )
})
