/**
 * Settles a label by what a line names: a path, a module, a host. The same words mean different things for a package and for
 * a file of the project, for a program and for the output of a build. Each refinement gives a label or refuses.
 */
import { agentPrograms, programName, shells, type CommandFacts } from './argv.ts'
import type { Label } from './labels.ts'
import type { Line } from './text.ts'

export interface Refined {
  label: Label
  action?: string
  infra?: boolean
}

export interface Scene {
  command: CommandFacts
  lines: readonly Line[]
  line: Line
  caught: string
  label: Label
  exitCode: number | null
}

export type Refinement =
  | 'path'
  | 'jsModule'
  | 'pyModule'
  | 'program'
  | 'refused'
  | 'environment'
  | 'pySyntax'
  | 'jsSyntax'
  | 'javaPackage'
  | 'installing'
  | 'usage'
  | 'crate'
  | 'missingPackage'
  | 'binary'
  | 'pyFile'
  | 'sourceFile'
  | 'goSum'
  | 'noTests'
  | 'header'
  | 'makeTarget'
  | 'neededBy'
  | 'gitConfig'
  | 'httpHost'
  | 'rubyFile'
  | 'absent'
  | 'artifact'

const artifactFolder =
  /(?:^|\/)(?:dist|build|out|target|bin|lib-cov|coverage|\.next|\.nuxt|\.output|_build|obj|release|Release|Debug|generated|__generated__|public\/build|public\/assets|storybook-static|site|artifacts?|\.svelte-kit|cmake-build-[\w-]+|bazel-bin|esm|cjs|lib\/esm|www|prebuilt)(?:\/|$)/
const artifactFile =
  /\.(?:whl|jar|war|o|so|a|exe|dll|class|wasm|tgz|tar\.gz|d\.ts|map|elf|min\.js|min\.css|pyd|node|deb|rpm|apk|gem|nupkg|lcov|tsbuildinfo)$|(?:^|\/)(?:lcov\.info|coverage[\w.-]*\.(?:json|xml|out)|manifest\.json|bundle\.js)$/
const ownScripts = /(?:^|\/)(?:scripts?|tools|hack|ci|\.ci|\.github)\//

