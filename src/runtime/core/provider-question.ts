/** What a person reads when a CLI cannot log in or has no such model, or the task is too long for it. These end without a retry: it would fail in the same way. */
import { overflowAdvice } from '../../recovery/limit.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import type { RunContext } from './run-context.ts'

type Asking = Pick<RunContext, 'task' | 'driver' | 'harness'>

/** What stopped the task, without its name; undefined for every other diagnosis. */
export const providerProblem = ({ task, harness }: Asking, { label, evidence }: Diagnosis): string | undefined => {
  if (label === 'auth_failure') return `harness "${task.harness}" cannot log in at its provider ("${evidence}")`
  if (label === 'context_overflow')
    return `the task is too long for the model of harness "${task.harness}", also in a fresh session ("${evidence}")`
  if (label !== 'model_missing') return undefined
  const model = task.model ?? harness.model
  const named = model === undefined || model === null ? 'its default model' : `the model "${model}"`
  return `the provider of harness "${task.harness}" does not offer ${named} ("${evidence}")`
}

/** What the person does about it; undefined for every other diagnosis. */
export const providerAdvice = ({ task, driver, harness }: Asking, { label }: Diagnosis): string | undefined => {
  if (label === 'auth_failure') {
    const how = harness.command === undefined ? driver.login?.advice : undefined
    const login = how ?? `fix the login of the program of harness.${task.harness}.command`
    return `Next step: ${login}. Then, in the shell that has a new key, unstuck login; after a login in a file, unstuck retry ${task.id}.`
  }
  if (label === 'context_overflow')
    return `Next step: ${overflowAdvice}: unstuck edit ${task.id}, then unstuck retry ${task.id}; or unstuck answer ${task.id} retry --model "…".`
  if (label !== 'model_missing') return undefined
  return task.model === null
    ? `Next step: set harness.${task.harness}.model in .unstuck/config.json to a model that the account may use. Then unstuck retry ${task.id}.`
    : `Next step: unstuck answer ${task.id} retry --model "…", with a model that the account may use.`
}
