/** `unstuck harness`: lists the agent CLIs and their capabilities. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('harness')
    .description('list the agent CLIs: version, login, location and capabilities')
    .option(...jsonOption)
    .action((options: JsonOption) => act(async (io) => (await import('../harness.ts')).harnessCommand(io, options)))
}
