/**
 * Normalises a path to the form in which other file systems may find it: HFS+ and APFS ignore case, some characters and the
 * form of accents; NTFS ignores case, trailing dots and spaces and the name of a stream, and reads `git~1` as `.git`. Protected
 * paths are compared in this form, because the repository may be checked out on such file systems.
 */

/** Joiners, direction marks and the byte order mark: invisible, and ignored by HFS+ when it compares names. */
const ignorable = /[\u200C-\u200F\u202A-\u202E\u206A-\u206F\uFEFF]/gu
const stream = /:(?:[^:]*:)?\$[a-z_]+$/
const endOfName = /[. ]+$/

/** Upper case first, because some letters (long s, dotless i) differ in lower case but share their upper case. */
const foldedCase = (text: string): string =>
  text.normalize('NFD').replace(ignorable, '').toUpperCase().toLowerCase().normalize('NFC')

const foldedName = (segment: string): string => {
  if (segment === '.' || segment === '..') return segment
  const name = segment.replace(stream, '').replace(endOfName, '')
  return name === 'git~1' ? '.git' : name
}

export const foldPath = (path: string): string => foldedCase(path).split('/').map(foldedName).join('/')

/** A rule in the same form. Its trailing dots and spaces stay, because `*.` would otherwise become `*`. */
export const foldRule = (text: string): string => foldedCase(text)
