import { describe, expect, it } from 'vitest'
import type { PathTask } from './auto-allow.ts'
import { explainPath } from './explain-path.ts'
import type { PathQuestion } from './path-question.ts'
import { defaultPolicyRecovery } from './recovery-policy.ts'

const task = (more: Partial<PathTask> = {}): PathTask => ({
  ...{
    role: 'worker',
    title: 'Add a parser',
    instructions: 'Parse.',
    commands: ['make test'],
    contextFiles: ['doc/notes.txt'],
  },
  ...{ allowedPaths: ['src/**'], deniedPaths: ['src/vendor'] },
  ...more,
})

const plain = { attempts: 5, useLlm: true, disabled: [] as string[], isDirect: false }

const ask = (path: string, more: Partial<PathQuestion> = {}) =>
  explainPath({
    ...{ path, facts: { mode: '000000', tracked: false }, task: task(), policy: defaultPolicyRecovery, held: [] },
    denied: [{ path: 'ops', from: 'deniedPaths of the configuration' }],
    generated: [{ pattern: 'gen/**', from: 'policyRecovery.generatedPaths', change: 'Remove it.' }],
    grants: [],
    ...plain,
    ...more,
  })

const tracked = { mode: '100644', tracked: true }

describe('which rule decides about a path', () => {
  it.each<[string, string, Partial<PathQuestion>, string, string, RegExp]>([
    ['a path denied for all tasks', 'ops/a.sh', {}, 'refused', 'denied', /ops \(deniedPaths of the configuration\)/],
    [
      'a path denied by its task',
      'src/vendor/a.js',
      {},
      'refused',
      'denied',
      /src\/vendor \(deniedPaths of the task\)/,
    ],
    ['a denied path in another case', 'OPS/a.sh', {}, 'refused', 'denied', /denied path ops/],
    ['a denied path that is also a secret', 'ops/.env', {}, 'refused', 'denied', /ops/],
    ['a secret in the allowed paths', 'src/.env', {}, 'refused', 'secret', /\*\*\/\.env/],
    [
      'a submodule',
      'src/lib',
      { facts: { mode: '160000', tracked: true } },
      'refused',
      'nested_repository',
      /submodule/,
    ],
    [
      'a link out of the repository',
      'src/link',
      { facts: { mode: '120000', tracked: false, linkTarget: '/etc/hosts' } },
      'refused',
      'symlink_out',
      /\/etc\/hosts/,
    ],
    [
      'a link inside the repository',
      'src/link',
      { facts: { mode: '120000', tracked: false, linkTarget: 'main.c' } },
      'allowed',
      'task',
      /allowed paths of the task/,
    ],
    ['an allowed path', 'src/a.c', {}, 'allowed', 'task', /allowed paths of the task/],
    ['a new generated file', 'gen/a.html', {}, 'left out', 'generated', /gen/],
    [
      'a new file with the name of a generated one',
      'coverage/a.html',
      {},
      'tested',
      'likely_generated',
      /makes it again/,
    ],
    ['the same in a docs task', 'coverage/a.html', { task: task({ role: 'docser' }) }, 'refused', 'docs_task', /docs/],
    ['a generated file in the own folder', 'gen/a.html', { isDirect: true }, 'asked', 'model', /no rule connects/],
    [
      'a file of the task under a newer name',
      'lib/new.c',
      { carried: [{ from: 'src/old.c', to: 'lib/new.c' }] },
      'allowed',
      'task',
      /src\/old\.c/,
    ],
    [
      'a granted path',
      'tools/a.c',
      { grants: [{ path: 'tools', from: 'grant p-1', change: 'unstuck grants revoke p-1' }] },
      'allowed',
      'grant',
      /granted path tools/,
    ],
    [
      'a link outside of the task',
      'link',
      { facts: { mode: '120000', tracked: false, linkTarget: 'a' } },
      'refused',
      'not_a_file',
      /symlink/,
    ],
    ['without recovery', 'Makefile', { attempts: 0 }, 'refused', 'no_attempts', /attempts is 0/],
    [
      'with the playbook switched off',
      'Makefile',
      { disabled: ['policy-allow'] },
      'refused',
      'playbook_disabled',
      /policy-allow/,
    ],
    ['a generated file that the commit has', 'gen/a.html', { facts: tracked }, 'asked', 'model', /no rule connects/],
    [
      'an ignored file',
      'a.cache',
      { facts: { mode: '000000', tracked: false, ignoredBy: '.gitignore:3: *.cache' } },
      'left out',
      'ignored',
      /\.gitignore:3: \*\.cache/,
    ],
    ['a file that a command needs', 'Makefile', {}, 'allowed', 'command_rule', /"make test"/],
    ['a path of a rule', 'go.mod', {}, 'allowed', 'command_rule', /command rule go/],
    [
      'a path of a rule in a stricter mode',
      'go.mod',
      { policy: { ...defaultPolicyRecovery, mode: 'conservative' } },
      'asked',
      'model',
      /mode "(?:balanced|aggressive)" would allow it/,
    ],
    [
      'a context file in every mode',
      'doc/notes.txt',
      { policy: { ...defaultPolicyRecovery, mode: 'conservative' } },
      'allowed',
      'context_file',
      /context/,
    ],
    ['a docs task', 'Makefile', { task: task({ role: 'docser' }) }, 'refused', 'docs_task', /docs task/],
    [
      'the area of another task',
      'Makefile',
      { held: [{ area: 'Makefile', by: 'task 2 "Build"' }] },
      'refused',
      'held_area',
      /task 2 "Build"/,
    ],
    ['what nothing covers', 'other.txt', {}, 'asked', 'model', /A model is asked/],
    ['what nothing covers, without a model', 'other.txt', { useLlm: false }, 'refused', 'no_rule', /no rule connects/],
    ['a name that is a glob', 'a*b', {}, 'refused', 'unsafe_path', /glob/],
  ])('%s', (_title, path, more, ...[decision, rule, because]) => {
    expect(ask(path, more)).toMatchObject({ decision, rule, because: expect.stringMatching(because) as string })
  })

  it('without a task no task allows it, and the fixed rules stay', () => {
    const { task: _task, ...rest } = { task: 0, path: 'src/a.c' }
    const bare = (path: string) =>
      explainPath({
        ...rest,
        ...{
          path,
          facts: tracked,
          denied: [],
          generated: [],
          held: [],
          policy: defaultPolicyRecovery,
          grants: [],
          ...plain,
        },
      })
    expect(bare('src/a.c').decision).toBe('asked')
    expect(bare('.env').rule).toBe('secret')
  })

  it('litter and what the owner calls generated is left out also where the task may change everything, unless it names that', () => {
    const everything = task({ allowedPaths: ['**'] })
    const named = task({ allowedPaths: ['.serena/**'] })
    expect(ask('.serena/a.md', { task: everything })).toMatchObject({ decision: 'left out', rule: 'litter' })
    expect(ask('.serena/a.md', { task: named })).toMatchObject({ decision: 'allowed', rule: 'task' })
    expect(ask('gen/a.html', { task: everything })).toMatchObject({ decision: 'left out', rule: 'generated' })
    expect(ask('gen/a.html', { task: task({ allowedPaths: ['gen/**'] }) })).toMatchObject({ decision: 'allowed' })
  })

  it('lists the rules in their order, and ends with the one that decides', () => {
    const { steps } = ask('Makefile')
    expect(steps.map(({ rule }) => rule)).toEqual([
      ...[
        'denied',
        'secret',
        'nested_repository',
        'symlink_out',
        'litter',
        'task',
        'no_attempts',
        'generated',
        'automatic',
      ],
    ])
    expect(steps.map(({ decides }) => decides)).toEqual([...Array<boolean>(8).fill(false), true])
  })
})
