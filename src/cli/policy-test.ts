/** The work of `unstuck policy test`: decides stored violations and failures again with other settings. Nothing is changed. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { loadConfig, type Config } from '../config/config.ts'
import { configSchema } from '../config/config-schema.ts'
import { AppError, exitCodes, messageOf } from '../errors.ts'
import { loadPolicyRecovery } from '../config/policy-recovery-file.ts'
import { defaultPolicyRecovery, policyRecoverySchema, type PolicyRecovery } from '../recovery/policy/recovery-policy.ts'
import { replay, type ChangedCase, type Replay, type ReplayRules } from '../recovery/policy/replay.ts'
import { parseJson } from '../validation.ts'
import type { JsonOption } from './command-options.ts'
import { homeOf } from './engine/home.ts'
import { printJson, printLine, type Io } from './io.ts'
import { storedCases } from './policy-cases.ts'
import { createPaint, safe } from './render.ts'
import { countText } from './times.ts'

const rulesOf = (policy: PolicyRecovery, config: Config): ReplayRules => ({
  ...policy,
  deniedPaths: config.deniedPaths,
  'policyRecovery.generatedPaths': config.policyRecovery.generatedPaths,
  'policyRecovery.extraGeneratedPaths': config.policyRecovery.extraGeneratedPaths,
  'policyRecovery.useLlm': config.policyRecovery.useLlm,
  'policyRecovery.attempts': config.policyRecovery.attempts,
  'playbooks.disabled': config.playbooks.disabled,
  'requeue.maxRetries': config.requeue.maxRetries,
  'requeue.inPlaceLimit': config.requeue.inPlaceLimit,
  'requeue.sameFailureLimit': config.requeue.sameFailureLimit,
  'requeue.suppressionLimit': config.requeue.suppressionLimit,
  'requeue.reworkDepth': config.requeue.reworkDepth,
  'requeue.fruitlessCalls': config.requeue.fruitlessCalls,
})

/** A file like `.unstuck/config.json`, not like `.unstuck/policy-recovery.json`: the two have no key in common. */
const isConfig = (text: string): boolean => {
  const json = parseJson(text)
  if (!json.ok || typeof json.value !== 'object' || json.value === null) return false
  const keys = Object.keys(json.value).filter((key) => key !== '$schema')
  const isPolicy = keys.some((key) => Object.hasOwn(policyRecoverySchema.shape, key))
  return !isPolicy && keys.some((key) => Object.hasOwn(configSchema.shape, key))
}

interface Present {
  root: string
  environment: Io['environment']
}

/** The settings with a file in place of the repository's own one. */
const withFile = (path: string, text: string, { root, environment }: Present): ReplayRules => {
  const policy = loadPolicyRecovery({ root, environment })
  if (isConfig(text)) {
    const own = join(root, '.unstuck', 'config.json')
    try {
      return rulesOf(policy, loadConfig({ root, environment, readFile: (file) => (file === own ? text : undefined) }))
    } catch (error) {
      throw error instanceof AppError ? new AppError(error.code, error.message.replace(own, path)) : error
    }
  }
  const tried = loadPolicyRecovery({ root, environment: { ...environment, POLICY_RECOVERY_CONFIG_PATH: path } })
  return rulesOf(tried, loadConfig({ root, environment }))
}

/** Wrong input is the fault of this command line, not of the configuration. */
const rulesOfFile = (io: Io, root: string, file: string): ReplayRules => {
  const path = resolve(io.cwd, file)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new AppError('INPUT_INVALID', `--config: ${path} cannot be read (${messageOf(error)}); name a readable file`)
  }
  try {
    return withFile(path, text, { root, environment: io.environment })
  } catch (error) {
    throw error instanceof AppError ? new AppError('INPUT_INVALID', error.message) : error
  }
}

const lineOf = ({ subject, title, taskId, before, after, keys }: ChangedCase): string =>
  `  ${safe(subject)} in task "${safe(title)}" (${taskId}): ${before.decision} (${before.rule}) -> ${after.decision} (${after.rule}), by ${keys.join(', ')}`

/** Cases that change in the same way stand together. */
const grouped = (changed: readonly ChangedCase[]): Map<string, ChangedCase[]> => {
  const groups = new Map<string, ChangedCase[]>()
  for (const entry of changed) {
    const what = entry.kind === 'path' ? 'Changed paths' : 'Failed runs'
    const name = `${what}: ${entry.before.decision} -> ${entry.after.decision}`
    groups.set(name, [...(groups.get(name) ?? []), entry])
  }
  return groups
}

const print = (io: Io, { paths, failures, checks, changed }: Replay, compared: string): void => {
  if (paths + failures === 0)
    return printLine(io, 'No run has failed or changed a path outside of its task yet, so there is nothing to compare.')
  const paint = createPaint(io.colours)
  const replayed = `${countText(paths, 'changed path')} and ${countText(failures, 'failure')} (${checks} of checks) were decided again`
  printLine(io, paint.bold(`${changed.length} would change (${compared}); ${replayed}.`))
  for (const [name, entries] of grouped(changed)) {
    printLine(io, `${name} (${entries.length})`)
    for (const entry of entries) printLine(io, lineOf(entry))
  }
}

export const policyTestCommand = async (io: Io, options: JsonOption & { config?: string }): Promise<number> => {
  const { repository } = await homeOf(io)
  const { root } = repository
  // Read first: a wrong file is reported also where nothing has been run yet.
  const tried = options.config === undefined ? undefined : rulesOfFile(io, root, options.config)
  const sources = { root, environment: io.environment }
  const present = rulesOf(loadPolicyRecovery(sources), loadConfig(sources))
  const builtIn = rulesOf(defaultPolicyRecovery, configSchema.parse({}))
  const found = replay(
    await storedCases(io, repository),
    ...(tried === undefined ? ([builtIn, present] as const) : ([present, tried] as const)),
  )
  if (options.json === true) printJson(io, found)
  else
    print(
      io,
      found,
      tried === undefined ? 'built-in settings -> present settings' : `present settings -> ${options.config}`,
    )
  return exitCodes.ok
}
