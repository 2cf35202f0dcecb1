/**
 * Loads the configuration of one repository: defaults < `.unstuck/config.json` < environment < command line. Each layer is
 * checked on its own, so that an error names the file, variable or option with the wrong value.
 */
import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { configKeysAt } from './config-keys.ts'
import { configSchema } from './config-schema.ts'
import { knownHarnesses } from '../harness/names.ts'
import type { Config } from './config-schema.ts'
import { readLogLevels } from './log-levels.ts'
import { AppError } from '../errors.ts'
import { quotingNoLink, readOwnerFile } from './owner-file.ts'
import { pathListOf } from '../recovery/policy/generated.ts'
import { explainIssue, nearestWord, parseJson, prototypeKeyIn, valueText } from '../validation.ts'
import { whyNotAllowed } from './wide-folder.ts'

export { describeConfig } from './config-keys.ts'
export type { Config, HarnessConfig } from './config-schema.ts'

type Layer = Record<string, unknown>

export interface ConfigSources {
  /** Top folder of the repository, or the plain folder. */
  root: string
  environment?: Readonly<Record<string, string | undefined>>
  /** Values of command-line options by configuration key (`maxParallel`, `limits.runSeconds`); `undefined` = not given. */
  flags?: Readonly<Record<string, unknown>>
  /** Of the configuration, if it is not the one of the repository. */
  path?: string
  /** Returns the text of a file, or `undefined` if it does not exist. */
  readFile?: (path: string) => string | undefined
}

const maxBytes = 1024 * 1024

const invalid = (source: string, problem: string): AppError => new AppError('CONFIG_INVALID', `${source}: ${problem}`)

const isLayer = (value: unknown): value is Layer => typeof value === 'object' && value !== null && !Array.isArray(value)

const checked = (source: string, layer: unknown): Layer => {
  if (!isLayer(layer)) throw invalid(source, `it is ${valueText(layer)}; allowed: a JSON object, { … }`)
  const key = prototypeKeyIn(layer)
  if (key !== undefined) throw invalid(source, `the key ${key} is a name that every object has; remove it`)
  const result = configSchema.safeParse(layer)
  if (!result.success) throw invalid(source, explainIssue(result.error, layer, configKeysAt))
  const refused = result.data.allowedDirs
    .map((dir) => whyNotAllowed({ realpathSync, homeDir: homedir }, dir))
    .find((problem) => problem !== undefined)
  if (refused !== undefined) throw invalid(source, `allowedDirs: ${refused}`)
  return layer
}

const layerOfText = (path: string, text: string): Layer => {
  if (text.length > maxBytes) throw invalid(path, 'it is larger than 1 MiB')
  const json = parseJson(text)
  if (!json.ok) throw invalid(path, `it is not JSON (${json.problem})`)
  return checked(path, json.value)
}

const fileLayer = (path: string, read: (path: string) => string | undefined): Layer => {
  const text = read(path)
  return text === undefined ? {} : quotingNoLink(path, () => layerOfText(path, text))
}

const numberOrText = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)

const fromMilliseconds = (text: string): unknown => {
  const value = numberOrText(text)
  return typeof value === 'number' ? value / 1000 : value
}

const booleanOrText = (text: string): unknown =>
  /^(true|1|yes|on)$/i.test(text) ? true : /^(false|0|no|off)$/i.test(text) ? false : text

const variables: readonly { name: string; key: string; read: (text: string) => unknown }[] = [
  { name: 'UNSTUCK_HARNESS', key: 'harness.default', read: (text) => text },
  { name: 'UNSTUCK_MAX_PARALLEL', key: 'maxParallel', read: numberOrText },
  { name: 'FAILED_TASK_RETRY_COOLDOWN_MS', key: 'retry.transientBaseSeconds', read: fromMilliseconds },
  { name: 'BLOCKED_TASK_RETRY_COOLDOWN_MS', key: 'retry.quotaBaseSeconds', read: fromMilliseconds },
  { name: 'FAILED_TASK_MAX_RETRY_COUNT', key: 'retry.transientLimit', read: numberOrText },
  { name: 'FAILED_TASK_MAX_RETRY_COUNT', key: 'requeue.maxRetries', read: numberOrText },
  { name: 'FAILED_TASK_RETRY_COOLDOWN_MS', key: 'requeue.failedSeconds', read: fromMilliseconds },
  { name: 'BLOCKED_TASK_RETRY_COOLDOWN_MS', key: 'requeue.blockedSeconds', read: fromMilliseconds },
  { name: 'BLOCKED_NEEDS_REWORK_IN_PLACE_RETRY_LIMIT', key: 'requeue.inPlaceLimit', read: numberOrText },
  { name: 'FAILED_TASK_REPEATED_SIGNATURE_THRESHOLD', key: 'requeue.sameFailureLimit', read: numberOrText },
  { name: 'BLOCKED_POLICY_SUPPRESSION_MAX_RETRIES', key: 'requeue.suppressionLimit', read: numberOrText },
  { name: 'AUTO_REWORK_MAX_DEPTH', key: 'requeue.reworkDepth', read: numberOrText },
  { name: 'JUDGE_MODE', key: 'judge.mode', read: (text) => text },
  { name: 'JUDGE_AWAITING_RETRY_COOLDOWN_MS', key: 'judge.retrySeconds', read: fromMilliseconds },
  { name: 'JUDGE_DOOM_LOOP_CIRCUIT_BREAKER_RETRIES', key: 'judge.retries', read: numberOrText },
  { name: 'WORKER_POLICY_RECOVERY_USE_LLM', key: 'policyRecovery.useLlm', read: booleanOrText },
  { name: 'WORKER_POLICY_RECOVERY_ATTEMPTS', key: 'policyRecovery.attempts', read: numberOrText },
  { name: 'WORKER_POLICY_RECOVERY_TIMEOUT_SECONDS', key: 'policyRecovery.timeoutSeconds', read: numberOrText },
  { name: 'WORKER_POLICY_RECOVERY_MODEL', key: 'policyRecovery.model', read: (text) => text },
  { name: 'GENERATED_PATHS', key: 'policyRecovery.generatedPaths', read: pathListOf },
  { name: 'WORKER_EXTRA_GENERATED_PATHS', key: 'policyRecovery.extraGeneratedPaths', read: pathListOf },
  { name: 'WORKER_VERIFY_SKIP_MISSING_EXPLICIT_SCRIPT', key: 'verify.skipMissingExplicitScript', read: booleanOrText },
  { name: 'HOURLY_TOKEN_LIMIT', key: 'limits.hourTokens', read: numberOrText },
  { name: 'DISPATCH_FEATURE_LANE_MIN_SLOTS', key: 'lanes.featureMinSlots', read: numberOrText },
  { name: 'DISPATCH_CONFLICT_LANE_MAX_SLOTS', key: 'lanes.conflictRecoveryMaxSlots', read: numberOrText },
  { name: 'DISPATCH_DOCSER_LANE_MAX_SLOTS', key: 'lanes.docserMaxSlots', read: numberOrText },
  { name: 'UNSTUCK_WEBHOOK_URL', key: 'webhooks.on_escalation', read: (text) => text },
  { name: 'UNSTUCK_WEBHOOK_SECRET', key: 'webhooks.secret', read: (text) => text },
  { name: 'UNSTUCK_NTFY_URL', key: 'notify.ntfy', read: (text) => text },
  { name: 'UNSTUCK_NTFY_ANSWERS_URL', key: 'notify.ntfyAnswers', read: (text) => text },
]

