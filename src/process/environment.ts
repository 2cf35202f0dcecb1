/** The environment of agents and commands: only the variables on an allow-list. */
import { delimiter, isAbsolute, join, normalize, relative } from 'node:path'

type Environment = Record<string, string | undefined>

const allowedNames = new Set(
  'PATH HOME USER LOGNAME SHELL LANG TERM TMPDIR TZ NODE_EXTRA_CA_CERTS HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy'.split(
    ' ',
  ),
)
const allowedPrefixes = ['LC_', 'XDG_', 'SSL_CERT_']

/** Where a language's tools are installed. Without them a tool that works in the owner's shell has no version, or another one. */
const toolchainFolders = new Set(
  'JAVA_HOME JDK_HOME KOTLIN_HOME SCALA_HOME MAVEN_HOME M2_HOME GRADLE_HOME ANDROID_HOME ANDROID_SDK_ROOT SDKMAN_DIR JENV_ROOT RUSTUP_HOME GOROOT GOPATH GOENV_ROOT PYENV_ROOT RBENV_ROOT GEM_HOME GEM_PATH NVM_DIR NVM_BIN FNM_DIR FNM_MULTISHELL_PATH NODENV_ROOT N_PREFIX VOLTA_HOME PNPM_HOME BUN_INSTALL DENO_DIR COREPACK_HOME ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR MISE_CONFIG_DIR DOTNET_ROOT FLUTTER_ROOT SWIFTLY_HOME_DIR GHCUP_INSTALL_BASE_PREFIX OPAMROOT JULIA_DEPOT_PATH'.split(
    ' ',
  ),
)
/** Which of several installed versions the owner's shell uses. */
const toolchainVersion =
  /^(?:(?:PYENV|RBENV|NODENV|GOENV|JENV)_VERSION|RUSTUP_TOOLCHAIN|GOTOOLCHAIN|(?:ASDF|MISE)_\w+_VERSION)$/

/** Only folders and versions: neither can hold a secret. */
const isOfToolchain = (name: string, value: string): boolean =>
  (toolchainFolders.has(name) && isAbsolute(value)) || (toolchainVersion.test(name) && /^[\w.+-]{1,64}$/.test(value))

const isAllowed = (name: string, extra: Set<string>): boolean =>
  // The engine's own settings and its token are never passed on, even when the configuration lists them.
  !name.startsWith('UNSTUCK_') &&
  (allowedNames.has(name) || extra.has(name) || allowedPrefixes.some((prefix) => name.startsWith(prefix)))

/** Environment of an agent. `added` is not filtered and wins over the source. */
export const allowedEnvironment = (
  source: Environment,
  extraNames: readonly string[] = [],
  added: Record<string, string> = {},
): Record<string, string> => {
  const extra = new Set(extraNames)
  const kept: Record<string, string> = { TERM: 'dumb' }
  for (const [name, value] of Object.entries(source)) {
    if (value !== undefined && (isAllowed(name, extra) || isOfToolchain(name, value))) kept[name] = value
  }
  return { ...kept, ...added }
}

const isPackageFolder = (folder: string): boolean => /(^|\/)node_modules\/\.bin\/?$/.test(normalize(folder))

/** The folders of a PATH without those of packages, which belong to one project, and without `.` and others that a folder decides. */
export const outerFolders = (path: string): string[] =>
  path.split(delimiter).filter((folder) => isAbsolute(folder) && !isPackageFolder(folder))

const packageFolders = ['node_modules/.bin']
const pythonFolders = ['.venv/bin', 'venv/bin']

const withPath = (kept: Record<string, string>, folders: readonly string[]): Record<string, string> => ({
  ...kept,
  PATH: folders.join(delimiter),
})

/** Environment of a check: the workspace's own tools come first, and those of other projects are not on the PATH. */
export const commandEnvironment = (
  workspace: string,
  source: Environment,
  extraNames: readonly string[] = [],
  added: Record<string, string> = {},
): Record<string, string> => {
  const kept = allowedEnvironment(source, extraNames, added)
  const own = [...packageFolders, ...pythonFolders].map((folder) => join(workspace, folder))
  return withPath(kept, [...own, ...outerFolders(kept.PATH ?? '')])
}

/** For a command in a folder below: a Python project there has an environment of its own. */
export const withPythonOf = (folder: string, environment: Record<string, string>): Record<string, string> =>
  withPath(environment, [...pythonFolders.map((name) => join(folder, name)), environment.PATH ?? ''])

const python = /^(?:python|pip|pipx|pytest)[\d.]*$/

/**
 * Environment of a command that was approved by its text, and of repairs: its program is the owner's, because an agent can put one of
 * the same name into the workspace. Folders of the workspace come last, for tools that only packages bring; those of its Python first
 * where nothing but Python runs, because there another Python would be another place.
 * `programs`: names of the programs that run.
 */
export const approvedEnvironment = (
  workspace: string,
  source: Environment,
  { extraNames, added, programs }: { extraNames: readonly string[]; added: Record<string, string>; programs: string[] },
): Record<string, string> => {
  const kept = allowedEnvironment(source, extraNames, added)
  const inside = (folders: string[]): string[] => folders.map((folder) => join(workspace, folder))
  const outside = outerFolders(kept.PATH ?? '').filter((folder) => /^\.\.(?:\/|$)/.test(relative(workspace, folder)))
  const isPython = programs.length > 0 && programs.every((program) => python.test(program))
  const [first, last] = isPython ? [pythonFolders, packageFolders] : [[], [...packageFolders, ...pythonFolders]]
  return withPath(kept, [...inside(first), ...outside, ...inside(last)])
}
