/**
 * A repository by URL: a bare mirror in the state folder, which the engine uses as its "user repository", and the few operations
 * on the remote. Fetched refs are stored under `refs/unstuck/remote/<hash of the name>`, so that no remote name becomes a local
 * path. Every push states the expected old value and changes nothing else.
 */
import { createHash } from 'node:crypto'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import type { Repository } from './repository-types.ts'
import { git, objectName, refName } from './git.ts'
import { inRepository, type Refs } from './refs.ts'
import { originUrl } from './origin.ts'
import { pushOutcomeOf, gitOnRemote, type PushOutcome, type RemoteConnection } from './transport.ts'
import { parseRemote, type RemoteAddress } from './remote-url.ts'

export interface RemoteHead {
  /** Short name of the branch that HEAD names; null = HEAD is detached. */
  branch: string | null
  commit: string
}

export interface PushUpdate {
  ref: string
  /** Null deletes. */
  to: string | null
  /** The expected old value; null = absent, undefined = any ancestor of `to`, so that the push is a fast-forward. */
  expected: string | null | undefined
}

export interface Remote {
  /** For people, without login. */
  url: string
  head(): Promise<RemoteHead>
  /** Remote values of these refs, without absent ones. Fetches their commits into the mirror. */
  fetchRefs(refs: string[]): Promise<Refs>
  /** Like `see`, for all refs below a prefix and without fetching. */
  list(prefix: string): Promise<Refs>
  /** All or nothing. */
  push(updates: PushUpdate[]): Promise<PushOutcome>
}

/** Folder of the mirror, which also contains the owner's `.unstuck/` for this repository. */
export const mirrorRoot = (stateDir: string): string => join(stateDir, 'repository')

/** The repository for clients, without reading the mirror. */
export const remoteRepository = (address: RemoteAddress, stateDir: string): Repository => {
  const root = mirrorRoot(stateDir)
  return { root, commonDir: join(root, '.git'), id: address.id, branch: null, head: null, url: address.url }
}

/** The repository's name for people: its URL, else its folder. */
export const repositoryName = (repository: Repository): string => repository.url ?? repository.root

const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

const linesOf = (stdout: string): [string, string][] =>
  stdout.split('\n').flatMap((line): [string, string][] => {
    const [object = '', ref = ''] = line.split('\t')
    // Lines that are not a ref with an object name are ignored.
    return /^[0-9a-f]{40,64}$/.test(object) && ref !== '' ? [[ref, object]] : []
  })

const readHead = (url: string, stdout: string): RemoteHead => {
  const commit = linesOf(stdout).find(([ref]) => ref === 'HEAD')?.[1]
  const branch = /^ref: refs\/heads\/([^\t]+)\tHEAD$/m.exec(stdout)?.[1] ?? null
  if (commit !== undefined) return { branch, commit }
  throw new AppError(
    'REPOSITORY_STATE',
    `${url} has no commit to start from: it is empty, or its HEAD names a branch that does not exist; push a first commit, or set HEAD there to the right branch (git symbolic-ref HEAD refs/heads/<branch>)`,
  )
}

const listRemote = async (wire: RemoteConnection, cwd: string, patterns: string[], symref = false): Promise<string> => {
  const args = ['ls-remote', '--quiet', ...(symref ? ['--symref'] : []), '--end-of-options', wire.address.url]
  // Not in the mirror, which may not exist yet and whose configuration must not matter.
  const timeoutMs = Math.min(wire.timeoutMs, 60_000)
  return (await gitOnRemote({ ...wire, timeoutMs }, [...args, ...patterns], { cwd })).stdout
}

/** The first fetch transfers the whole history, so it gets more time. */
const firstFetchFactor = 6

const make = async (wire: RemoteConnection, repository: Repository, head: RemoteHead): Promise<void> => {
  const { root, commonDir } = repository
  const making = `${commonDir}.making`
  await rm(making, { recursive: true, force: true })
  await mkdir(making, { recursive: true, mode: 0o700 })
  const format = head.commit.length === 64 ? 'sha256' : 'sha1'
  await git(
    ['init', '--quiet', '--bare', '--template=', '--initial-branch=none', `--object-format=${format}`, making],
    {
      cwd: root,
    },
  )
  await writeFile(join(making, 'description'), `Mirror of ${wire.address.url}\n`)
  await rename(making, commonDir ?? '')
}

const ownRef = (ref: string): string =>
  `refs/unstuck/remote/${createHash('sha256').update(ref).digest('hex').slice(0, 24)}`

const hasCommits = async (repository: Repository, commits: string[]): Promise<boolean> => {
  const input = commits.map((commit) => `${objectName(commit)}^{commit}\n`).join('')
  const { stdout } = await git(['cat-file', '--batch-check=%(objecttype)'], { ...inRepository(repository), input })
  return stdout
    .trimEnd()
    .split('\n')
    .every((line) => line === 'commit')
}

