import { join } from 'node:path'
import type { Files } from './files.ts'

/**
 * For agents and commands in a workspace. pnpm and uv would link installed files to their stores, which the user's checkout
 * links to as well: what writes into one of them writes into all. With these they copy them. pnpm's only where pnpm is used,
 * since npm warns of variables that it does not know. Seen with pnpm 10.34 (the first), 11.28 (the second);
 * uv as its manual says.
 */
export const packageVariables = (files: Files, workspace: string): Record<string, string> => ({
  UV_LINK_MODE: 'copy',
  ...(files.existsSync(join(workspace, 'pnpm-lock.yaml'))
    ? { npm_config_package_import_method: 'copy', pnpm_config_package_import_method: 'copy' }
    : {}),
})