/** Names of the variables that are read into keys. */
export const configVariables: readonly string[] = variables.map(({ name }) => name)

/** `limits.runSeconds` -> {limits: {runSeconds: value}} */
const nested = (key: string, value: unknown): Layer =>
  key.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value) as Layer

const merged = (base: Layer, over: Layer): Layer => {
  const entries = Object.entries(over).map(([key, value]): [string, unknown] => {
    const below = Object.hasOwn(base, key) ? base[key] : undefined
    return [key, isLayer(below) && isLayer(value) ? merged(below, value) : value]
  })
  return { ...base, ...Object.fromEntries(entries) }
}

interface Named {
  source: string
  layer: Layer
}

const layersOf = ({
  root,
  environment = {},
  flags = {},
  readFile = readOwnerFile,
  ...given
}: ConfigSources): Named[] => {
  const { path = join(root, '.unstuck', 'config.json') } = given
  const set = variables.filter(({ name }) => (environment[name] ?? '') !== '')
  return [
    { source: path, layer: fileLayer(path, readFile) },
    ...set.map(({ name, key, read }) => {
      const source = `environment variable ${name}`
      return { source, layer: checked(source, nested(key, read(environment[name] ?? ''))) }
    }),
    ...Object.entries(flags)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => ({ source: 'command line', layer: checked('command line', nested(key, value)) })),
  ]
}

/** The keys that the environment and the command line set, as paths of the loaded configuration. */
export const givenKeys = ({ environment = {}, flags = {} }: Omit<ConfigSources, 'root'>): string[] => [
  ...variables.filter(({ name }) => (environment[name] ?? '') !== '').map(({ key }) => key),
  ...Object.entries(flags).flatMap(([key, value]) => (value === undefined ? [] : key)),
]

/** Needs all layers: one may set the default, and another the harness of that name. */
const checkNames = (
  config: Config,
  layers: readonly Named[],
  [section, key]: readonly ['harness', 'default' | 'failover'] | readonly ['judge', 'harness'],
): void => {
  const known = [...new Set([...knownHarnesses, ...Object.keys(config.harness.named)])]
  const given = section === 'judge' ? config.judge.harness : config.harness[key]
  const name = [given ?? []].flat().find((candidate) => !known.includes(candidate))
  if (name === undefined) return
  const source =
    layers.findLast(({ layer }) => isLayer(layer[section]) && layer[section][key] !== undefined)?.source ??
    'configuration'
  const guess = nearestWord(name, known)
  const advice = guess === undefined ? '' : ` Did you mean "${guess}"?`
  const problem = invalid(
    source,
    `${section}.${key} ${key === 'failover' ? 'names' : 'is'} ${valueText(name)}; allowed: ${known.join(', ')}, or add harness.${name}.${advice}`,
  )
  quotingNoLink(source, () => {
    throw problem
  })
}

/** Throws `CONFIG_INVALID` with the source, the key, its value and what is allowed. */
export const loadConfig = (sources: ConfigSources): Config => {
  // No key has it, but a command that starts an engine is to report a mistake before it does.
  readLogLevels(sources.environment ?? {})
  const layers = layersOf(sources)
  const whole = layers.reduce<Layer>((base, { layer }) => merged(base, layer), {})
  const config = configSchema.parse(whole)
  checkNames(config, layers, ['harness', 'default'])
  checkNames(config, layers, ['harness', 'failover'])
  checkNames(config, layers, ['judge', 'harness'])
  return config
}
