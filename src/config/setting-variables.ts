/**
 * The variables of the environment that are settings. They take effect in the engine that is started with them, so a command that has
 * others than the running engine must not go on as if they applied.
 */
import { createHash } from 'node:crypto'
import { configVariables } from './config.ts'

type Environment = Readonly<Record<string, string | undefined>>

const names: readonly string[] = [
  ...new Set([
    ...configVariables,
    ...['POLICY_RECOVERY_MODE', 'POLICY_RECOVERY_CONFIG_JSON', 'POLICY_RECOVERY_CONFIG_PATH'],
  ]),
]

/** Name and digest of each one that is set: a value may be a secret, and only equality matters. */
export const settingVariables = (environment: Environment): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = environment[name] ?? ''
      const digest = createHash('sha256').update(`${name}=${value}`).digest('hex').slice(0, 16)
      return value === '' ? [] : [[name, digest]]
    }),
  )

/** The names of those that are set here, and not or otherwise in the engine. */
export const variablesWithoutEffect = (here: Environment, engine: Readonly<Record<string, string>>): string[] =>
  Object.entries(settingVariables(here)).flatMap(([name, digest]) => (engine[name] === digest ? [] : [name]))
