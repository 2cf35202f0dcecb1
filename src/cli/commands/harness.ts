/** `unstuck harness`: which agent CLIs are here, and what they can do. */
import { json, type JsonOption, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('harness')
    .description('which agent CLIs are installed, in which version, with credentials or not, and what they can do')
    .option(...json)
    .action((options: JsonOption) => act(async (io) => (await import('../harness.ts')).harness(io, options)))
}
