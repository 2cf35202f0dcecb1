/** `unstuck service`: keeps the engine of this repository running by systemd or launchd. */
import { jsonOption, type Register } from '../command-options.ts'
import type { ServiceOptions } from '../service.ts'

const userOption = ['--user', 'the unit of this user, also for root'] as const

export const register: Register = (program, act) => {
  const service = program
    .command('service')
    .description('keep the engine of this repository running by systemd or launchd')
    .showSuggestionAfterError()
  service
    .command('install')
    .description('write the unit of the engine, enable and start it')
    .option('--dry-run', 'print what would be written and run')
    .option(...userOption)
    .option(...jsonOption)
    .action((options: ServiceOptions) =>
      act(async (io) => (await import('../service.ts')).serviceInstallCommand(io, options)),
    )
  service
    .command('uninstall')
    .description('stop the engine, disable and remove its unit')
    .option('--dry-run', 'print what would be removed')
    .option(...userOption)
    .option(...jsonOption)
    .action((options: ServiceOptions) =>
      act(async (io) => (await import('../service.ts')).serviceUninstallCommand(io, options)),
    )
  service
    .command('status')
    .description('tell whether the unit is installed and runs')
    .option(...userOption)
    .option(...jsonOption)
    .action((options: ServiceOptions) =>
      act(async (io) => (await import('../service.ts')).serviceStatusCommand(io, options)),
    )
}
