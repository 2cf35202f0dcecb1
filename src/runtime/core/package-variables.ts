import { join } from 'node:path'
import { readOr, type Files } from './files.ts'

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

type Environment = Record<string, string | undefined>

/** npm takes a variable's name in any case. */
const given = (environment: Environment, name: string): string | undefined =>
  Object.entries(environment).find(([key]) => key.toLowerCase() === name)?.[1]

const cacheLine = /^[ \t]*cache[ \t]*=[ \t]*(\S.*?)[ \t]*$/m

/**
 * For npm where the workspace has a `.npmrc`, which the work may have written: where npm writes, and which user configuration it
 * reads, is as the user has it. Else one line of it sends the cache and the logs anywhere, or the packages among the user's own
 * programs. Keys of that file can be spelt in many ways, so nothing is looked for in it. Seen with npm 11.19.
 */
export const npmVariables = (
  files: Files,
  environment: Environment,
  folders: readonly string[],
): Record<string, string> => {
  if (!folders.some((folder) => files.existsSync(join(folder, '.npmrc')))) return {}
  const home = environment.HOME ?? files.homeDir()
  const userconfig = given(environment, 'npm_config_userconfig') ?? join(home, '.npmrc')
  const written = cacheLine.exec(readOr(files, userconfig) ?? '')?.[1]
  const cache = given(environment, 'npm_config_cache') ?? written?.replace(/^~(?=\/)/, home) ?? join(home, '.npm')
  return {
    npm_config_userconfig: userconfig,
    npm_config_cache: cache,
    npm_config_logs_dir: given(environment, 'npm_config_logs_dir') ?? join(cache, '_logs'),
    npm_config_global: 'false',
    npm_config_location: 'project',
  }
}
