/** The tools of a run in the hands of the real Claude and the real Codex, each started in its own way. */
import { test } from 'vitest'
import { useOwnTools, workWithout } from './own-tools.ts'

test.each(['claude', 'codex'] as const)('%s uses the tools of its run, and a person answers it', useOwnTools)

test.each([
  ['claude', 'never responds', ['sleep', '1000']],
  ['claude', 'is missing', ['/nosuch/program']],
  ['codex', 'never responds', ['sleep', '1000']],
  ['codex', 'is missing', ['/nosuch/program']],
] as const)('%s works without its tools when the server %s', (cli, _how, command) => workWithout(cli, [...command]))
