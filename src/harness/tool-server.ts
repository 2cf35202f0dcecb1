/** The name under which every CLI sees the server of a run's tools, and what its configuration says of it. */
import { join } from 'node:path'
import type { ToolServer } from './driver.ts'

export const toolServerName = 'unstuck'

/** Seconds a CLI waits for the server to start; then it works without the tools. */
export const toolServerStartSeconds = 20

/** Configurations take the variables by reference, so no file has the token. */
export const variableReferences = (server: ToolServer, refer: (name: string) => string): Record<string, string> =>
  Object.fromEntries(server.variables.map((name) => [name, refer(name)]))

/** The entry of a `mcpServers` object. */
export const serverEntry = (server: ToolServer) => {
  const [command = '', ...args] = server.command
  return { command, args, env: variableReferences(server, (name) => `\${${name}}`) }
}

export const serverFile = (server: ToolServer, entry: object): { path: string; text: string } => ({
  path: join(server.folder, 'tools.json'),
  text: JSON.stringify({ mcpServers: { [toolServerName]: entry } }),
})
