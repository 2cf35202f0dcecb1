/** `unstuck config`: checks the owner's files, and confirms a change that allows more. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  const config = program
    .command('config')
    .description('check the configuration files, and confirm a change that allows more')
    .showSuggestionAfterError()
  config
    .command('check')
    .description('check .unstuck/config.json, policy-recovery.json and verify.contract.json, or one file')
    .argument('[file]', 'a file to check instead')
    .option(...jsonOption)
    .action((file: string | undefined, options: JsonOption) =>
      act(async (io) => (await import('../config-check.ts')).configCheckCommand(io, file, options)),
    )
  config
    .command('confirm')
    .description('show the change of the configuration that waits, and confirm it')
    .option('--digest <digest>', 'confirm the change that was shown with this digest, without asking')
    .option(...jsonOption)
    .action((options: JsonOption & { digest?: string }) =>
      act(async (io) => (await import('../config-confirm.ts')).configConfirmCommand(io, options)),
    )
}
