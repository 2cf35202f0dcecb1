/** Refinements for a missing module or package: one to install, or one of the project. */
import { anyLine, isArgument, isArtifact, type Refined, type Scene } from './scene.ts'

const builtinModules =
  /^(?:node:|bun:|fs$|path$|os$|util$|http$|https$|crypto$|stream$|events$|url$|assert$|zlib$|net$|tls$)/
const ownAlias = /^(?:[.#~]|@\/|src\/|\/|app\/|components\/|lib\/|\$lib|\$app|~~|virtual:)/

export const jsModule = (scene: Scene): Refined | undefined => {
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

export const pyModule = ({ caught }: Scene): Refined => {
  if (newerPython.test(caught)) return { label: 'runtime_version' }
  if (ownPython.test(caught)) return { label: 'compile_error' }
  return { label: caught.includes('.') && !namespaces.test(caught) ? 'compile_error' : 'dependency_missing' }
}

export const javaPackage = ({ caught, line }: Scene): Refined => {
  const [first = '', second = ''] = caught.split('.')
  return { label: second !== '' && line.text.includes(`${first}/${second}/`) ? 'compile_error' : 'dependency_missing' }
}

export const crate = (scene: Scene): Refined => ({
  label: /^(?:crate|self|super)(?:::|$)/.test(scene.caught) ? 'compile_error' : 'dependency_missing',
})

/** A package that the registry does not have. A scoped one may be private, which a person has to check. */
export const missingPackage = (scene: Scene): Refined =>
  scene.caught.startsWith('@') || /%2[fF]/.test(scene.caught)
    ? { label: 'dependency_missing', action: 'escalate', infra: true }
    : { label: 'dependency_missing', action: 'code_fix', infra: false }

export const goSum = (): Refined => ({ label: 'dependency_version_conflict' })

export const rubyFile = ({ caught }: Scene): Refined => ({
  label: /^[./]|\//.test(caught) && !/^[a-z_-]+\/[a-z_-]+$/.test(caught) ? 'compile_error' : 'dependency_missing',
})

/** One wording for packages with dots (Java), with slashes (npm, Go) and with a bare name. */
export const absent = (scene: Scene): Refined | undefined =>
  scene.caught.includes('/') || scene.caught.startsWith('.')
    ? jsModule(scene)
    : scene.caught.includes('.')
      ? javaPackage(scene)
      : { label: 'dependency_missing' }
