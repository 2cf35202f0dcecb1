/**
 * Parses the value of `--repo`: any address that git accepts for fetching and pushing, but nothing that git would read as an
 * option or run as a command. A password never leaves this module in an address, a message or an id. Pure.
 */
import { createHash } from 'node:crypto'
import { basename, resolve } from 'node:path'
import { AppError } from '../errors.ts'

export type Transport = 'file' | 'ssh' | 'git' | 'http'

export interface Credentials {
  user: string
  password: string
  /** Scheme, host and port. Git sends the login only there, even if the server redirects. */
  origin: string
}

export interface RemoteAddress {
  /** The address for git and for people, without password or token. */
  url: string
  /** `<name>-<12 hex>`, equal on every host for the same address. */
  id: string
  transport: Transport
  /** Only for http(s). */
  credentials?: Credentials
}

const refuse = (problem: string): AppError =>
  new AppError(
    'INPUT_INVALID',
    `--repo (or UNSTUCK_REPO_URL): ${problem}; give an address such as https://host/team/project.git, ssh://git@host/project.git, git@host:project.git, file:///srv/project.git or the path of a bare repository`,
  )

const defaultPorts: Record<string, string> = { http: '80', https: '443', ssh: '22', git: '9418' }
const transports: Record<string, Transport> = { file: 'file', ssh: 'ssh', git: 'git', http: 'http', https: 'http' }

const maxLength = 4096

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refuse('it contains a "%" without two hexadecimal digits after it')
  }
}

const idOf = (canonical: string, path: string): string => {
  const name = basename(path, '.git')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
  return `${name.slice(0, 60) || 'remote'}-${createHash('sha256').update(canonical).digest('hex').slice(0, 12)}`
}

const hostName = /^(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]*)|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9]+)?\])$/
const userName = /^[A-Za-z0-9_][A-Za-z0-9._+-]*$/

const checkHost = (host: string): string => {
  if (!hostName.test(host)) throw refuse('its host name is not valid')
  return host.toLowerCase()
}

/** Control characters would break the line-based protocols of git and its helpers. */
const checkPlain = (text: string): void => {
  if (/\p{Cc}/u.test(text) || !text.isWellFormed())
    throw refuse('it contains a control character or an incomplete character')
}

const withoutEnd = (path: string): string => path.replace(/\/+$/, '').replace(/\.git$/, '')

const fileAddress = (path: string): RemoteAddress => {
  checkPlain(path)
  const clean = resolve(path)
  return { url: clean, id: idOf(`file://${clean}`, clean), transport: 'file' }
}

const sshAddress = (parts: { user: string; host: string; port: string; path: string; url: string }): RemoteAddress => {
  if (parts.user !== '' && !userName.test(parts.user)) throw refuse('its user name is not valid')
  // The user is part of the address, because paths may be relative to that user's home folder.
  const user = parts.user === '' ? '' : `${parts.user}@`
  const port = parts.port === '' || parts.port === defaultPorts.ssh ? '' : `:${parts.port}`
  const canonical = `ssh://${user}${checkHost(parts.host)}${port}${withoutEnd(parts.path)}`
  return { url: parts.url, id: idOf(canonical, withoutEnd(parts.path)), transport: 'ssh' }
}

/** `user@host:path`, which is relative to the user's home folder. */
const scpAddress = (match: RegExpExecArray, url: string): RemoteAddress => {
  const [, user = '', host = '', path = ''] = match
  if (path.startsWith('-')) throw refuse('its path begins with "-"')
  return sshAddress({ user, host, port: '', path: path.startsWith('/') ? path : `/~/${path}`, url })
}

interface Parts {
  scheme: string
  login: string | undefined
  host: string
  port: string
  path: string
}

const partsOf = (text: string): Parts => {
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/]*)(\/.*)?$/.exec(text)
  if (match === null) throw refuse('it is not an address')
  const [, scheme = '', authority = '', path = ''] = match
  const at = authority.lastIndexOf('@')
  const place = authority.slice(at + 1)
  const port = /:(\d{1,5})$/.exec(place)?.[1] ?? ''
  return {
    scheme: scheme.toLowerCase(),
    login: at === -1 ? undefined : authority.slice(0, at),
    host: port === '' ? place.replace(/:$/, '') : place.slice(0, -port.length - 1),
    port,
    path,
  }
}

const httpCredentials = (login: string, origin: string): Credentials => {
  const colon = login.indexOf(':')
  const user = decoded(colon === -1 ? login : login.slice(0, colon))
  const password = colon === -1 ? '' : decoded(login.slice(colon + 1))
  checkPlain(user + password)
  return { user, password, origin }
}

const urlAddress = (text: string): RemoteAddress => {
  const { scheme, login, host, port, path } = partsOf(text)
  const transport = Object.hasOwn(transports, scheme) ? transports[scheme] : undefined
  if (transport === undefined) throw refuse(`the transport "${scheme}" is not allowed`)
  if (transport === 'file') {
    if (host !== '' && host !== 'localhost') throw refuse('a file:// address must not name a host')
    return fileAddress(decoded(path))
  }
  if (withoutEnd(path) === '') throw refuse('it names no repository on its host')
  if (/\s/.test(text)) throw refuse('it contains a space')
  if (transport === 'ssh') {
    if (login?.includes(':') === true) throw refuse('ssh does not accept a password in an address; use a key')
    return sshAddress({ user: login ?? '', host, port, path, url: text })
  }
  // Such a part may hide a token, and git servers do not need it.
  if (/[?#]/.test(path)) throw refuse('it contains a "?" or "#"')
  const shownPort = port === '' || port === defaultPorts[scheme] ? '' : `:${port}`
  const origin = `${scheme}://${checkHost(host)}${shownPort}`
  if (transport === 'git' && login !== undefined) throw refuse('git:// does not support users')
  const id = idOf(`${origin}${withoutEnd(path)}`, withoutEnd(path))
  const credentials = login === undefined ? {} : { credentials: httpCredentials(login, origin) }
  return { url: `${origin}${path}`, id, transport, ...credentials }
}

/** Parses an address; paths are relative to `cwd`. Errors never contain the text, because it may contain a password. */
export const parseRemote = (text: string, cwd: string): RemoteAddress => {
  checkPlain(text)
  if (text.trim() === '') throw refuse('it is empty')
  if (text.length > maxLength) throw refuse(`it is longer than ${maxLength} characters`)
  if (text.startsWith('-')) throw refuse('it begins with "-"')
  if (/^[A-Za-z0-9+.-]+::/.test(text)) throw refuse('an address of the form "helper::…" starts a program')
  if (text.includes('://')) return urlAddress(text)
  const scp = /^(?:([^@/:]*)@)?(\[[^\]]*\]|[^:/@[\]]*):(.+)$/.exec(text)
  if (scp !== null) return scpAddress(scp, text)
  return fileAddress(resolve(cwd, text))
}

/** The repository by URL that the environment names; undefined = none, so work is done in the folder. */
export const remoteFromEnvironment = (
  environment: Record<string, string | undefined>,
  cwd: string,
): RemoteAddress | undefined => {
  const text = environment.UNSTUCK_REPO_URL ?? ''
  return text === '' ? undefined : parseRemote(text, cwd)
}
