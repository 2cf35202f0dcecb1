/**
 * Signatures of the owner on commits that land, where the owner's git signs commits (`commit.gpgsign`). The key and its program are those
 * of the owner's configuration. A program that the repository's own configuration names is not run: whatever works there could have written
 * it. No person is asked for a passphrase: there is no terminal and no display, and the time is limited.
 */
import { AppError } from '../errors.ts'
import { committerOf, type Identity } from './author.ts'
import { personOf } from './branches.ts'
import { readCommit, type CommitFields } from './commit.ts'
import type { Repository } from './repository-types.ts'
import { fieldsOf, git, gitLine, objectName, type GitOptions } from './git.ts'
import { inRepository } from './refs.ts'
import type { GitExit } from './run-git.ts'
import { inShadow, type Shadow } from './shadow.ts'

export interface Signing {
  /** Settings with which our git signs as the owner's git does. */
  config: [key: string, value: string][]
  /** Undefined = the owner's configuration names no person. */
  committer: Identity | undefined
  /** The setting of the repository's own configuration that names the program; undefined = the program may run. */
  untrusted: string | undefined
  /** How long one signature may take. */
  timeoutMs: number
}

/** A key that answers at all answers in a second. A person who has to touch something would be asked at night as well. */
const standardMs = 10_000

interface Setting {
  value: string
  isOwners: boolean
}

/** The last value counts, as in git. Keys are in lower case but for a middle part. */
const readSettings = async (repository: Repository): Promise<Map<string, Setting>> => {
  const args = ['config', '--includes', '--show-scope', '-z', '--get-regexp']
  const wanted = String.raw`^(commit\.gpgsign|user\.signingkey|gpg\..+)$`
  const { stdout } = await git([...args, wanted], { ...inRepository(repository), okCodes: [0, 1] })
  const fields = fieldsOf(stdout)
  const settings = new Map<string, Setting>()
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [scope, entry = ''] = [fields[index], fields[index + 1]]
    // Ours, which switch signing off everywhere else.
    if (scope === 'command') continue
    const end = entry.indexOf('\n')
    const [key, value] = end < 0 ? [entry, 'true'] : [entry.slice(0, end), entry.slice(end + 1)]
    // A map keeps the place of the first, and of two names for one setting the later line counts.
    settings.delete(key)
    settings.set(key, { value, isOwners: scope === 'global' || scope === 'system' })
  }
  return settings
}

const isTrue = (value = ''): boolean => /^(?:true|yes|on|[1-9]\d*)$/i.test(value)

const programs: Record<string, { keys: string[]; standard: string }> = {
  openpgp: { keys: ['gpg.program', 'gpg.openpgp.program'], standard: 'gpg' },
  ssh: { keys: ['gpg.ssh.program'], standard: 'ssh-keygen' },
  x509: { keys: ['gpg.x509.program'], standard: 'gpgsm' },
}

/** How the owner's git signs commits here; undefined = it does not. */
export const readSigning = async (repository: Repository): Promise<Signing | undefined> => {
  if (repository.commonDir === null) return undefined
  const settings = await readSettings(repository)
  if (!isTrue(settings.get('commit.gpgsign')?.value)) return undefined
  const format = settings.get('gpg.format')?.value ?? 'openpgp'
  const { keys, standard } = programs[format] ?? { keys: [], standard: '' }
  const key = settings.get('user.signingkey')
  const named = [...settings].filter(([name]) => keys.includes(name)).at(-1)
  const asking = 'gpg.ssh.defaultkeycommand'
  const command = format === 'ssh' && key === undefined ? settings.get(asking) : undefined
  const chosen = [
    ...(named === undefined ? [] : [named]),
    ...(command === undefined ? [] : [[asking, command] as const]),
  ]
  return {
    config: [
      ['gpg.format', format],
      ...(standard === '' ? [] : [[keys[0] ?? '', named?.[1].value ?? standard] satisfies [string, string]]),
      ...(key === undefined ? [] : [['user.signingkey', key.value] satisfies [string, string]]),
      ...(command === undefined ? [] : [[asking, command.value] satisfies [string, string]]),
    ],
    committer: await committerOf(repository),
    untrusted: chosen.find(([, { isOwners }]) => !isOwners)?.[0],
    timeoutMs: standardMs,
  }
}

const longestDetail = 300

