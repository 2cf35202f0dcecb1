import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { planCommand } from '../../recovery/command/command-plan.ts'
import { realFiles } from '../core/files.ts'
import { missingFileIn } from './check-facts.ts'

describe('the file that a check names', () => {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-facts-')))
  mkdirSync(join(workspace, 'test'))
  writeFileSync(join(workspace, 'test', 'a.test.mjs'), '')
  afterAll(() => rmSync(workspace, { recursive: true, force: true }))

  test.each([
    ['node no.js', 'no.js'],
    ['node --test spec/', 'spec/'],
    ['node --test spec/a.test.mjs', 'spec/a.test.mjs'],
    ['cd test && node --test spec/', 'spec/'],
    ['node --test test/', undefined],
    ['node --test test/a.test.mjs', undefined],
    // Not files of the workspace, or words whose meaning is unknown.
    ['npm test', undefined],
    ['node --test ../spec/', undefined],
    ['node --require spec/ test/a.test.mjs', undefined],
  ])('%s', (command, missing) => {
    const plan = planCommand(command)
    const step = plan.ok ? plan.steps.at(-1) : undefined
    if (step === undefined) throw new Error(`${command} has no step`)
    expect(missingFileIn(realFiles, workspace, step)).toBe(missing)
  })
})
