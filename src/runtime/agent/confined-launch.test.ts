import { describe, expect, test } from 'vitest'
import { configSchema } from '../../config/config-schema.ts'
import type { Launch } from '../../domain/run.ts'
import type { Capabilities } from '../../harness/capabilities.ts'
import type { RunContext } from '../core/run-context.ts'
import { isConfined } from './confined-launch.ts'

interface Case {
  commands?: Capabilities['commands']
  harness?: object
  repoMode?: string
  addDirs?: string[]
  environment?: object
  root?: string
}

const confined = ({ commands = 'sandbox', harness, repoMode, addDirs, environment, root }: Case): boolean => {
  const { named } = configSchema.parse({ harness: { some: { driver: 'command', command: ['x'] } } }).harness
  const { command: _command, ...plain } = named['some'] ?? {}
  const runContext = {
    context: {
      repository: { root: root ?? '/home/me/project' },
      environment: environment ?? {},
      ports: { files: { realpathSync: (path: string) => (path === '/link' ? '/home/me' : path) } },
    },
    goal: { repoMode: repoMode ?? 'local' },
    harness: { ...plain, ...harness },
  }
  const launch = { corrections: { addDirs: addDirs ?? [], skipGitCheck: false } }
  return isConfined(runContext as unknown as RunContext, launch as unknown as Launch, { commands } as Capabilities)
}

describe('a launch is kept from the files of the owner', () => {
  test('by the sandbox of its CLI, with folders elsewhere', () => {
    expect(confined({ addDirs: ['/opt/data', '/home/me/project-data', '/home/me/project/docs'] })).toBe(true)
  })

  test.each<[what: string, given: Case]>([
    ['a CLI without a sandbox', { commands: 'task' }],
    ['a sandbox that is switched off', { harness: { unrestricted: true } }],
    ['arguments of the owner', { harness: { args: ['--sandbox', 'danger-full-access'] } }],
    ['a program of the owner', { harness: { command: ['./codex-wrapper'] } }],
    ['work in the folder of the owner', { repoMode: 'direct' }],
    ['a folder that contains the repository', { addDirs: ['/home/me'] }],
    ['the folder of the files', { addDirs: ['/home/me/project/.unstuck'] }],
    ['a link to a folder that contains the repository', { addDirs: ['/link'] }],
    ['a repository among temporary files', { root: '/tmp/project' }],
    ['a folder of temporary files that contains the repository', { environment: { TMPDIR: '/home/me' } }],
    ['a folder with the policy', { addDirs: ['/etc'], environment: { POLICY_RECOVERY_CONFIG_PATH: '/etc/p.json' } }],
  ])('but not with %s', (_what, given) => {
    expect(confined(given)).toBe(false)
  })
})
