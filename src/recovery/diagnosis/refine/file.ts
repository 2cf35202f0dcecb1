/** Refinements for a file, folder or program that does not exist or cannot be used. */
import { programName, shells } from '../argv.ts'
import { anyLine, inEnvironment, isArgument, isArtifact, isProgram, uses, type Refined, type Scene } from './scene.ts'

/** A file that does not exist. */
export const path = (scene: Scene): Refined | undefined => {
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

/** A program that could not be started, given by name or path. */
export const program = (scene: Scene): Refined | undefined => {
  const { caught } = scene
  // `bash nowhere.sh`: the script that the shell should run.
  if (scene.command.argvs.some(([shell = '', script]) => script === caught && shells.has(programName(shell))))
    return { label: 'missing_script' }
  if (!caught.includes('/')) return { label: /^\W*$/.test(caught) ? 'unknown' : 'command_not_found' }
  if (inEnvironment.test(caught))
    return { label: /node_modules\/\.bin/.test(caught) ? 'command_not_found' : 'dependency_missing' }
  if (isArtifact(caught)) return { label: 'build_artifact_missing' }
  return { label: /^\/(?:usr|opt|home|bin|sbin|Library)\//.test(caught) ? 'command_not_found' : 'missing_script' }
}

/** "No such file" for an existing program means that its interpreter does not exist. */
export const binary = (scene: Scene): Refined => ({
  label: inEnvironment.test(scene.caught) ? 'corrupted_install' : 'runtime_version',
})

/** Python names a program that it could not start by its bare name. */
export const pyFile = (scene: Scene): Refined | undefined =>
  /^[\w.+-]+$/.test(scene.caught) && anyLine(scene, /subprocess\.py|_execute_child|Popen/)
    ? { label: 'command_not_found' }
    : path(scene)

export const sourceFile = ({ caught }: Scene): Refined => ({
  label: isArtifact(caught.replace(/\/\*+.*$/, '/x')) ? 'build_artifact_missing' : 'compile_error',
})

/** A header in quotes, in the message or in the source line after it, belongs to the project. */
export const header = ({ caught, line, lines }: Scene): Refined => {
  const at = lines.indexOf(line)
  const shown = lines.slice(at + 1, at + 3).some(({ text }) => /#\s*(?:include|import)\s*"/.test(text))
  const own = shown || /"/.test(line.text) || caught.startsWith('../') || caught.startsWith('./')
  return { label: own ? 'compile_error' : 'dependency_missing' }
}

/** With "needed by", a file is missing, not a target. */
export const makeTarget = ({ line }: Scene): Refined | undefined =>
  /needed by|benötigt von|nécessaire pour|necesario para|に必要です|需要的目标|требуемой для/.test(line.text)
    ? { label: 'compile_error' }
    : { label: 'missing_make_target' }

export const neededBy = ({ caught }: Scene): Refined => ({
  label: isArtifact(caught) && !caught.endsWith('.o') ? 'build_artifact_missing' : 'compile_error',
})

export const artifact = ({ caught }: Scene): Refined | undefined =>
  isArtifact(`${caught}/`) ? { label: 'build_artifact_missing' } : undefined
