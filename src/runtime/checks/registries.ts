/**
 * The package registries of the owner's configuration: the only hosts that the network probe may contact. A host that only the output of
 * a check names is never contacted, because a name lookup alone can leak data to the host that an agent chose.
 */
import { join } from 'node:path'
import { commandEnvironment } from '../../process/environment.ts'
import type { ProbeRequest } from './check-request.ts'
import { textOrEmpty } from './requirements.ts'

export interface Registry {
  host: string
  port: number
  /** The file or variable that names it. */
  from: string
}

const ownersFiles = ['.npmrc', '.yarnrc', '.yarnrc.yml', 'package-lock.json', 'yarn.lock', 'pnpm-lock.yaml', 'pip.conf']
const homeFiles = [
  '.npmrc',
  '.yarnrc',
  '.config/pip/pip.conf',
  '.pip/pip.conf',
  '.cargo/config.toml',
  '.m2/settings.xml',
]
const proxies = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']
const indexes = ['npm_config_registry', 'NPM_CONFIG_REGISTRY', 'PIP_INDEX_URL', 'UV_INDEX_URL', 'GOPROXY']

/** Scheme, host and port, with an optional login before the host. */
const address = /https?:\/\/(?:[^\s"'<>,\\/@]{1,200}@)?[\w.[\]-]{1,255}(?::\d{1,5})?/g
const mostAddresses = 100

const ports: Record<string, number> = { 'https:': 443, 'http:': 80 }

const registryOf = (text: string, from: string): Registry[] => {
  if (!URL.canParse(text)) return []
  const { hostname, port, protocol } = new URL(text)
  const number = port === '' ? ports[protocol] : Number(port)
  return number === undefined || hostname === '' ? [] : [{ host: hostname, port: number, from }]
}

const named = (text: string, from: string): Registry[] => {
  // A lockfile names the same host thousands of times, so only distinct texts are parsed.
  const starts = new Set(text.match(address))
  return [...starts].slice(0, mostAddresses).flatMap((start) => registryOf(start, from))
}

/** The proxy that a program with these variables uses; undefined = none. */
export const proxyOf = (environment: Readonly<Record<string, string | undefined>>): Registry | undefined => {
  const name = proxies.find((each) => (environment[each] ?? '') !== '')
  if (name === undefined) return undefined
  const text = environment[name] ?? ''
  return registryOf(text.includes('://') ? text : `http://${text}`, name)[0]
}

/** The owner's registries that the output mentions. Behind a proxy only the proxy can be contacted. */
export const registriesOf = (request: ProbeRequest, spokenOf: readonly string[]): Registry[] => {
  const {
    ports: { files },
    repository: { root: owners },
    workspace,
    extraNames,
  } = request
  const environment = commandEnvironment(workspace, request.environment, extraNames)
  const proxy = proxyOf(environment)
  if (proxy !== undefined) return [proxy]
  const home = environment.HOME
  const all = [
    ...indexes.flatMap((name) => named(environment[name] ?? '', name)),
    ...ownersFiles.flatMap((name) => named(textOrEmpty(files, join(owners, name)), name)),
    ...(home === undefined
      ? []
      : homeFiles.flatMap((name) => named(textOrEmpty(files, join(home, name)), `~/${name}`))),
  ]
  const first = new Map(all.toReversed().map((registry) => [`${registry.host}:${registry.port}`, registry]))
  return [...first.values()].filter(({ host }) => spokenOf.includes(host))
}
