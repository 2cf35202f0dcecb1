/** `unstuck mcp`: serves tools to an agent over the Model Context Protocol. */
import type { Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('mcp')
    .description(
      'serve tools over MCP on standard input and output: to you for this repository, or to the agent of a run',
    )
    .addHelpText(
      'after',
      `
For you: add_task, status and explain, with the rights of your user. For example:
  claude mcp add unstuck -- unstuck mcp
Unstuck starts it for its own agents, with propose_recovery, report_progress and
ask_person for their run alone (docs/mcp.md).`,
    )
    .action(() => act(async (io) => (await import('../mcp/serve-tools.ts')).serveMcp(io)))
}
