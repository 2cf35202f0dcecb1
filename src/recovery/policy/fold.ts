/**
 * The name under which other file systems may find a path: HFS+ and APFS ignore case, some characters and the form of
 * accents, NTFS ignores case, dots and spaces at the end and the name of a stream, and knows `.git` as `git~1`. A path
 * that must not change is compared in this form, because the repository will be checked out on such file systems too.
 */

/** Joiners, direction marks and the byte order mark: HFS+ compares names without them, and nobody sees them. */
const ignorable = /[\u200C-\u200F\u202A-\u202E\u206A-\u206F\uFEFF]/gu
const stream = /:(?:[^:]*:)?\$[a-z_]+$/
const endOfName = /[. ]+$/

/** Upper case first, because some letters (long s, dotless i) have a lower case of their own but share the upper one. */
const foldedCase = (text: string): string =>
  text.normalize('NFD').replace(ignorable, '').toUpperCase().toLowerCase().normalize('NFC')

const foldedName = (segment: string): string => {
  if (segment === '.' || segment === '..') return segment
  const name = segment.replace(stream, '').replace(endOfName, '')
  return name === 'git~1' ? '.git' : name
}

export const foldPath = (path: string): string => foldedCase(path).split('/').map(foldedName).join('/')

/** A rule in the same form. Its dots and spaces stay, because `*.` would otherwise become `*`. */
export const foldRule = (text: string): string => foldedCase(text)

/** For people: an ignorable character that can be seen, and is seen to be none of the name's letters. */
export const visiblePath = (path: string): string =>
  path.replace(ignorable, (char) => `<U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}>`)
