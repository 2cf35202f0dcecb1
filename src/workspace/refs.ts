/**
 * Reads the user's refs before and after an agent worked, so that a branch that it moved is detected, reported and restored.
 */
import { AppError } from '../errors.ts'
import type { Repository } from './repository-types.ts'
import { fieldsOf, git, gitLine, refName } from './git.ts'
import type { GitOptions } from './git.ts'
import { defined } from '../domain/defined.ts'

/** Maps ref names to object names, and `HEAD` to `ref: <name>` or an object name. Empty for a plain folder. */
export type Refs = Record<string, string>

export interface RefChange {
  ref: string
  before: string | null
  after: string | null
}

export const inRepository = ({ root, filters }: Repository): GitOptions => ({
  cwd: root,
  owner: 'user',
  ...defined({ filters }),
})

/** All refs and HEAD, or only the refs below a prefix. */
export const readRefs = async (repository: Repository, prefix?: string): Promise<Refs> => {
  if (repository.commonDir === null) return {}
  const place = inRepository(repository)
  const below = prefix === undefined ? [] : [prefix]
  const { stdout } = await git(['for-each-ref', '--format=%(refname) %(objectname) %(HEAD)', ...below], place)
  const lines = stdout.split('\n').filter((line) => line !== '')
  const refs: Refs = {}
  let head: string | undefined
  for (const line of lines) {
    const [ref = '', object = '', mark] = line.split(' ')
    refs[ref] = object
    if (mark === '*') head = ref
  }
  if (prefix !== undefined) return refs
  if (head !== undefined) return { ...refs, HEAD: `ref: ${head}` }
  // HEAD is detached, or on a branch without a commit.
  const symbolic = await git(['symbolic-ref', '--quiet', 'HEAD'], { ...place, okCodes: [0, 1] })
  refs.HEAD =
    symbolic.code === 0 ? `ref: ${symbolic.stdout.trim()}` : await gitLine(['rev-parse', '--verify', 'HEAD'], place)
  return refs
}

/** Every ref that was created, moved or deleted in between, sorted by name. */
export const compareRefs = (before: Refs, after: Refs): RefChange[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .sort()
    .filter((ref) => before[ref] !== after[ref])
    .map((ref) => ({ ref, before: before[ref] ?? null, after: after[ref] ?? null }))

export interface RefLogEntry {
  to: string
  /** Unix time in seconds; 0 = not known. */
  at: number
  /** Name and address that the program gave itself. */
  author: string
  /** The reflog message, for example `commit: Add a test`. */
  note: string
}

/** Git aborts for a malformed reflog, which only another program can have written. */
const aborted = (error: unknown): boolean =>
  error instanceof AppError && (error.cause as { signal?: string } | undefined)?.signal === 'SIGABRT'

/** Whether the ref has a log whose newest entry names an existing object. Git refuses to show any other log. */
const isReadable = async (repository: Repository, ref: string): Promise<boolean> => {
  const options = inRepository(repository)
  const has = async (args: string[]): Promise<boolean> => (await git(args, { ...options, okCodes: [0, 1] })).code === 0
  if (!(await has(['reflog', 'exists', ref]))) return false
  try {
    const { stdout } = await git(['rev-parse', '--verify', `${ref}@{0}`], options)
    return await has(['cat-file', '-e', stdout.trim()])
  } catch (error) {
    if (aborted(error)) return false
    throw error
  }
}

/** The moves of a user's ref, newest first; empty if git keeps no log of it, or an agent damaged the log. */
export const readRefLog = async (repository: Repository, ref: string, limit: number): Promise<RefLogEntry[]> => {
  const name = ref === 'HEAD' ? ref : refName(ref)
  if (!(await isReadable(repository, name))) return []
  const format = '--format=%H%x1f%gd%x1f%gn <%ge>%x1f%gs'
  const show = (at: string) =>
    git(['reflog', 'show', '-z', '--date=unix', `--max-count=${limit}`, format, `${name}@{${at}}`, '--'], {
      ...inRepository(repository),
      okCodes: at === 'now' ? [0, 128] : [0],
    })
  const timed = await show('now')
  // By position where the commit of the branch does not exist: git refuses any other name of it. Then times are not shown.
  const { stdout } = timed.code === 0 ? timed : await show('0')
  return fieldsOf(stdout).map((entry) => {
    const [to = '', selector = '', author = '', ...note] = entry.split('\x1f')
    return {
      to,
      at: timed.code === 0 ? Number(/@\{(\d+)\}$/.exec(selector)?.[1] ?? 0) : 0,
      author,
      note: note.join('\x1f'),
    }
  })
}
