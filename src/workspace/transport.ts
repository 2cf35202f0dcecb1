/**
 * The one place where git accesses a remote repository. Only the transports of `remote-url.ts` are enabled, git never prompts,
 * every operation has a timeout, and the remote's messages are truncated and sanitised. A credential helper passes the login to
 * git from git's own environment, so that it is in no command line and no file.
 */
import { messageOf, AppError } from '../errors.ts'
import { git, type GitOptions, type GitResult } from './git.ts'
import type { RemoteAddress } from './remote-url.ts'

type Environment = Record<string, string | undefined>

export interface RemoteConnection {
  address: RemoteAddress
  /** Environment of the user who started the engine, for keys, agents, proxies and credential helpers. */
  environment: Environment
  timeoutMs: number
  /** The remote responded before, so a missing path means an unmounted disk. */
  known: boolean
}

/** Variables for git with a local repository, whose hooks run on this host and must not see our secrets. */
const localNames = new Set('PATH HOME USER LOGNAME SHELL LANG TMPDIR TZ XDG_CONFIG_HOME'.split(' '))

const environmentOf = ({ address, environment }: RemoteConnection): Environment =>
  Object.fromEntries(
    Object.entries(environment).filter(([name]) =>
      address.transport === 'file' ? localNames.has(name) : !name.startsWith('UNSTUCK_'),
    ),
  )

const secretNames = { user: 'UNSTUCK_GIT_USER', password: 'UNSTUCK_GIT_PASSWORD' }
const helper = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$${secretNames.user}" "$${secretNames.password}"; }; f`

/** The user's own ssh command with options to fail instead of prompting, and to detect a dead connection. */
const sshCommand = (environment: Environment): string =>
  `${environment.GIT_SSH_COMMAND ?? 'ssh'} -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=4`

const configOf = ({ address }: RemoteConnection): [string, string][] => [
  ['http.lowSpeedLimit', '100'],
  ['http.lowSpeedTime', '60'],
  ['push.gpgSign', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['push.followTags', 'false'],
  ...(address.credentials === undefined
    ? []
    : ([[`credential.${address.credentials.origin}.helper`, helper]] as [string, string][])),
]

const optionsOf = (wire: RemoteConnection, place: GitOptions): GitOptions => {
  const { credentials } = wire.address
  return {
    ...place,
    // Uses the user's global configuration (proxies, certificates, credential helpers), but not the repository's own.
    owner: 'user',
    environment: environmentOf(wire),
    config: configOf(wire),
    // With a login from the address, the user's helpers are off, because git would tell them to store that login.
    keepHelpers: credentials === undefined,
    timeoutMs: wire.timeoutMs,
    foreign: true,
    variables: {
      ...place.variables,
      GIT_ALLOW_PROTOCOL: 'file:ssh:git:http:https',
      GIT_SSH_COMMAND: sshCommand(wire.environment),
      ...(credentials === undefined
        ? {}
        : { [secretNames.user]: credentials.user, [secretNames.password]: credentials.password }),
    },
  }
}

const shownLength = 600

/** A message of the remote that is safe to store and show: without control characters and credentials, truncated. */
export const cleanText = (address: RemoteAddress, text: string): string => {
  const secrets = [address.credentials?.password ?? '', address.credentials?.user ?? ''].filter((value) => value !== '')
  let clean = text.slice(0, 64 * 1024)
  for (const secret of secrets)
    for (const spelling of [secret, encodeURIComponent(secret)]) clean = clean.replaceAll(spelling, '[redacted]')
  return clean
    .replace(/(:\/\/)[^\s/@]{1,512}@/g, '$1')
    .split('\n')
    .map((line) =>
      line
        .replace(/\p{Cc}\[[0-9;]*m/gu, '')
        .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
        .trim(),
    )
    .filter((line) => line !== '')
    .join('; ')
    .slice(0, shownLength)
}

const login =
  /authentication failed|permission denied|could not read (?:username|password)|returned error: (?:401|403|407)|host key verification failed|access denied|terminal prompts disabled|dubious ownership|certificate/i
const missing =
  /does not appear to be a git repository|repository (?:.{0,300} )?(?:not found|does not exist)|returned error: (?:404|410)|not a git repository|no such file or directory|not valid: is this a git repository/i
const broken =
  /bad object|corrupt|unpack-objects|index-pack|inflate|fsck|invalid (?:object|refspec)|cannot lock ref|src refspec/i

/** Classifies a failed connection. In doubt it is an outage, because waiting loses nothing. */
const troubleOf = (wire: RemoteConnection, text: string): AppError => {
  const { address } = wire
  const said = cleanText(address, text.replace(/^.*?failed with exit code \d+: /s, ''))
  if (login.test(said))
    return new AppError(
      'REMOTE_REFUSED',
      `${address.url} refused the login (${said}); set up an ssh key or a credential helper, or put the login into UNSTUCK_REPO_URL`,
    )
  if (missing.test(said) && !(wire.known && address.transport === 'file'))
    return new AppError('REMOTE_REFUSED', `there is no repository at ${address.url} (${said}); correct the address`)
  if (broken.test(said)) return new AppError('GIT_FAILED', `${address.url} sent unusable data: ${said}`)
  return new AppError('REMOTE_UNAVAILABLE', `${address.url} does not respond (${said}); Unstuck retries`)
}

/** Runs a command against the remote. Throws REMOTE_UNAVAILABLE or REMOTE_REFUSED for a failed connection. */
export const gitOnRemote = async (wire: RemoteConnection, args: string[], place: GitOptions): Promise<GitResult> => {
  try {
    return await git(args, optionsOf(wire, place))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw troubleOf(wire, messageOf(error))
  }
}

export type PushOutcome =
  | { kind: 'done' }
  /** Another process changed the ref first: a race, not an error. */
  | { kind: 'moved'; detail: string }
  /** The remote refused the push. `detail`: its message. */
  | { kind: 'refused'; detail: string }

const races =
  /\[rejected\]|stale info|failed to update ref|cannot lock ref|incorrect old value|reference already exists|non-fast-forward|fetch first|atomic (?:push|transaction) fail/i

/** Parses the report of `git push --porcelain`; undefined = the push failed before a report. */
export const pushOutcomeOf = (address: RemoteAddress, result: GitResult): PushOutcome | undefined => {
  if (result.code === 0) return { kind: 'done' }
  const refused = result.stdout.split('\n').filter((line) => line.startsWith('!\t'))
  if (refused.length === 0) return undefined
  const reasons = refused.map((line) => line.split('\t').slice(2).join(' '))
  // With --atomic git also reports the other refs, which do not name the cause.
  const own = reasons.filter((reason) => !/atomic push failed/i.test(reason))
  const causes = own.length > 0 ? own : reasons
  if (causes.every((reason) => races.test(reason)))
    return { kind: 'moved', detail: cleanText(address, causes.join('\n')) }
  const said = result.stderr
    .split('\n')
    .filter((line) => line.startsWith('remote:'))
    .map((line) => line.slice('remote:'.length))
  return { kind: 'refused', detail: cleanText(address, [...causes, ...said].join('\n')) }
}
