/** `unstuck exec`: any headless agent command under supervision, with no project, store or engine. */
import { collect, positive, type Register } from '../command.ts'
import { knownHarnesses } from '../../harness/names.ts'
import type { ExecOptions } from '../exec/exec.ts'

export const register: Register = (program, act) => {
  program
    .command('exec')
    .description(
      'run one headless agent command under the same supervision, with no project, store or engine: unstuck exec -- codex exec "<task>". What the command forbids its agent stays forbidden. Exit status: the agent\'s own; 75 = it waits for a limit; 3 = it ended with 0, but a refused write is missing, or something was refused and no file changed',
    )
    .argument('<command...>', 'the agent command, behind --')
    .option(
      '--harness <name>',
      `whose events to read: auto (by the program), ${[...knownHarnesses, 'command'].join(', ')}`,
      'auto',
    )
    .option(
      '--allow-dir <dir>',
      'a directory outside that the agent may be given when it is refused there, within what its own options allow (repeatable)',
      collect,
      [],
    )
    .option('--max-wait <seconds>', 'longest single wait for a provider; what needs longer ends with 75', positive, 600)
    .option(
      '--set <key=number>',
      'a stall.* or doomLoop.* of the configuration (docs/config.md), such as stall.silenceSeconds=60 (repeatable)',
      collect,
      [],
    )
    .option('--stdin <file>', 'standard input of the agent (otherwise it is empty)')
    .option('--json', 'events as JSON lines, the result last')
    .addHelpText(
      'after',
      '\nExit status: that of the agent; 75 when it ended waiting for a limit; 3 when it ended with 0 although a refused write stands, or although' +
        '\nsomething was refused and no file changed. What the command line of the agent restricts is never loosened.',
    )
    .action((command: string[], options: ExecOptions) =>
      act(async (io) => (await import('../exec/exec.ts')).exec(io, command, options)),
    )
}
