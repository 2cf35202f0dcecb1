/** `unstuck completion`: prints a script that completes commands and options in a shell. */
import { Argument } from 'commander'
import { exitCodes } from '../../errors.ts'
import type { Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('completion')
    .description('print a script that completes commands and options in your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', '\nExample:\n  source <(unstuck completion bash)')
    .action((shell: string) =>
      act(async (io) => {
        const { completionScript } = await import('../completion.ts')
        io.out(completionScript(program, shell))
        return exitCodes.ok
      }),
    )
}