const stripped = (path: string): string =>
  path
    .replace(/^(?:file:\/\/)?/, '')
    .replace(/^\/repo\//, '')
    .replace(/^(?:\.\.?\/)+/, '')
export const isArtifact = (path: string): boolean =>
  !ownScripts.test(path) && (artifactFolder.test(stripped(path)) || artifactFile.test(path))

const inEnvironment =
  /(?:^|\/)(?:\.?venv|env|virtualenv|\.tox|\.nox|site-packages|dist-packages|node_modules|vendor\/bundle)\//

const samePath = (caught: string, word: string): boolean => {
  const name = stripped(word)
  return (
    name !== '' && (caught === word || stripped(caught) === name || (name.includes('.') && caught.endsWith(`/${name}`)))
  )
}

const isArgument = (scene: Scene, path: string): boolean =>
  scene.command.argvs.some((argv) => argv.slice(1, 4).some((word) => samePath(path, word)))
const isProgram = (scene: Scene, path: string): boolean =>
  scene.command.argvs.some((argv) => samePath(path, argv[0] ?? ''))
const uses = (scene: Scene, ...names: string[]): boolean => scene.command.programs.some((name) => names.includes(name))
const anyLine = (scene: Scene, pattern: RegExp): boolean => scene.lines.some(({ text }) => pattern.test(text))

/** A file that is not there. */
const path = (scene: Scene): Refined | undefined => {
  const { caught } = scene
  if (/node_modules\//.test(caught) && !/node_modules\/\.bin\//.test(caught)) return { label: 'corrupted_install' }
  if (inEnvironment.test(`${caught}/`)) return { label: 'dependency_missing' }
  if (isArtifact(caught)) return { label: 'build_artifact_missing' }
  if (
    /(?:^|\/)(?:package\.json|Cargo\.toml|pyproject\.toml|go\.mod|pom\.xml|Gemfile|composer\.json|Rakefile)$/.test(
      caught,
    )
  )
    return { label: 'missing_script' }
  if (/(?:^|\/)[Mm]akefile$/.test(caught)) return { label: 'missing_make_target' }
  if (
    isProgram(scene, caught) ||
    (isArgument(scene, caught) &&
      uses(
        scene,
        'node',
        'python',
        'bash',
        'sh',
        'ruby',
        'php',
        'perl',
        'deno',
        'bun',
        'tsx',
        'ts-node',
        'zsh',
        'lua',
        'Rscript',
        'dash',
      ))
  )
    return { label: 'missing_script' }
  if (uses(scene, 'test', 'ls', 'stat', 'cat', 'file', 'grep', 'diff', 'head', 'wc') && isArgument(scene, caught))
    return { label: 'test_failure' }
  return scene.label === 'unknown' ? undefined : { label: scene.label }
}

const builtinModules =
  /^(?:node:|bun:|fs$|path$|os$|util$|http$|https$|crypto$|stream$|events$|url$|assert$|zlib$|net$|tls$)/
const ownAlias = /^(?:[.#~]|@\/|src\/|\/|app\/|components\/|lib\/|\$lib|\$app|~~|virtual:)/

const jsModule = (scene: Scene): Refined | undefined => {
  const { caught, line } = scene
  if (builtinModules.test(caught)) return { label: 'runtime_version' }
  const fromPackage =
    /(?:imported from|required by|from) ['"]?\S*node_modules\//.test(line.text) ||
    anyLine(scene, /^\s*- \S*node_modules\//)
  if (/^\.{1,2}(?:\/|$)/.test(caught)) {
    if (fromPackage) return { label: 'corrupted_install' }
    return { label: isArtifact(caught) ? 'build_artifact_missing' : 'compile_error' }
  }
  if (/^(?:\/|[A-Z]:\\|file:)/.test(caught)) {
    if (caught.includes('/node_modules/')) return { label: 'corrupted_install' }
    if (isArtifact(caught)) return { label: 'build_artifact_missing' }
    return {
      label: isArgument(scene, caught) || anyLine(scene, /requireStack: \[\]/) ? 'missing_script' : 'compile_error',
    }
  }
  return { label: ownAlias.test(caught) ? 'compile_error' : 'dependency_missing' }
}

const newerPython =
  /^(?:tomllib|distutils|imp|zoneinfo|asynchat|asyncore|smtpd|graphlib|cgi|telnetlib|pipes|dataclasses|contextvars|importlib\.(?:resources|metadata)|urllib2|ConfigParser|StringIO|Queue|cPickle|asyncio|annotationlib|compression(?:\.zstd)?)$/
const namespaces =
  /^(?:google|azure|zope|jaraco|backports|sphinxcontrib|ruamel|opentelemetry|llama_index|paste|mpl_toolkits|airflow)\./
const ownPython =
  /^(?:app|apps|src|tests?|config|settings|utils|helpers|main|conftest|core|models|api|server|lib|common|project|backend|scripts|tools)(?:\.|$)/

const pyModule = ({ caught }: Scene): Refined => {
  if (newerPython.test(caught)) return { label: 'runtime_version' }
  if (ownPython.test(caught)) return { label: 'compile_error' }
  return { label: caught.includes('.') && !namespaces.test(caught) ? 'compile_error' : 'dependency_missing' }
}

/** A program that could not be started, named by word or by path. */
const program = (scene: Scene): Refined | undefined => {
  const { caught } = scene
  // `bash nowhere.sh`: the script that a shell was told to run.
  if (scene.command.argvs.some(([shell = '', script]) => script === caught && shells.has(programName(shell))))
    return { label: 'missing_script' }
  if (!caught.includes('/')) return { label: /^\W*$/.test(caught) ? 'unknown' : 'command_not_found' }
  if (inEnvironment.test(caught))
    return { label: /node_modules\/\.bin/.test(caught) ? 'command_not_found' : 'dependency_missing' }
  if (isArtifact(caught)) return { label: 'build_artifact_missing' }
  return { label: /^\/(?:usr|opt|home|bin|sbin|Library)\//.test(caught) ? 'command_not_found' : 'missing_script' }
}

const local = /localhost|127\.0\.0\.1|\[?::1\]?|0\.0\.0\.0|host\.docker\.internal/
const remote =
  /registry|proxy|https:\/\/|github\.com|gitlab|\bpypi\b|crates\.io|\bport 443\b|:443\b|mirror|repo\.maven/i

/** A refused connection to one's own server is a service that is down; to the outside it is the way there. */
const refused = ({ line, command }: Scene): Refined => {
  const installs = command.argvs.some(
    (argv) =>
      /^(?:install|ci|add|i|fetch|download|pull|push|clone|update|upgrade)$/.test(argv[1] ?? '') ||
      /^(?:install|download)$/.test(argv[2] ?? ''),
  )
  const fetches =
    command.programs.some((name) =>
      /^(?:npm|pnpm|yarn|bun|pip|cargo|go|git|gem|bundle|composer|poetry|uv|mvn|gradle|gradlew|apt-get|apt)$/.test(
        name,
      ),
    ) && installs
  if (/proxy/i.test(line.text) || fetches) return { label: 'network_unreachable' }
  return { label: remote.test(line.text) && !local.test(line.text) ? 'network_unreachable' : 'service_unavailable' }
}

/** A key that is missing is an environment variable when the environment was asked. */
const environment = (scene: Scene): Refined | undefined =>
  /^[A-Z][A-Z0-9_]{2,}$/.test(scene.caught) &&
  anyLine(
    scene,
    /environ|<frozen os>|\bos\.py\b|getenv|ENV\[|ENV\.fetch|process\.env|env::var|System\.getenv|ENV:|`fetch'|in 'fetch'/,
  )
    ? { label: 'missing_env_var' }
    : undefined

const pySyntax = (scene: Scene): Refined => {
  const old = scene.command.argvs.some((argv) => /python2|python3\.[0-8]$/.test(argv[0] ?? ''))
  if (old || anyLine(scene, /\/python2\.\d\//)) return { label: 'runtime_version' }
  const frames = scene.lines.filter(({ text }) => /^\s*File ".*", line \d+/.test(text))
  return { label: (frames.at(-1)?.text ?? '').includes('site-packages/') ? 'corrupted_install' : 'compile_error' }
}

/** A configuration that is written as a program. */
const configScript = /(?:\.config|\.conf|\/\.\w+rc)\.[cm]?[jt]s:\d+$/

/** The file in which the engine met it stands in a line of its own before the code. */
const jsSyntax = (scene: Scene): Refined => {
  if (anyLine(scene, /^\s*(?:# |E +)?File ".*", line \d+/)) return pySyntax(scene)
  const at = scene.lines.findIndex((line) => line === scene.line)
  const before = scene.lines.slice(Math.max(0, at - 5), at).map(({ text }) => text)
  const where = before.find((text) => /^(?:\S*: )?(?:file:\/\/)?\/\S+:\d+$/.test(text)) ?? ''
  if (where.includes('/node_modules/'))
    return {
      label: /Invalid or unexpected token|Unexpected end of input|Unexpected end of JSON/.test(scene.line.text)
        ? 'corrupted_install'
        : 'runtime_version',
    }
  return { label: configScript.test(where) ? 'config_error' : scene.label }
}

const javaPackage = ({ caught, line }: Scene): Refined => {
  const [first = '', second = ''] = caught.split('.')
  return { label: second !== '' && line.text.includes(`${first}/${second}/`) ? 'compile_error' : 'dependency_missing' }
}

const installers =
  /^(?:npm|pnpm|yarn|bun|pip|cargo|go|gem|bundle|composer|poetry|uv|mvn|gradle|docker|git|curl|wget|apt-get|helm|terraform)$/

/** 5xx, 429 and refusals count where the command itself talks to a registry or a forge. */
const installing = (scene: Scene): Refined | undefined =>
  scene.command.programs.some((name) => installers.test(name)) ||
  remote.test(scene.line.text) ||
  /GET http/.test(scene.line.text)
    ? { label: scene.label }
    : undefined

/** An unknown option of a coding agent or of a script inside is not the command line's own. */
const usage = (scene: Scene): Refined | undefined => {
  if (scene.command.programs.some((name) => agentPrograms.has(name))) return { label: 'invalid_usage' }
  if (
    anyLine(scene, /^\s*(?:inifile|configfile): \S*\.(?:ini|cfg|toml)/) &&
    !scene.command.argvs.some((argv) =>
      argv.some((word) => word.length > 2 && scene.caught.split(/[ ,]/).includes(word)),
    )
  )
    return { label: 'dependency_missing' }
  return { label: 'invalid_usage' }
}

const crate = (scene: Scene): Refined => ({
  label: /^(?:crate|self|super)(?:::|$)/.test(scene.caught) ? 'compile_error' : 'dependency_missing',
})

/** A package that the registry does not have, or that no network could ask for. */
const missingPackage = (scene: Scene): Refined =>
  scene.caught.startsWith('@') || /%2[fF]/.test(scene.caught)
    ? { label: 'dependency_missing', action: 'escalate', infra: true }
    : { label: 'dependency_missing', action: 'code_fix', infra: false }

/** "No such file" for a program that is there means that its interpreter is not. */
const binary = (scene: Scene): Refined => ({
  label: inEnvironment.test(scene.caught) ? 'corrupted_install' : 'runtime_version',
})

/** A program that a Python script could not start is named as a bare word. */
const pyFile = (scene: Scene): Refined | undefined =>
  /^[\w.+-]+$/.test(scene.caught) && anyLine(scene, /subprocess\.py|_execute_child|Popen/)
    ? { label: 'command_not_found' }
    : path(scene)

const sourceFile = ({ caught }: Scene): Refined => ({
  label: isArtifact(caught.replace(/\/\*+.*$/, '/x')) ? 'build_artifact_missing' : 'compile_error',
})

const goSum = (): Refined => ({ label: 'dependency_version_conflict' })

/** "No tests" counts only where no other part of the same output ran any. */
const noTests = (scene: Scene): Refined | undefined =>
  anyLine(
    scene,
    /^ok {2,}|^ok\t\S+\t(?:[\d.]+s|\(cached\))\s*$|[1-9]\d* passed|^--- FAIL|^FAIL\s|error(?:\[E\d+\])?:|^panic:|build failed|setup failed/,
  )
    ? undefined
    : { label: 'no_test_files' }

/** With quotes, in the message or in the line of the source that follows it, a header is the project's own. */
const header = ({ caught, line, lines }: Scene): Refined => {
  const at = lines.indexOf(line)
  const shown = lines.slice(at + 1, at + 3).some(({ text }) => /#\s*(?:include|import)\s*"/.test(text))
  const own = shown || /"/.test(line.text) || caught.startsWith('../') || caught.startsWith('./')
  return { label: own ? 'compile_error' : 'dependency_missing' }
}

/** With "needed by" it is no target that is missing but a file. */
const makeTarget = ({ line }: Scene): Refined | undefined =>
  /needed by|benötigt von|nécessaire pour|necesario para|に必要です|需要的目标|требуемой для/.test(line.text)
    ? { label: 'compile_error' }
    : { label: 'missing_make_target' }

const neededBy = ({ caught }: Scene): Refined => ({
  label: isArtifact(caught) && !caught.endsWith('.o') ? 'build_artifact_missing' : 'compile_error',
})

const gitConfig = ({ line }: Scene): Refined =>
  /\.gitconfig|\/etc\/|\/home\//.test(line.text)
    ? { label: 'config_error', action: 'escalate', infra: true }
    : { label: 'config_error', action: 'code_fix', infra: false }

const httpHost = ({ command }: Scene): Refined => ({
  label: local.test(command.text) ? 'service_unavailable' : 'network_transient',
})

const rubyFile = ({ caught }: Scene): Refined => ({
  label: /^[./]|\//.test(caught) && !/^[a-z_-]+\/[a-z_-]+$/.test(caught) ? 'compile_error' : 'dependency_missing',
})

/** The same wording for a package with dots (Java), with slashes (npm, Go) and by a bare name. */
const absent = (scene: Scene): Refined | undefined =>
  scene.caught.includes('/') || scene.caught.startsWith('.')
    ? jsModule(scene)
    : scene.caught.includes('.')
      ? javaPackage(scene)
      : { label: 'dependency_missing' }

const artifact = ({ caught }: Scene): Refined | undefined =>
  isArtifact(`${caught}/`) ? { label: 'build_artifact_missing' } : undefined

export const refinements: Record<Refinement, (scene: Scene) => Refined | undefined> = {
  path,
  jsModule,
  pyModule,
  program,
  refused,
  environment,
  pySyntax,
  jsSyntax,
  javaPackage,
  installing,
  usage,
  crate,
  missingPackage,
  binary,
  pyFile,
  sourceFile,
  goSum,
  noTests,
  header,
  makeTarget,
  neededBy,
  gitConfig,
  httpHost,
  rubyFile,
  absent,
  artifact,
}
