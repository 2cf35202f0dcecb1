import { delimiter, isAbsolute, join, sep } from 'node:path'
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

/** The packages of a Python project in its folder `src`, which its checks import as after an install. */
const sourceFolder = (files: Files, workspace: string): string[] => {
  const source = join(workspace, 'src')
  const isProject = pythonManifests.some((name) => files.existsSync(join(workspace, name)))
  return isProject && files.existsSync(source) && files.statSync(source).isDirectory() && isImportable(files, source)
    ? [source]
    : []
}

/** The absolute entries of a search path of the owner's shell. Those in the checkout lead into the workspace. */
const ownersEntries = (value: string | undefined, root: string, workspace: string): string[] =>
  (value ?? '')
    .split(delimiter)
    .filter((entry) => isAbsolute(entry))
    .map((entry) => (entry === root || entry.startsWith(root + sep) ? workspace + entry.slice(root.length) : entry))

interface OwnersShell {
  root: string
  environment: Environment
}

const variablesOf = (found: Record<string, string[]>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(found).flatMap(([name, entries]) => (entries.length === 0 ? [] : [[name, entries.join(delimiter)]])),
  )

/** Where Python and Node find modules that are not installed: the folders that the owner's shell names, for an agent in a workspace. */
export const ownersSearchPaths = (workspace: string, { root, environment }: OwnersShell): Record<string, string> =>
  variablesOf({
    PYTHONPATH: ownersEntries(environment.PYTHONPATH, root, workspace),
    NODE_PATH: ownersEntries(environment.NODE_PATH, root, workspace),
  })

/** What an editable install of the owner adds to the path: a line of a `.pth` file in the packages of their account. */
const editableFolders = (files: Files, workspace: string, { root, environment }: OwnersShell): string[] => {
  const base = environment.PYTHONUSERBASE ?? join(environment.HOME ?? files.homeDir(), '.local')
  const namesIn = (folder: string): string[] => (files.existsSync(folder) ? files.readdirSync(folder) : [])
  const lib = join(base, 'lib')
  return namesIn(lib)
    .filter((name) => name.startsWith('python'))
    .map((name) => join(lib, name, 'site-packages'))
    .flatMap((site) => namesIn(site).flatMap((name) => (name.endsWith('.pth') ? [join(site, name)] : [])))
    .flatMap((path) => (readIfFile(files, path) ?? '').split(/\r?\n/))
    .filter((line) => line === root || line.startsWith(root + sep))
    .map((line) => workspace + line.slice(root.length))
}

/**
 * The same for checks. What an editable install adds comes first, from the workspace: the install leads into the owner's checkout.
 * Agents do not get it: it would come before the modules of an agent that is written in Python.
 */
export const searchPaths = (files: Files, workspace: string, shell: OwnersShell): Record<string, string> => {
  const { PYTHONPATH, ...more } = ownersSearchPaths(workspace, shell)
  const first = [...sourceFolder(files, workspace), ...editableFolders(files, workspace, shell)]
  return { ...variablesOf({ PYTHONPATH: [...first, ...(PYTHONPATH === undefined ? [] : [PYTHONPATH])] }), ...more }
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
