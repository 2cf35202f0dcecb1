/** The work of `unstuck policy test`: decides stored violations again with other rules. Nothing is changed. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Recovery, Run, TaskView } from '../api/contract.ts'
import { AppError, exitCodes, messageOf } from '../errors.ts'
import { loadPolicyRecovery } from '../policy-recovery-file.ts'
import { defaultPolicyRecovery, type PolicyRecovery } from '../recovery/policy/recovery-policy.ts'
import { replay, type ChangedCase, type Replay, type ReplayCase, type Replayed } from '../recovery/policy/replay.ts'
import type { JsonOption } from './command-options.ts'
import { homeOf } from './engine/home.ts'
import { printJson, printLine, type Io } from './io.ts'
import { pathTaskOf } from './policy-explain.ts'
import { createPaint, safe } from './render.ts'

/** The rules of a file in place of the repository's own file. Wrong input is the fault of this command line, not of the configuration. */
const rulesOfFile = (io: Io, root: string, file: string): PolicyRecovery => {
  const path = resolve(io.cwd, file)
  try {
    readFileSync(path)
    return loadPolicyRecovery({ root, environment: { ...io.environment, POLICY_RECOVERY_CONFIG_PATH: path } })
  } catch (error) {
    if (error instanceof AppError) throw new AppError('INPUT_INVALID', error.message)
    throw new AppError('INPUT_INVALID', `--config: ${path} cannot be read (${messageOf(error)}); name a readable file`)
  }
}

const pathsOf = ({ action }: Recovery): string[] => {
  const { paths } = action as { paths?: unknown }
  return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : []
}

/** Violations that ended a run, and those that a recovery within a run decided. */
const storedCases = async (io: Io): Promise<ReplayCase[]> => {
  const { readOnly } = await import('./engine/read-only.ts')
  return readOnly(io, async ({ client }) => {
    const tasks = new Map((await client.all<TaskView>('/tasks')).map((task) => [task.id, pathTaskOf(task)]))
    const ended = (await client.all<Run>('/runs')).flatMap(({ id, taskId, errorMeta }) =>
      (errorMeta?.policyViolations ?? []).map(({ path, kind }) => ({ taskId, runId: id, path, kind })),
    )
    const recovered = (await client.all<Recovery>('/recoveries'))
      .filter(({ label }) => label === 'policy_violation')
      .flatMap((recovery) =>
        pathsOf(recovery).map((path) => ({ taskId: recovery.taskId, runId: recovery.runId, path, kind: 'outside' })),
      )
    return [...recovered, ...ended].flatMap((entry) => {
      const task = tasks.get(entry.taskId)
      return task === undefined ? [] : [{ ...entry, task }]
    })
  })
}

const decided = ({ allowed, rule }: Replayed): string => `${allowed ? 'allowed' : 'refused'} (${rule})`

const lineOf = ({ path, taskId, before, after }: ChangedCase): string =>
  `  ${safe(path)}  task ${taskId}: ${decided(before)} -> ${decided(after)}`

const print = (io: Io, { cases, changed }: Replay, compared: string): void => {
  if (cases === 0)
    return printLine(io, 'No run has changed a path outside of its task yet, so there is nothing to compare.')
  const paint = createPaint(io.colours)
  printLine(io, paint.bold(`${changed.length} of ${cases} stored violations would be decided otherwise (${compared}).`))
  for (const entry of changed) {
    printLine(io, lineOf(entry))
    printLine(io, `    ${safe(entry.after.because)}`)
  }
}

export const policyTestCommand = async (io: Io, options: JsonOption & { config?: string }): Promise<number> => {
  const { root } = (await homeOf(io)).repository
  // Read first: a wrong file is reported also where nothing has been run yet.
  const tried = options.config === undefined ? undefined : rulesOfFile(io, root, options.config)
  const present = loadPolicyRecovery({ root, environment: io.environment })
  const [before, after] = tried === undefined ? [defaultPolicyRecovery, present] : [present, tried]
  const found = replay(await storedCases(io), before, after)
  if (options.json === true) printJson(io, found)
  else print(io, found, tried === undefined ? 'built-in rules -> present rules' : `present rules -> ${options.config}`)
  return exitCodes.ok
}
