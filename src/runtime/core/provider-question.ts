/** What a person is told when a CLI cannot log in or has no such model: which harness it is, and what to do. No retry helps before. */
import type { Diagnosis } from '../../recovery/types.ts'
import type { Session } from './session.ts'

const restart = 'A variable is read when the engine starts: unstuck stop, then unstuck up.'

/** Question and advice; undefined for every other diagnosis. */
export const providerQuestion = (
  { task, driver, harness }: Pick<Session, 'task' | 'driver' | 'harness'>,
  { label }: Diagnosis,
): { question: string; advice: string } | undefined => {
  const about = `task ${task.number} "${task.title}"`
  if (label === 'auth_failure') {
    const how = harness.command === undefined ? driver.login?.advice : undefined
    return {
      question: `Harness "${task.harness}" cannot log in at its provider (${about}). Retry it after fixing the login, or cancel it?`,
      advice: `Next step: ${how ?? `fix the login of the program of harness.${task.harness}.command`}. ${restart} Then unstuck retry ${task.id}.`,
    }
  }
  if (label !== 'model_missing') return undefined
  const model = task.model ?? harness.model
  const named = model === undefined || model === null ? 'its standard model' : `the model "${model}"`
  const where =
    task.model === null
      ? `set harness.${task.harness}.model in .unstuck/config.json to one that the account may use`
      : 'give the task another model, in a new goal'
  return {
    question: `The provider of harness "${task.harness}" does not have ${named} (${about}). Retry it after choosing another, or cancel it?`,
    advice: `Next step: ${where}. Then unstuck retry ${task.id}.`,
  }
}
