/**
 * Unstuck's own commits: a tree of the base plus exactly the permitted paths, and a message whose last paragraph only Unstuck
 * writes. Author and time are passed in. Commits are deterministic, so repeating a commit after a crash gives the same object.
 */
import { AppError } from '../errors.ts'
import type { Identity } from './author.ts'
import { changesBetween } from './changes.ts'
import type { RawChange } from './changes.ts'
import type { CommitRequest } from './repository-types.ts'
import { git, gitLine, objectName } from './git.ts'
import { gitOnObjects } from './object-cache.ts'
import { inShadow, withIndex } from './shadow.ts'
import type { Shadow } from './shadow.ts'

const indexLine = (change: RawChange): string =>
  change.kind === 'deleted'
    ? `0 ${change.newObject}\t${change.path}\0`
    : `${change.newMode} ${change.newObject}\t${change.path}\0`

/** The base plus the changes of `tree` whose path is in `paths`. */
export const buildTree = async (
  shadow: Shadow,
  request: { base: string; tree: string; paths: string[] },
): Promise<string> => {
  const permitted = new Set(request.paths)
  const wanted = (await changesBetween(shadow, request.base, request.tree)).filter(({ path }) => permitted.has(path))
  const ordered = [
    ...wanted.filter(({ kind }) => kind === 'deleted'),
    ...wanted.filter(({ kind }) => kind !== 'deleted'),
  ]
  const tree = await withIndex(shadow, async (indexFile) => {
    const place = { ...inShadow(shadow), indexFile }
    await git(['read-tree', objectName(request.base)], place)
    await git(['update-index', '-z', '--index-info'], { ...place, input: ordered.map(indexLine).join('') })
    return gitLine(['write-tree', '--missing-ok'], place)
  })
  // A file that becomes a folder removes the old file from the index, and that path may not be permitted.
  const beyond = (await changesBetween(shadow, request.base, tree)).filter(({ path }) => !permitted.has(path))
  if (beyond.length === 0) return tree
  const named = beyond.map(({ path }) => path).join(', ')
  throw new AppError('REPOSITORY_STATE', `The permitted changes would also change ${named}, which is not permitted`)
}

const lineOf = (text: string): string => text.replace(/\p{Cc}+/gu, ' ').trim()

/** Quotes lines of an agent's text that look like our trailers. */
const quoteTrailers = (body: string): string =>
  body
    .replace(/\0/g, '')
    .replace(/\r\n?/g, '\n')
    .replace(/^([ \t]*unstuck-[\w-]*[ \t]*:)/gim, '> $1')
    .trim()

const trailerLines = (trailers: Record<string, string>): string =>
  Object.entries(trailers)
    .map(([key, value]) => {
      if (!/^[A-Za-z][A-Za-z0-9-]*$/.test(key) || value !== lineOf(value) || value === '') {
        throw new Error(`not a trailer: ${JSON.stringify([key, value])}`)
      }
      return `${key}: ${value}`
    })
    .join('\n')

/** The whole commit message of a request. */
export const messageOfCommit = (request: Pick<CommitRequest, 'subject' | 'body' | 'trailers'>): string => {
  const subject = lineOf(request.subject).replace(/^(unstuck-[\w-]*\s*:)/i, '> $1') || 'Change'
  const parts = [subject, quoteTrailers(request.body), trailerLines(request.trailers)]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

/** Trailers of a message: its last paragraph, if every line of it has the form `Key: value`. */
export const trailersOf = (message: string): Record<string, string> => {
  const paragraphs = message
    .replace(/\r\n/g, '\n')
    .trimEnd()
    .split(/\n[ \t]*\n+/)
  if (paragraphs.length < 2) return {}
  const entries: [string, string][] = []
  for (const line of (paragraphs.at(-1) ?? '').split('\n')) {
    const match = /^([A-Za-z][A-Za-z0-9-]*): (.*)$/.exec(line)
    if (match === null) return {}
    entries.push([match[1] ?? '', match[2] ?? ''])
  }
  return Object.fromEntries(entries)
}

export interface CommitFields {
  tree: string
  parents: string[]
  author: string
  committer: string
  message: string
  isSigned: boolean
}

/** The fields of a commit object, verbatim (`author` with time and zone). */
export const readCommit = async (shadow: Shadow, commit: string): Promise<CommitFields> => {
  const { stdout } = await gitOnObjects(['cat-file', 'commit', objectName(commit)], inShadow(shadow))
  const end = stdout.indexOf('\n\n')
  const headers = stdout.slice(0, end).split('\n')
  const all = (name: string): string[] =>
    headers.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
  return {
    tree: all('tree')[0] ?? '',
    parents: all('parent'),
    author: all('author')[0] ?? '',
    committer: all('committer')[0] ?? '',
    message: stdout.slice(end + 2),
    isSigned: headers.some((line) => line.startsWith('gpgsig')),
  }
}

export const parseTrailers = async (shadow: Shadow, commit: string): Promise<Record<string, string>> =>
  trailersOf((await readCommit(shadow, commit)).message)

/** The time of an author or committer line, in seconds since 1970. */
export const secondsOf = (line: string): number => Number(/> (\d+) [+-]\d+$/.exec(line)?.[1] ?? 0)

/**
 * Writes the commit and returns its object name. The committer is Unstuck, and so is the author by default. `at`: the time of
 * both, in a format that git reads; default: one second after the base commit.
 */
export const buildCommit = async (
  shadow: Shadow,
  request: CommitRequest & { author?: Identity; at?: string },
): Promise<string> => {
  const base = await readCommit(shadow, request.base)
  const date = request.at ?? `@${secondsOf(base.committer) + 1} +0000`
  const author = request.author ?? { name: 'Unstuck', email: 'unstuck@localhost.invalid' }
  const variables = {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_DATE: date,
  }
  const place = { ...inShadow(shadow), input: messageOfCommit(request), variables }
  return gitLine(['commit-tree', objectName(request.tree), '-p', request.base], place)
}
