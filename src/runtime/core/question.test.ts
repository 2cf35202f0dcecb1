import { expect, it } from 'vitest'
import { drivers } from '../../harness/drivers.ts'
import type { DriverName } from '../../harness/names.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import { questionOf } from './question.ts'
import type { RunContext } from './run-context.ts'

const detailsOf = (name: DriverName, refused: { tool: string; target?: string }): string => {
  const task = { id: 't-1', number: 1, title: 'T', takenOver: null, review: null, harness: name }
  const run = { id: 'r-1', harness: name, launches: [] }
  const session = { task, run, goal: { id: 'g-1' }, driver: drivers[name], harness: {}, context: {} }
  const diagnosis = { label: 'TOOL_DENIED', evidence: 'refused', facts: { refused } }
  return questionOf(session as unknown as RunContext, diagnosis as unknown as Diagnosis, {
    ...{ reason: 'no playbook', then: 'pause_goal', recoveries: [] },
  }).details
}

it.each([
  ['claude', 'Bash', '"--allowedTools", "Bash(npm --version:*)" to harness.claude.args'],
  ['gemini', 'run_shell_command', '"--allowed-tools", "run_shell_command(npm --version)" to harness.gemini.args'],
] as const)('a command that %s refused is allowed by a rule in the configuration', (name, tool, rule) => {
  expect(detailsOf(name, { tool, target: 'npm --version > v.txt' })).toContain(
    `To allow it for every run: add ${rule} in .unstuck/config.json, then unstuck resume`,
  )
})

it('a CLI without rules for single tools is named with its settings', () => {
  expect(detailsOf('codex', { tool: 'exec_command' })).toContain('Allow it in the settings of that CLI')
})
