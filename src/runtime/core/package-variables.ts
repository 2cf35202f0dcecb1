import { join } from 'node:path'
import { readIfFile, type Files } from './files.ts'

/**
 * Variables for agents and commands in a workspace that make pnpm and uv copy packages. By default they link installed files to their
 * stores, to which the user's checkout is linked as well: a write to one file would change all of them. Those of pnpm are set only
 * where pnpm is used, because npm warns about unknown variables. Measured with pnpm 10.34 (the first name) and 11.28 (the second);
 * uv according to its manual.
 */
export const packageVariables = (files: Files, workspace: string): Record<string, string> => ({
  UV_LINK_MODE: 'copy',
  ...(files.existsSync(join(workspace, 'pnpm-lock.yaml'))
    ? { npm_config_package_import_method: 'copy', pnpm_config_package_import_method: 'copy' }
    : {}),
})

const pythonManifests = ['pyproject.toml', 'setup.py', 'setup.cfg']

/** A package, or a module. */
const isImportable = (files: Files, folder: string): boolean =>
  files.readdirSync(folder).some((name) => name.endsWith('.py') || files.existsSync(join(folder, name, '__init__.py')))

/**
 * Lets checks of a Python project with its packages in `src` import them as after an install, from the workspace. An editable
 * install that the owner made leads into the owner's checkout; this comes before it.
 */
export const sourceVariables = (files: Files, workspace: string): Record<string, string> => {
  const source = join(workspace, 'src')
  const isProject = pythonManifests.some((name) => files.existsSync(join(workspace, name)))
  return isProject && files.existsSync(source) && files.statSync(source).isDirectory() && isImportable(files, source)
    ? { PYTHONPATH: source }
    : {}
}

type Environment = Record<string, string | undefined>

/** npm ignores the case of these names. */
const given = (environment: Environment, name: string): string | undefined =>
  Object.entries(environment).find(([key]) => key.toLowerCase() === name)?.[1]

const cacheLine = /^[ \t]*cache[ \t]*=[ \t]*(\S.*?)[ \t]*$/m

/**
 * Variables for npm if the workspace has a `.npmrc`, which an agent may have written. They pin where npm writes and which user
 * configuration it reads. Otherwise one line of that file could redirect the cache and the logs, or install into the user's own
 * programs. The file is not searched for such keys, because they can be spelt in many ways. Measured with npm 11.19.
 */
export const npmVariables = (
  files: Files,
  environment: Environment,
  folders: readonly string[],
): Record<string, string> => {
  if (!folders.some((folder) => files.existsSync(join(folder, '.npmrc')))) return {}
  const home = environment.HOME ?? files.homeDir()
  const userconfig = given(environment, 'npm_config_userconfig') ?? join(home, '.npmrc')
  const written = cacheLine.exec(readIfFile(files, userconfig) ?? '')?.[1]
  const cache = given(environment, 'npm_config_cache') ?? written?.replace(/^~(?=\/)/, home) ?? join(home, '.npm')
  return {
    npm_config_userconfig: userconfig,
    npm_config_cache: cache,
    npm_config_logs_dir: given(environment, 'npm_config_logs_dir') ?? join(cache, '_logs'),
    npm_config_global: 'false',
    npm_config_location: 'project',
  }
}
