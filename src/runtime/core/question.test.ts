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

const nextStepBy = (label: string, evidence: string, environment: Record<string, string> = {}, env: string[] = []) => {
  const task = { id: 't-1', number: 1, title: 'T', takenOver: null, review: null, harness: 'x' }
  const run = { id: 'r-1', harness: 'x', launches: [] }
  const context = { environment, config: () => ({ env }) }
  const session = { task, run, goal: { id: 'g-1' }, driver: drivers.command, harness: {}, context }
  const diagnosis = { label, evidence, facts: { command: 'node check.js', remaining: 1 } }
  return questionOf(session as unknown as RunContext, diagnosis as unknown as Diagnosis, {
    ...{ reason: 'no playbook', then: 'escalate', recoveries: [] },
  }).details.split('\n')[0] as string
}

const nextStepFor = (environment: Record<string, string>, env: string[] = []): string =>
  nextStepBy('missing_env_var', 'node check.js: exit 1, Error: API_URL is not set (in CI too)', environment, env)

it('a variable that a check misses: the key that passes it on is named, and whether the engine has it to pass on', () => {
  const [known, unknown, passed] = [nextStepFor({ API_URL: 'x' }), nextStepFor({}), nextStepFor({}, ['API_URL'])]
  for (const text of [known, unknown]) expect(text).toMatch(/^Next step: .*"env" in \.unstuck\/config\.json.*API_URL/)
  for (const text of [unknown, passed]) expect(text).toContain('unstuck stop')
  expect([known.includes('unstuck stop'), passed.includes('.unstuck/config.json')]).toEqual([false, false])
})

it('a check that asks at a terminal: the remedy is another command', () => {
  const text = nextStepBy('terminal_missing', 'node check.js: exit 1, /dev/tty: No such device or address')
  expect(text).toMatch(/^Next step: .*terminal.*--yes/)
})