const fetchRefs = async (wire: RemoteConnection, repository: Repository, refs: string[]): Promise<void> => {
  const args = [
    ...['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules'],
    ...['--no-show-forced-updates', '--end-of-options', wire.address.url],
    ...refs.map((ref) => `+${ref}:${ownRef(ref)}`),
  ]
  await gitOnRemote(wire, args, inRepository(repository))
}

const checkedRef = (ref: string): string => (ref === 'HEAD' ? ref : refName(ref))

const pushArgs = (wire: RemoteConnection, updates: PushUpdate[]): string[] => [
  ...['push', '--porcelain', '--no-verify', '--no-signed', '--recurse-submodules=no', '--no-follow-tags'],
  ...(updates.length > 1 ? ['--atomic'] : []),
  ...updates.flatMap(({ ref, expected }) =>
    expected === undefined
      ? []
      : [`--force-with-lease=${refName(ref)}:${expected === null ? '' : objectName(expected)}`],
  ),
  '--end-of-options',
  wire.address.url,
  ...updates.map(({ ref, to }) => `${to === null ? '' : objectName(to)}:${refName(ref)}`),
]

const push = async (wire: RemoteConnection, repository: Repository, updates: PushUpdate[]): Promise<PushOutcome> => {
  const result = await gitOnRemote(wire, pushArgs(wire, updates), { ...inRepository(repository), okCodes: [0, 1] })
  const outcome = pushOutcomeOf(wire.address, result)
  if (outcome !== undefined) return outcome
  throw new AppError('REMOTE_UNAVAILABLE', `${wire.address.url} broke off a push; Unstuck retries it`)
}

/** Runs operations one after another, because two concurrent fetches of one ref would make each other fail. */
const createTurns = (): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work, work)
    last = mine.catch(() => undefined) // the caller gets the error
    return mine
  }
}

export interface RemoteRequest {
  address: RemoteAddress
  stateDir: string
  environment: Record<string, string | undefined>
  timeoutMs: number
}

/** The operations on a remote whose commits are fetched into this repository. */
const remoteOver = (wire: RemoteConnection, repository: Repository): Remote => {
  const { address } = wire
  const inTurn = createTurns()
  const head = async (): Promise<RemoteHead> => {
    const found = readHead(address.url, await listRemote(wire, repository.root, ['HEAD'], true))
    if (!(await hasCommits(repository, [found.commit]))) await inTurn(() => fetchRefs(wire, repository, ['HEAD']))
    return found
  }
  const see = async (refs: string[]): Promise<Refs> => {
    const wanted = new Set(refs.map(checkedRef))
    const all = linesOf(await listRemote(wire, repository.root, [...wanted]))
    const found = Object.fromEntries(all.filter(([ref]) => wanted.has(ref)))
    const commits = Object.values(found)
    if (commits.length === 0 || (await hasCommits(repository, commits))) return found
    await inTurn(() => fetchRefs(wire, repository, Object.keys(found)))
    if (await hasCommits(repository, commits)) return found
    throw new AppError('REMOTE_UNAVAILABLE', `${address.url} changed while it was read; Unstuck retries`)
  }
  return {
    url: address.url,
    head,
    fetchRefs: see,
    list: async (prefix) =>
      Object.fromEntries(
        linesOf(await listRemote(wire, repository.root, [`${refName(`${prefix}/x`).slice(0, -1)}*`])).filter(([ref]) =>
          ref.startsWith(`${prefix}/`),
        ),
      ),
    push: (updates) => inTurn(() => push(wire, repository, updates)),
  }
}

/** Opens the mirror. The first time, creates and fills it, for which the remote has to respond. */
export const openRemote = async (request: RemoteRequest): Promise<{ repository: Repository; remote: Remote }> => {
  const { address, environment, timeoutMs } = request
  const repository = remoteRepository(address, request.stateDir)
  await mkdir(repository.root, { recursive: true, mode: 0o700 })
  const wire: RemoteConnection = { address, environment, timeoutMs, known: await exists(repository.commonDir ?? '') }
  if (!wire.known) {
    const first = readHead(address.url, await listRemote(wire, repository.root, ['HEAD'], true))
    await make(wire, repository, first)
    await fetchRefs({ ...wire, known: true, timeoutMs: timeoutMs * firstFetchFactor }, repository, ['HEAD'])
  }
  return { repository, remote: remoteOver({ ...wire, known: true }, repository) }
}

/** The remote `origin` of the owner's repository, with the owner's own access to it. Null = there is none that git could reach. */
export const openOrigin = async (
  repository: Repository,
  { environment, timeoutMs }: Pick<RemoteRequest, 'environment' | 'timeoutMs'>,
): Promise<Remote | null> => {
  const url = await originUrl(repository)
  if (url === null) return null
  return remoteOver({ address: parseRemote(url, repository.root), environment, timeoutMs, known: true }, repository)
}
