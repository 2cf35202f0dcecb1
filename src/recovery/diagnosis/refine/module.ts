/** Refinements for a missing module or package: one to install, or one of the project. */
import { anyLineMatches, isArgument, isArtifact, type RefinedLabel, type MatchContext } from './match-context.ts'

const builtinModules =
  /^(?:node:|bun:|fs$|path$|os$|util$|http$|https$|crypto$|stream$|events$|url$|assert$|zlib$|net$|tls$)/
const ownAlias = /^(?:[.#~]|@\/|src\/|\/|app\/|components\/|lib\/|\$lib|\$app|~~|virtual:)/

export const jsModule = (scene: MatchContext): RefinedLabel | undefined => {
  const { captured, line } = scene
  if (builtinModules.test(captured)) return { label: 'runtime_version' }
  const fromPackage =
    /(?:imported from|required by|from) ['"]?\S*node_modules\//.test(line.text) ||
    anyLineMatches(scene, /^\s*- \S*node_modules\//)
  if (/^\.{1,2}(?:\/|$)/.test(captured)) {
    if (fromPackage) return { label: 'corrupted_install' }
    return { label: isArtifact(captured) ? 'build_artifact_missing' : 'compile_error' }
  }
  if (/^(?:\/|[A-Z]:\\|file:)/.test(captured)) {
    if (captured.includes('/node_modules/')) return { label: 'corrupted_install' }
    if (isArtifact(captured)) return { label: 'build_artifact_missing' }
    return {
      label:
        isArgument(scene, captured) || anyLineMatches(scene, /requireStack: \[\]/) ? 'missing_script' : 'compile_error',
    }
  }
  return { label: ownAlias.test(captured) ? 'compile_error' : 'dependency_missing' }
}

const newerPython =
  /^(?:tomllib|distutils|imp|zoneinfo|asynchat|asyncore|smtpd|graphlib|cgi|telnetlib|pipes|dataclasses|contextvars|importlib\.(?:resources|metadata)|urllib2|ConfigParser|StringIO|Queue|cPickle|asyncio|annotationlib|compression(?:\.zstd)?)$/
const namespaces =
  /^(?:google|azure|zope|jaraco|backports|sphinxcontrib|ruamel|opentelemetry|llama_index|paste|mpl_toolkits|airflow)\./
const ownPython =
  /^(?:app|apps|src|tests?|config|settings|utils|helpers|main|conftest|core|models|api|server|lib|common|project|backend|scripts|tools)(?:\.|$)/

export const pyModule = ({ captured }: MatchContext): RefinedLabel => {
  if (newerPython.test(captured)) return { label: 'runtime_version' }
  if (ownPython.test(captured)) return { label: 'compile_error' }
  return { label: captured.includes('.') && !namespaces.test(captured) ? 'compile_error' : 'dependency_missing' }
}

export const javaPackage = ({ captured, line }: MatchContext): RefinedLabel => {
  const [first = '', second = ''] = captured.split('.')
  return { label: second !== '' && line.text.includes(`${first}/${second}/`) ? 'compile_error' : 'dependency_missing' }
}

export const crate = (scene: MatchContext): RefinedLabel => ({
  label: /^(?:crate|self|super)(?:::|$)/.test(scene.captured) ? 'compile_error' : 'dependency_missing',
})

/** A package that the registry does not have. A scoped one may be private, which a person has to check. */
export const missingPackage = (scene: MatchContext): RefinedLabel =>
  scene.captured.startsWith('@') || /%2[fF]/.test(scene.captured)
    ? { label: 'dependency_missing', action: 'escalate', infra: true }
    : { label: 'dependency_missing', action: 'code_fix', infra: false }

export const goSum = (): RefinedLabel => ({ label: 'dependency_version_conflict' })

export const rubyFile = ({ captured }: MatchContext): RefinedLabel => ({
  label: /^[./]|\//.test(captured) && !/^[a-z_-]+\/[a-z_-]+$/.test(captured) ? 'compile_error' : 'dependency_missing',
})

/** One wording for packages with dots (Java), with slashes (npm, Go) and with a bare name. */
export const absent = (scene: MatchContext): RefinedLabel | undefined =>
  scene.captured.includes('/') || scene.captured.startsWith('.')
    ? jsModule(scene)
    : scene.captured.includes('.')
      ? javaPackage(scene)
      : { label: 'dependency_missing' }
