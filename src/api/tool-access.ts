/** How the agent of a run reaches the tools of its run: the command of the server, and what its environment needs. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { shippedPath } from '../platform/shipped-path.ts'
import type { RunToolAccess } from '../runtime/core/context.ts'
import type { RunTokens } from './run-token.ts'

/** bin/unstuck.js, in a checkout and in an installed package. */
const entryPoint = (): string => {
  const path = shippedPath(existsSync, 'bin', 'unstuck.js')
  if (path === undefined) throw new Error('bin/unstuck.js is missing from this installation')
  return path
}

export const toolAccessOf = (stateDir: string, tokens: RunTokens): RunToolAccess => ({
  command: [process.execPath, entryPoint(), 'mcp'],
  variables: (run) => ({ UNSTUCK_RUN_TOKEN: tokens.issue(run), UNSTUCK_ENGINE_FILE: join(stateDir, 'engine.json') }),
})
