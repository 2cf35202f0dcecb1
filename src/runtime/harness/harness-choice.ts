/** Resolves the name of a harness: an entry of the configuration, else the driver of that name with its defaults. */
import type { Context } from '../core/context.ts'
import type { Config, HarnessConfig } from '../../config/config.ts'
import type { Driver } from '../../harness/driver.ts'
import { driverNamed, drivers } from '../../harness/drivers.ts'
import { knownHarnesses } from '../../harness/names.ts'
import { AppError } from '../../errors.ts'
import { findProgram } from '../core/find-program.ts'
import type { Files } from '../core/files.ts'

export interface HarnessChoice {
  harness: HarnessConfig
  driver: Driver
}

const plain = (driver: Driver): HarnessConfig => ({ driver: driver.name, args: [], env: [] })

export const findHarness = (config: Config, name: string): HarnessChoice | undefined => {
  const configured = config.harness.named[name]
  const driver = driverNamed(configured?.driver ?? name)
  if (driver === undefined || (configured === undefined && driver.defaultProgram === null)) return undefined
  return { driver, harness: configured ?? plain(driver) }
}

/** Never undefined: a harness that was removed from the configuration becomes a `command` without a program, which preparation reports. */
export const harnessNamed = (config: Config, name: string): HarnessChoice => {
  const found = findHarness(config, name)
  if (found !== undefined) return found
  return { driver: drivers.command, harness: plain(drivers.command) }
}

export const harnessNames = (config: Config): string[] => [
  ...new Set([...knownHarnesses, ...Object.keys(config.harness.named)]),
]

/** The harness of a task that names none: the configured default, else the first installed CLI. */
export const defaultHarness = (files: Files, config: Config, path: string | undefined): string | undefined =>
  config.harness.default ??
  harnessNames(config).find((name) => {
    const program = config.harness.named[name]?.command?.[0] ?? driverNamed(name)?.defaultProgram ?? null
    return program !== null && findProgram(files, program, path) !== undefined
  })

/** Why the program of a harness cannot be started; undefined when it can. */
export const missingProgram = (
  files: Files,
  { harness, driver }: HarnessChoice,
  name: string,
  path: string | undefined,
): string | undefined => {
  const program = harness.command?.[0] ?? driver.defaultProgram
  if (program === null || program === undefined)
    return `harness "${name}" has no command; set harness.${name}.command in .unstuck/config.json`
  if (findProgram(files, program, path) !== undefined) return undefined
  const where = program.includes('/') ? 'is not an executable program' : 'is not on the PATH'
  return `"${program}" of harness "${name}" ${where}; install it or set harness.${name}.command in .unstuck/config.json`
}

/** Chooses the harness of new work. Throws HARNESS_MISSING when it cannot be started, because the run would only end in a question. */
export const chooseHarness = (
  files: Files,
  config: Config,
  name: string | undefined,
  path: string | undefined,
): string => {
  const chosen = name ?? defaultHarness(files, config, path)
  if (chosen === undefined) {
    throw new AppError(
      'HARNESS_MISSING',
      `no agent CLI was found on the PATH (${knownHarnesses.join(', ')}); install one, or set harness.default in .unstuck/config.json`,
    )
  }
  const found = findHarness(config, chosen)
  if (found === undefined) {
    throw new AppError('INPUT_INVALID', `there is no harness "${chosen}"; known: ${harnessNames(config).join(', ')}`)
  }
  const missing = missingProgram(files, found, chosen, path)
  if (missing !== undefined) throw new AppError('HARNESS_MISSING', missing)
  return chosen
}

export const canStartHarness = (files: Files, config: Config, name: string, path: string | undefined): boolean => {
  const found = findHarness(config, name)
  return found !== undefined && missingProgram(files, found, name, path) === undefined
}

/** Names of the harnesses whose programs can be started on this host now. */
export const harnessesHere = (context: Context): string[] => {
  const config = context.config()
  const { PATH } = context.environment
  return harnessNames(config).filter((name) => canStartHarness(context.ports.files, config, name, PATH))
}
