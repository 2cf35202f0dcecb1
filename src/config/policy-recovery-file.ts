/**
 * Loads the policy recovery of one repository: built-in < `.unstuck/policy-recovery.json` or the file that
 * POLICY_RECOVERY_CONFIG_PATH names < POLICY_RECOVERY_CONFIG_JSON < POLICY_RECOVERY_MODE. It is read from the owner's checkout,
 * never from an agent's workspace. A wrong value is an error: as an ignored one it would change what agents may write.
 */
import { realpathSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { AppError } from '../errors.ts'
import { quotingNoLink, readOwnerFile } from './owner-file.ts'
import {
  defaultPolicyRecovery,
  mergePolicyRecovery,
  policyRecoveryKeysAt,
  policyRecoverySchema,
  type PolicyRecovery,
  type PolicyRecoveryLayer,
} from '../recovery/policy/recovery-policy.ts'
import { explainIssue, parseJson, prototypeKeyIn, valueText } from '../validation.ts'

export const policyRecoveryFile = '.unstuck/policy-recovery.json'

export interface PolicyRecoverySources {
  /** Top folder of the owner's checkout. */
  root: string
  environment?: Readonly<Record<string, string | undefined>>
  /** Returns the text of a file, or `undefined` if it does not exist. */
  readFile?: (path: string) => string | undefined
  /** Resolves symlinks; throws if the path does not exist. */
  realPath?: (path: string) => string
}

const maxBytes = 1024 * 1024

const invalid = (source: string, problem: string): AppError => new AppError('CONFIG_INVALID', `${source}: ${problem}`)

const layerOf = (source: string, text: string): PolicyRecoveryLayer => {
  if (text.length > maxBytes) throw invalid(source, 'it is larger than 1 MiB')
  const json = parseJson(text)
  if (!json.ok) throw invalid(source, `it is not JSON (${json.problem})`)
  const key = prototypeKeyIn(json.value)
  if (key !== undefined) throw invalid(source, `the key ${key} is a name that every object has; remove it`)
  const result = policyRecoverySchema.safeParse(json.value)
  if (!result.success) throw invalid(source, explainIssue(result.error, json.value, policyRecoveryKeysAt))
  return result.data
}

const variable = (name: string): string => `environment variable ${name}`

/** The file that POLICY_RECOVERY_CONFIG_PATH names. A relative path must not leave the repository, not even by a symlink. */
const namedFile = (name: string, { root, realPath = realpathSync }: PolicyRecoverySources): string => {
  const source = variable('POLICY_RECOVERY_CONFIG_PATH')
  const allowed = 'allowed: the path of a file inside the repository, or an absolute path'
  if (name.includes('\0')) throw invalid(source, `it contains a NUL character; ${allowed}`)
  if (isAbsolute(name)) return name
  const path = join(root, name)
  let inside: string
  try {
    inside = relative(realPath(root), realPath(path))
  } catch {
    // A missing file has no real path; reading it reports that.
    inside = relative(root, path)
  }
  if (inside === '' || inside.split('/')[0] === '..' || isAbsolute(inside))
    throw invalid(source, `it is ${valueText(name)}, which is not a file inside the repository; ${allowed}`)
  return path
}

const fileLayer = (sources: PolicyRecoverySources): PolicyRecoveryLayer => {
  const { root, environment = {}, readFile = readOwnerFile } = sources
  const name = environment.POLICY_RECOVERY_CONFIG_PATH ?? ''
  const path = name === '' ? join(root, policyRecoveryFile) : namedFile(name, sources)
  const text = readFile(path)
  if (text !== undefined) return quotingNoLink(path, () => layerOf(path, text))
  if (name === '') return {}
  throw invalid(variable('POLICY_RECOVERY_CONFIG_PATH'), `it is ${valueText(name)}; there is no file ${path}`)
}

/** Throws `CONFIG_INVALID` with the file or variable, the key, its value and what is allowed. */
export const loadPolicyRecovery = (sources: PolicyRecoverySources): PolicyRecovery => {
  const { environment = {} } = sources
  const json = environment.POLICY_RECOVERY_CONFIG_JSON ?? ''
  const mode = environment.POLICY_RECOVERY_MODE ?? ''
  const modeSource = variable('POLICY_RECOVERY_MODE')
  const layers: PolicyRecoveryLayer[] = [
    fileLayer(sources),
    json === '' ? {} : layerOf(variable('POLICY_RECOVERY_CONFIG_JSON'), json),
    mode === '' ? {} : layerOf(modeSource, JSON.stringify({ mode })),
  ]
  return layers.reduce(mergePolicyRecovery, defaultPolicyRecovery)
}
