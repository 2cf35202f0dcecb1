/** How the agent of a run reaches the tools of its run: the command of the server, and what its environment needs. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RunToolAccess } from '../runtime/core/context.ts'
import type { RunTokens } from './run-token.ts'

/** bin/unstuck.js, in a checkout and in an installed package. */
const entryPoint = (): string => {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, 'bin', 'unstuck.js')
    if (existsSync(path)) return path
  }
  throw new Error('bin/unstuck.js is missing from this installation')
}

export const toolAccessOf = (stateDir: string, tokens: RunTokens): RunToolAccess => ({
  command: [process.execPath, entryPoint(), 'mcp'],
  variables: (run) => ({ UNSTUCK_RUN_TOKEN: tokens.issue(run), UNSTUCK_ENGINE_FILE: join(stateDir, 'engine.json') }),
})
