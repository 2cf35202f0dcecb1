/** Refinements for a file, folder or program that does not exist or cannot be used. */
import { programName, shells } from '../argv.ts'
import {
  anyLineMatches,
  inEnvironment,
  isArgument,
  isArtifact,
  isProgram,
  usesProgram,
  type RefinedLabel,
  type MatchContext,
} from './match-context.ts'

/** A file that does not exist. */
export const path = (scene: MatchContext): RefinedLabel | undefined => {
  const { captured } = scene
  if (/node_modules\//.test(captured) && !/node_modules\/\.bin\//.test(captured)) return { label: 'corrupted_install' }
  if (inEnvironment.test(`${captured}/`)) return { label: 'dependency_missing' }
  if (isArtifact(captured)) return { label: 'build_artifact_missing' }
  if (
    /(?:^|\/)(?:package\.json|Cargo\.toml|pyproject\.toml|go\.mod|pom\.xml|Gemfile|composer\.json|Rakefile)$/.test(
      captured,
    )
  )
    return { label: 'missing_script' }
  if (/(?:^|\/)[Mm]akefile$/.test(captured)) return { label: 'missing_make_target' }
  if (
    isProgram(scene, captured) ||
    (isArgument(scene, captured) &&
      usesProgram(
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
  if (
    usesProgram(scene, 'test', 'ls', 'stat', 'cat', 'file', 'grep', 'diff', 'head', 'wc') &&
    isArgument(scene, captured)
  )
    return { label: 'test_failure' }
  return scene.label === 'unknown' ? undefined : { label: scene.label }
}

/** A program that could not be started, given by name or path. */
export const program = (scene: MatchContext): RefinedLabel | undefined => {
  const { captured } = scene
  // `bash nowhere.sh`: the script that the shell should run.
  if (scene.command.argvs.some(([shell = '', script]) => script === captured && shells.has(programName(shell))))
    return { label: 'missing_script' }
  if (!captured.includes('/')) return { label: /^\W*$/.test(captured) ? 'unknown' : 'command_not_found' }
  if (inEnvironment.test(captured))
    return { label: /node_modules\/\.bin/.test(captured) ? 'command_not_found' : 'dependency_missing' }
  if (isArtifact(captured)) return { label: 'build_artifact_missing' }
  return { label: /^\/(?:usr|opt|home|bin|sbin|Library)\//.test(captured) ? 'command_not_found' : 'missing_script' }
}

/** "No such file" for an existing program means that its interpreter does not exist. */
export const binary = (scene: MatchContext): RefinedLabel => ({
  label: inEnvironment.test(scene.captured) ? 'corrupted_install' : 'runtime_version',
})

/** Python names a program that it could not start by its bare name. */
export const pyFile = (scene: MatchContext): RefinedLabel | undefined =>
  /^[\w.+-]+$/.test(scene.captured) && anyLineMatches(scene, /subprocess\.py|_execute_child|Popen/)
    ? { label: 'command_not_found' }
    : path(scene)

export const sourceFile = ({ captured }: MatchContext): RefinedLabel => ({
  label: isArtifact(captured.replace(/\/\*+.*$/, '/x')) ? 'build_artifact_missing' : 'compile_error',
})

/** A header in quotes, in the message or in the source line after it, belongs to the project. */
export const header = ({ captured, line, lines }: MatchContext): RefinedLabel => {
  const at = lines.indexOf(line)
  const shown = lines.slice(at + 1, at + 3).some(({ text }) => /#\s*(?:include|import)\s*"/.test(text))
  const own = shown || /"/.test(line.text) || captured.startsWith('../') || captured.startsWith('./')
  return { label: own ? 'compile_error' : 'dependency_missing' }
}

/** With "needed by", a file is missing, not a target. */
export const makeTarget = ({ line }: MatchContext): RefinedLabel | undefined =>
  /needed by|benötigt von|nécessaire pour|necesario para|に必要です|需要的目标|требуемой для/.test(line.text)
    ? { label: 'compile_error' }
    : { label: 'missing_make_target' }

export const neededBy = ({ captured }: MatchContext): RefinedLabel => ({
  label: isArtifact(captured) && !captured.endsWith('.o') ? 'build_artifact_missing' : 'compile_error',
})

export const artifact = ({ captured }: MatchContext): RefinedLabel | undefined =>
  isArtifact(`${captured}/`) ? { label: 'build_artifact_missing' } : undefined
