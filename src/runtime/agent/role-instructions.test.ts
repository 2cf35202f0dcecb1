import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { configSchema } from '../../config-schema.ts'
import { loopRoles } from '../../domain/loop.ts'
import { realFiles } from '../core/files.ts'
import { instructionsFolder, roleInstructions } from './role-instructions.ts'

let root = ''
const given = () =>
  ({
    ports: { files: realFiles },
    repository: { root },
    config: () => configSchema.parse({ loop: { completion_promise: 'ALL $& DONE' } }),
  }) as unknown as Parameters<typeof roleInstructions>[0]
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'instructions-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** How much of a role's text fits into the brief. */
const fits = 3_500

describe('the instructions of a role', () => {
  test.each(loopRoles)('are shipped and fit into the brief (%s)', (role) => {
    const text = roleInstructions(given(), role)
    expect(text).toContain(`You are the ${role}`)
    expect(text.length).toBeLessThanOrEqual(fits)
    expect(text).not.toContain('{{')
  })

  test('name the exact promise to the reviewer alone', () => {
    const naming = loopRoles.filter((role) => roleInstructions(given(), role).includes('ALL $& DONE'))
    expect(naming).toEqual(['reviewer'])
    expect(roleInstructions(given(), 'reviewer')).toContain('<promise>ALL $& DONE</promise>')
  })

  test('of the owner win, unless they are empty', () => {
    mkdirSync(join(root, instructionsFolder), { recursive: true })
    writeFileSync(join(root, instructionsFolder, 'tester.md'), 'Our own tester.\n')
    writeFileSync(join(root, instructionsFolder, 'planner.md'), '\n')
    expect(roleInstructions(given(), 'tester')).toBe('Our own tester.')
    expect(roleInstructions(given(), 'planner')).toContain('You are the planner')
  })

  test('roles/tester.md: the tester analyses the infrastructure and proposes a recovery', () => {
    const text = roleInstructions(given(), 'tester')
    expect(text).toContain('## Infrastructure Analysis')
    for (const category of ['dependency', 'config', 'environment', 'permissions', 'network'])
      expect(text).toContain(`\`${category}\``)
    for (const confidence of ['high', 'medium', 'low']) expect(text).toContain(`\`${confidence}\``)
    expect(text).toMatch(/exact error messages, each with file and line/)
    expect(text).toContain('$UNSTUCK_RUN_DIR/recovery.json')
    for (const never of [/assertions/, /bugs of the code/, /change of the code, which is the worker's part/])
      expect(text.split('Do NOT propose')[1]?.split('DO propose')[0]).toMatch(never)
    for (const always of [
      /versions of dependencies/,
      /missing/,
      /corrupted `node_modules`/,
      /build caches/,
      /configuration file/,
    ])
      expect(text.split('DO propose')[1]).toMatch(always)
  })
})
