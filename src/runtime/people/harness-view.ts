/** The view of `unstuck harness`: the configured harnesses, whether each is installed, and its capabilities. It runs no program. */
import type { Config } from '../../config/config.ts'
import { capabilitiesOf, type KnownCapabilities } from '../../harness/capabilities.ts'
import type { Driver } from '../../harness/driver.ts'
import { drivers } from '../../harness/drivers.ts'
import { loginOf, type Login } from '../../harness/cli-login.ts'
import type { Files } from '../core/files.ts'
import { defaultHarness, findHarness, harnessNames } from '../harness/harness-choice.ts'
import { findProgram } from '../core/find-program.ts'

export interface HarnessView {
  name: string
  driver: Driver['name']
  isDefault: boolean
  /** From the configuration, else the driver's default. */
  program: string
  /** Path of the program; null = not installed. */
  path: string | null
  /** Null = not installed, not asked, or it reported none. */
  version: string | null
  login: Login
  known: KnownCapabilities
}

/** A harness without the fields that need a run of its program. */
export type FoundHarness = Omit<HarnessView, 'version' | 'known'> & {
  /** The program may be run to report its version: it is the CLI itself and not a command line of the owner. */
  asks: boolean
}

export const foundHarnesses = (
  files: Files,
  config: Config,
  environment: Record<string, string | undefined>,
): FoundHarness[] => {
  const path = environment['PATH']
  const byDefault = defaultHarness(files, config, path)
  return harnessNames(config).flatMap((name) => {
    const choice = findHarness(config, name)
    const program = choice?.harness.command?.[0] ?? choice?.driver.defaultProgram ?? undefined
    if (choice === undefined || program === undefined) return []
    const { driver, harness } = choice
    const found = findProgram(files, program, path) ?? null
    return {
      name,
      driver: driver.name,
      isDefault: name === byDefault,
      program,
      path: found,
      asks: found !== null && driver.defaultProgram !== null && (harness.command?.length ?? 1) === 1,
      login: loginOf(driver, environment, (file) => files.existsSync(file)),
    }
  })
}

export const harnessView = ({ asks: _asks, ...found }: FoundHarness, version: string | null): HarnessView => ({
  ...found,
  version,
  known: capabilitiesOf(drivers[found.driver], version ?? undefined),
})
