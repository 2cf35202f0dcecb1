import { expect, it } from 'vitest'
import { classify } from '../diagnosis/classify.ts'
import { flagPattern } from './error-pattern.ts'
import { knownRepair } from './known-repairs.ts'
import { checkProposal } from './proposal.ts'

const now = new Date('2026-01-23T05:36:33Z')

const repairOf = (
  stderr: string,
  { manager = 'npm', scripts = ['test', 'build'], folder = '', command = 'npm test' } = {},
) => {
  const { label, evidence } = classify({ command, exitCode: 1, signal: null, stdout: '', stderr })
  const found = { label, evidence, output: stderr, command, install: { manager, folder }, scripts }
  return knownRepair(found, now)
}

const commandIn = (...given: Parameters<typeof repairOf>): string | undefined =>
  repairOf(...given)?.proposal.recovery.command

const hostVersion = '✘ [ERROR] Cannot start service: Host version "0.21.5" does not match binary version "0.27.2"'

const appendix: [name: string, output: string, command: string][] = [
  ['Cannot find module', "Error: Cannot find module 'left-pad'\nRequire stack:\n- /w/test.js", 'npm install'],
  ['version mismatch', hostVersion, 'rm -rf node_modules && npm install'],
  [
    'lockfile out of sync',
    'npm error code EUSAGE\nnpm error `npm ci` can only install packages when your package.json and package-lock.json or npm-shrinkwrap.json are in sync.',
    'npm install',
  ],
  ['ENOENT.*dist', "Error: ENOENT: no such file or directory, open '/w/dist/index.js'", 'npm run build'],
  ['Cannot find.*\\.next', "Error: Cannot find module '/w/.next/server/pages.js'", 'rm -rf .next && npm run build'],
]

it('each failure of the appendix has its known repair', () => {
  for (const [name, output, command] of appendix) expect(commandIn(output), name).toBe(command)
})

it('ERESOLVE has a repair that only the owner or a person lets run', () => {
  const found = repairOf('npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree')
  expect(found?.proposal.recovery).toMatchObject({ command: 'npm install --legacy-peer-deps', confidence: 'low' })
  expect(found?.caution).toContain('--legacy-peer-deps')
})

it('the repair uses the package manager of the repository', () => {
  const missing = "Error: ENOENT: no such file or directory, open '/w/dist/a'"
  const next = "Error: Cannot find module '/w/.next/server/pages.js'"
  expect(commandIn(hostVersion, { manager: 'bun' })).toBe('rm -rf node_modules && bun install')
  expect(commandIn(missing, { manager: 'bun' })).toBe('bun run build')
  expect(commandIn(next, { manager: 'bun' })).toBe('rm -rf .next && bun run build')
  for (const [manager, name] of Object.entries({ pnpm: 'pnpm', 'yarn-1': 'yarn', 'yarn-berry': 'yarn' })) {
    expect(commandIn(hostVersion, { manager })).toBe(`rm -rf node_modules && ${name} install`)
    expect(commandIn(missing, { manager })).toBe(`${name} run build`)
  }
})

const notRepaired: [name: string, output: string][] = [
  ['tsc.*error TS', "src/a.ts(3,1): error TS2322: Type 'string' is not assignable to type 'number'."],
  ['EACCES', "Error: EACCES: permission denied, open '/w/dist/index.js'"],
  ['ENOSPC', "Error: ENOSPC: no space left on device, write '/w/dist/index.js'"],
  ['ENOMEM', 'Error: spawn ENOMEM'],
  [
    'an assertion that quotes a known failure',
    "AssertionError: expected 'x' to equal 'Cannot find module y'\n1 failed",
  ],
]

it('errors in the code and of the machine have no repair by a command', () => {
  for (const [name, output] of notRepaired) expect(commandIn(output, { command: 'npx tsc' }), name).toBeUndefined()
})

it('without the script there is no build, and without a package manager there is nothing', () => {
  const gone = "Error: ENOENT: no such file or directory, open '/w/dist/index.js'"
  expect(commandIn(gone, { scripts: ['test'] })).toBeUndefined()
  expect(commandIn("Error: Cannot find module 'x'", { manager: 'cargo' })).toBeUndefined()
})

it('what a diagnosis writes is a valid proposal whose pattern matches the failure', () => {
  for (const output of [hostVersion, "Error: Cannot find module 'x'", "Error: Cannot find module '/w/.next/a.js'"]) {
    const found = repairOf(output, { folder: 'packages/app' })
    expect(checkProposal(found?.proposal)).toMatchObject({ ok: true })
    expect(found?.proposal.recovery.working_dir).toBe('packages/app')
    expect(flagPattern(found?.proposal.diagnosis.error_pattern ?? '', output)).toBeUndefined()
  }
})
