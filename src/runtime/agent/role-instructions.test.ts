import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { configSchema } from '../../config/config-schema.ts'
import { loopRoles } from '../../domain/loop.ts'
import { realFiles } from '../core/files.ts'
import { roles } from '../../domain/task.ts'
import { instructionsFolder, loopInstructions, taskInstructions } from './role-instructions.ts'

let root = ''
const given = () =>
  ({
    ports: { files: realFiles },
    repository: { root },
    config: () => configSchema.parse({ loop: { completion_promise: 'ALL $& DONE' } }),
  }) as unknown as Parameters<typeof loopInstructions>[0]
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'instructions-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** How much of a role's text fits into the brief of a loop, and into that of any task however much else it has to say. */
const fits = 3_500
const guaranteed = 950

const write = (name: string, text: string): void => {
  const path = join(root, instructionsFolder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

describe('the instructions of a role', () => {
  test.each(roles)('are shipped for tasks and fit into each brief (%s)', (role) => {
    const text = taskInstructions(given(), role)
    expect(text).toContain('You are the')
    expect(text).toContain('unattended')
    expect(`## Your role\n${text}`.length).toBeLessThanOrEqual(guaranteed)
    expect(text).not.toContain('$UNSTUCK_RUN_DIR')
  })

  test('of the owner win for tasks, and a text for loops is not one of them', () => {
    write('docser.md', 'Our own writer.\n')
    write('loop/tester.md', 'Our tester of a loop.')
    write('worker.md', ' \n')
    expect(taskInstructions(given(), 'docser')).toBe('Our own writer.')
    expect(taskInstructions(given(), 'tester')).toContain('You are the tester')
    expect(taskInstructions(given(), 'worker')).toContain('You are the worker')
  })

  test.each(loopRoles)('are shipped and fit into the brief (%s)', (role) => {
    const text = loopInstructions(given(), role)
    expect(text).toContain(`You are the ${role}`)
    expect(text.length).toBeLessThanOrEqual(fits)
    expect(text).not.toContain('{{')
  })

  test('name the exact promise to the reviewer alone', () => {
    const naming = loopRoles.filter((role) => loopInstructions(given(), role).includes('ALL $& DONE'))
    expect(naming).toEqual(['reviewer'])
    expect(loopInstructions(given(), 'reviewer')).toContain('<promise>ALL $& DONE</promise>')
  })

  test('of the owner win in a loop, those for loops first, unless they are empty', () => {
    write('tester.md', 'Our own tester.\n')
    write('planner.md', '\n')
    write('worker.md', 'Our own worker.')
    write('loop/worker.md', 'Our worker of a loop.')
    expect(loopInstructions(given(), 'tester')).toBe('Our own tester.')
    expect(loopInstructions(given(), 'worker')).toBe('Our worker of a loop.')
    expect(loopInstructions(given(), 'planner')).toContain('You are the planner')
  })

  test('roles/tester.md: the tester analyses the infrastructure and proposes a recovery', () => {
    const text = loopInstructions(given(), 'tester')
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