/** What the program said. Git adds lines of its own, and gpg some for programs. */
const saidBy = ({ timedOut, stderr }: Pick<GitExit, 'timedOut' | 'stderr'>, { timeoutMs }: Signing): string => {
  if (timedOut) return `the program did not sign within ${timeoutMs / 1000} seconds; it may have waited for a person`
  const lines = stderr
    .split('\n')
    .map((line) => line.replace(/^(?:error|fatal): /, '').trim())
    .filter((line) => line !== '' && !line.startsWith('[GNUPG:]') && !line.startsWith('failed to write commit'))
  return (lines.join('; ') || 'the program gave no reason').slice(0, longestDetail)
}

/** No terminal and no display: what would ask a person fails instead. */
const alone = { DISPLAY: '', WAYLAND_DISPLAY: '', GPG_TTY: '', SSH_ASKPASS_REQUIRE: 'never' }

/** Writes the commit with the owner's signature. Throws GIT_FAILED. */
const signOne = (
  { repository, shadow, signing }: SignContext,
  { fields, parents }: { fields: CommitFields; parents: readonly string[] },
): Promise<string> => {
  const [author, committer] = [personOf(fields.author), personOf(fields.committer)]
  const { name, email } = signing.committer ?? committer
  const place: GitOptions = {
    ...inShadow(shadow),
    // A key may be named by a path, which the owner's git reads from here.
    cwd: repository.root,
    input: fields.message,
    config: signing.config,
    variables: {
      ...alone,
      GIT_AUTHOR_NAME: author.name,
      GIT_AUTHOR_EMAIL: author.email,
      GIT_AUTHOR_DATE: author.date,
      GIT_COMMITTER_NAME: name,
      GIT_COMMITTER_EMAIL: email,
      GIT_COMMITTER_DATE: committer.date,
    },
    // In a session of its own, so that it has no terminal, and ended together with the owner's program.
    foreign: true,
    timeoutMs: signing.timeoutMs,
  }
  const above = parents.flatMap((parent) => ['-p', objectName(parent)])
  return gitLine(['commit-tree', '-S', objectName(fields.tree), ...above], place)
}

interface SignContext {
  repository: Repository
  shadow: Shadow
  signing: Signing
}

export type SignOutcome = { ok: true; head: string } | { ok: false; detail: string }

const untrustedText = (key: string): string =>
  `${key} is set in the configuration of the repository, which every program that works there can write, so the program is not run; set it in your own instead (git config --global ${key} …; git config --unset ${key})`

/** Failures of the program are a value. */
const attempt = async ({ signing }: SignContext, work: () => Promise<string>): Promise<SignOutcome> => {
  if (signing.untrusted !== undefined) return { ok: false, detail: untrustedText(signing.untrusted) }
  try {
    return { ok: true, head: await work() }
  } catch (error) {
    const exit = error instanceof AppError && error.code === 'GIT_FAILED' ? (error.cause as GitExit) : undefined
    // Without an exit status, git itself could not be run.
    if (exit === undefined || (exit.exitCode === undefined && !exit.timedOut)) throw error
    return { ok: false, detail: saidBy(exit, signing) }
  }
}

/** Signs a commit that is on no branch, to find out whether the key can be used without a person. */
export const trySigning = (place: SignContext, commit: string): Promise<SignOutcome> =>
  attempt(place, async () => {
    const fields = await readCommit(place.shadow, commit)
    return signOne(place, { fields: { ...fields, message: 'Trial\n' }, parents: [] })
  })

/**
 * The same commits above `base` with signatures; `head` is the last of them. A commit that is signed already is kept, unless one below it
 * was not. The name of a signed commit is known only after it was made: signing again may give another.
 */
export const signCommits = (place: SignContext, { base, head }: { base: string; head: string }): Promise<SignOutcome> =>
  attempt(place, async () => {
    const args = ['rev-list', '--first-parent', '--reverse', objectName(head), `^${objectName(base)}`, '--']
    const line = (await git(args, inShadow(place.shadow))).stdout.split('\n').filter((commit) => commit !== '')
    let below: string | undefined
    for (const commit of line) {
      const fields = await readCommit(place.shadow, commit)
      const parents = below === undefined ? fields.parents : [below, ...fields.parents.slice(1)]
      below = fields.isSigned && parents[0] === fields.parents[0] ? commit : await signOne(place, { fields, parents })
    }
    return below ?? head
  })
