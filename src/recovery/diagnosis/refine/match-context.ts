/** The match of a rule with its context, and the predicates for refinements. */
import type { CommandFacts } from '../argv.ts'
import type { Label } from '../labels.ts'
import type { OutputLine } from '../output-lines.ts'

export interface RefinedLabel {
  label: Label
  action?: string
  infra?: boolean
}

export interface MatchContext {
  command: CommandFacts
  lines: readonly OutputLine[]
  line: OutputLine
  captured: string
  label: Label
  exitCode: number | null
}

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

export const inEnvironment =
  /(?:^|\/)(?:\.?venv|env|virtualenv|\.tox|\.nox|site-packages|dist-packages|node_modules|vendor\/bundle)\//

const samePath = (caught: string, word: string): boolean => {
  const name = stripped(word)
  return (
    name !== '' && (caught === word || stripped(caught) === name || (name.includes('.') && caught.endsWith(`/${name}`)))
  )
}

export const isArgument = (scene: MatchContext, path: string): boolean =>
  scene.command.argvs.some((argv) => argv.slice(1, 4).some((word) => samePath(path, word)))
export const isProgram = (scene: MatchContext, path: string): boolean =>
  scene.command.argvs.some((argv) => samePath(path, argv[0] ?? ''))
export const usesProgram = (scene: MatchContext, ...names: string[]): boolean =>
  scene.command.programs.some((name) => names.includes(name))
export const anyLineMatches = (scene: MatchContext, pattern: RegExp): boolean =>
  scene.lines.some(({ text }) => pattern.test(text))
