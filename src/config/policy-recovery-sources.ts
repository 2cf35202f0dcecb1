/** Where each setting of the policy recovery comes from: built-in, a file, or a variable. */
import { readOwnerFile } from './owner-file.ts'
import { loadPolicyRecovery, policyRecoveryFile, type PolicyRecoverySources } from './policy-recovery-file.ts'
import { defaultPolicyRecovery, type PolicyRecovery } from '../recovery/policy/recovery-policy.ts'

export interface PolicySetting {
  key: keyof PolicyRecovery
  /** The sources that contribute, the last one on top. */
  from: string[]
}

export interface PolicyWithSources {
  policy: PolicyRecovery
  settings: PolicySetting[]
}

/** The source of a default. */
export const builtIn = 'built-in'

const settingKeys = Object.keys(defaultPolicyRecovery) as (keyof PolicyRecovery)[]

type Layer = Partial<Record<string, unknown>>

/** The text was accepted by the loader, so it is an object. */
const layerOf = (text: string | undefined): Layer =>
  text === undefined || text === '' ? {} : (JSON.parse(text) as Layer)

/** A layer that sets the value replaces what is below; a list is added to it, except where the rules below are dropped. */
const sourcesOf = (key: keyof PolicyRecovery, layers: readonly { name: string; layer: Layer }[]): string[] => {
  const found = [builtIn]
  for (const { name, layer } of layers) {
    const replaces =
      key === 'mode'
        ? layer.mode !== undefined
        : key === 'commandDrivenAllowedPathRules' && layer.replaceDefaultCommandDrivenAllowedPathRules === true
    if (replaces) found.length = 0
    if (replaces || layer[key] !== undefined) found.push(name)
  }
  return found
}

/** Throws `CONFIG_INVALID` as the loader does. */
export const loadWithSources = (sources: Pick<PolicyRecoverySources, 'root' | 'environment'>): PolicyWithSources => {
  const { environment = {} } = sources
  let file: string | undefined
  const policy = loadPolicyRecovery({ ...sources, readFile: (path) => (file = readOwnerFile(path)) })
  const { POLICY_RECOVERY_CONFIG_PATH: path = '', POLICY_RECOVERY_MODE: mode = '' } = environment
  const layers = [
    { name: path === '' ? policyRecoveryFile : path, layer: layerOf(file) },
    { name: 'POLICY_RECOVERY_CONFIG_JSON', layer: layerOf(environment.POLICY_RECOVERY_CONFIG_JSON) },
    { name: 'POLICY_RECOVERY_MODE', layer: mode === '' ? {} : { mode } },
  ]
  return { policy, settings: settingKeys.map((key) => ({ key, from: sourcesOf(key, layers) })) }
}
