/** `unstuck exec`: supervises one headless agent command, without a project, store or engine. */
import { collectValues, positiveNumber, type Register } from '../command-options.ts'
import { knownHarnesses } from '../../harness/names.ts'
import type { ExecOptions } from '../exec/exec.ts'

export const register: Register = (program, act) => {
  program
    .command('exec')
    .description('supervise one headless agent command, without a project, store or engine')
    .argument('<command...>', 'agent command, after --')
    .option(
      '--harness <name>',
      `harness whose output to expect: auto (by the program), ${[...knownHarnesses, 'command'].join(', ')}`,
      'auto',
    )
    .option(
      '--allow-dir <dir>',
      'directory outside this folder that the agent may get when it is refused there, within what its own options allow (repeatable)',
      collectValues,
      [],
    )
    .option(
      '--max-wait <seconds>',
      'longest single wait for a provider; a longer one ends the command with 75',
      positiveNumber,
      600,
    )
    .option(
      '--set <key=number>',
      'stall.* or doomLoop.* key of the configuration (docs/config.md), such as stall.silenceSeconds=60 (repeatable)',
      collectValues,
      [],
    )
    .option('--stdin <file>', 'file for the standard input of the agent (default: empty)')
    .option('--json', 'print events as JSON lines, and the result last')
    .addHelpText(
      'after',
      `
Exit status: that of the agent; 75 if a limit has to be waited for; 3 if the
agent exited with 0 but a refused write is missing, or something was refused
and no file changed. What the agent command forbids its agent stays forbidden.

Example:
  unstuck exec -- codex exec "Fix the failing test in src/parser"`,
    )
    .action((command: string[], options: ExecOptions) =>
      act(async (io) => (await import('../exec/exec.ts')).execCommand(io, command, options)),
    )
}
