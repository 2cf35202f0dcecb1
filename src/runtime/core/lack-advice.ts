/** What a person does about what a check misses here and may have in the person's shell: a variable, because checks get an allow-listed environment, or a terminal. */
import type { Diagnosis } from '../../recovery/types.ts'
import type { RunContext } from './run-context.ts'

const variableName = /\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b[A-Z]{2,}(?:URL|KEY|TOKEN|SECRET|HOST|PORT|DSN)\b/g

/** The names in the failure's line, without those of the command itself. */
const namedIn = ({ evidence, facts }: Diagnosis): string[] => {
  const line = 'command' in facts ? evidence.replace(`${facts.command}: `, '') : evidence
  return [...new Set(line.match(variableName))].slice(0, 3)
}

const variableAdvice = (
  { context, task }: Pick<RunContext, 'context' | 'task'>,
  diagnosis: Diagnosis,
): string | undefined => {
  const names = diagnosis.label === 'missing_env_var' ? namedIn(diagnosis) : []
  if (names.length === 0) return undefined
  const list = names.join(', ')
  const isSet = names.every((name) => context.environment[name] !== undefined)
  const isPassed = names.every((name) => context.config().env.includes(name))
  const restart = `run "unstuck stop", then "unstuck up" in a shell that has ${list}`
  if (isPassed) return isSet ? undefined : `the engine was started without ${list}: ${restart}`
  const add = `checks get only the variables that "env" in .unstuck/config.json names: add ${list} there`
  return isSet ? `${add}, then "unstuck retry ${task.id}"` : `${add}, ${restart}, and "unstuck retry ${task.id}"`
}

/** A sentence without its end; undefined where the failure is none of these. */
export const lackAdvice = (
  runContext: Pick<RunContext, 'context' | 'task'>,
  diagnosis: Diagnosis,
): string | undefined =>
  diagnosis.label === 'terminal_missing'
    ? 'the check asks at a terminal, and checks run without one: let it take an option such as --yes or CI=1, and name that command as the check'
    : variableAdvice(runContext, diagnosis)
