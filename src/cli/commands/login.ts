/** `unstuck login`: gives the engine the credentials of this shell, and tries again what could not log in. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('login')
    .description(
      'give the engine the keys of agent CLIs that are set in this shell (it keeps them in memory), and try again what stopped because a CLI could not log in',
    )
    .option(...jsonOption)
    .action((options: JsonOption) => act(async (io) => (await import('../login.ts')).loginCommand(io, options)))
}
