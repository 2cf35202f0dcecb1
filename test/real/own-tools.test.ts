/** The tools of a run in the hands of the real Claude and the real Codex, each started in its own way. */
import { test } from 'vitest'
import { useOwnTools, workWithout } from './own-tools.ts'

test.each(['claude', 'codex'] as const)('%s uses the tools of its run, and a person answers it', useOwnTools)

/** It reads its input and ends with it. */
const silent = ['sh', '-c', 'cat >/dev/null']

test.each([
  ['claude', 'never responds', silent],
  ['claude', 'is missing', ['/nosuch/program']],
  ['codex', 'never responds', silent],
  ['codex', 'is missing', ['/nosuch/program']],
] as const)('%s works without its tools when the server %s', (cli, _how, command) => workWithout(cli, [...command]))
