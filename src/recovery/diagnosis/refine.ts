/**
 * Refines a label by what a line names: a path, a module, a host. The same message means different things for a package and a
 * file of the project, or for a program and the output of a build. Each refinement returns a label, or undefined if the rule
 * does not apply.
 */
import { agentPrograms } from './argv.ts'
import { artifact, binary, header, makeTarget, neededBy, path, program, pyFile, sourceFile } from './refine/file.ts'
import { absent, crate, goSum, javaPackage, jsModule, missingPackage, pyModule, rubyFile } from './refine/module.ts'
import { httpHost, installing, refused } from './refine/network.ts'
import { anyLineMatches, type RefinedLabel, type MatchContext } from './refine/match-context.ts'

/** A missing key is an environment variable if the code read the environment. */
const environment = (scene: MatchContext): RefinedLabel | undefined =>
  /^[A-Z][A-Z0-9_]{2,}$/.test(scene.captured) &&
  anyLineMatches(
    scene,
    /environ|<frozen os>|\bos\.py\b|getenv|ENV\[|ENV\.fetch|process\.env|env::var|System\.getenv|ENV:|`fetch'|in 'fetch'/,
  )
    ? { label: 'missing_env_var' }
    : undefined

const pySyntax = (scene: MatchContext): RefinedLabel => {
  const old = scene.command.argvs.some((argv) => /python2|python3\.[0-8]$/.test(argv[0] ?? ''))
  if (old || anyLineMatches(scene, /\/python2\.\d\//)) return { label: 'runtime_version' }
  const frames = scene.lines.filter(({ text }) => /^\s*File ".*", line \d+/.test(text))
  return { label: (frames.at(-1)?.text ?? '').includes('site-packages/') ? 'corrupted_install' : 'compile_error' }
}

/** A configuration file that is a program. */
const configScript = /(?:\.config|\.conf|\/\.\w+rc)\.[cm]?[jt]s:\d+$/

/** The JavaScript engine names the file on a separate line before the code. */
const jsSyntax = (scene: MatchContext): RefinedLabel => {
  if (anyLineMatches(scene, /^\s*(?:# |E +)?File ".*", line \d+/)) return pySyntax(scene)
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

/** pytest rejects options of its configuration file if the plugin for them is missing. */
const usage = (scene: MatchContext): RefinedLabel | undefined => {
  if (scene.command.programs.some((name) => agentPrograms.has(name))) return { label: 'invalid_usage' }
  if (
    anyLineMatches(scene, /^\s*(?:inifile|configfile): \S*\.(?:ini|cfg|toml)/) &&
    !scene.command.argvs.some((argv) =>
      argv.some((word) => word.length > 2 && scene.captured.split(/[ ,]/).includes(word)),
    )
  )
    return { label: 'dependency_missing' }
  return { label: 'invalid_usage' }
}

/** "No tests" counts only if no other part of the same output ran tests. */
const noTests = (scene: MatchContext): RefinedLabel | undefined =>
  anyLineMatches(
    scene,
    /^ok {2,}|^ok\t\S+\t(?:[\d.]+s|\(cached\))\s*$|[1-9]\d* passed|^--- FAIL|^FAIL\s|error(?:\[E\d+\])?:|^panic:|build failed|setup failed/,
  )
    ? undefined
    : { label: 'no_test_files' }

const gitConfig = ({ line }: MatchContext): RefinedLabel =>
  /\.gitconfig|\/etc\/|\/home\//.test(line.text)
    ? { label: 'config_error', action: 'escalate', infra: true }
    : { label: 'config_error', action: 'code_fix', infra: false }

export const refinements = {
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
} satisfies Record<string, (scene: MatchContext) => RefinedLabel | undefined>

export type Refinement = keyof typeof refinements
