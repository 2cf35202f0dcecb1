/**
 * The owner's playbooks of one repository: each `*.json` file in `.unstuck/playbooks/` of the owner's checkout, never of an agent's
 * workspace. A file that is not valid is named with its key; the others are not affected by it.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import { quotingNoLink, readOwnerFile } from './owner-file.ts'
import { readOwnPlaybook, type OwnPlaybook } from '../recovery/own/own-playbook.ts'
import { visibleText } from '../visible-text.ts'

export const playbookFolder = '.unstuck/playbooks'

const ending = '.json'
const most = 50

/** It becomes a part of keys and ids. */
const usableName = /^[\da-z][\da-z_-]{0,59}$/i

export const playbookPath = (root: string, name: string): string => join(root, playbookFolder, `${name}${ending}`)

/** Names of the playbooks, in the order of choice, and what is wrong with the other files. */
export const playbookNames = (root: string): { names: string[]; problems: string[] } => {
  const folder = join(root, playbookFolder)
  let files: string[]
  try {
    files = readdirSync(folder).filter((file) => file.endsWith(ending) && !file.startsWith('.'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR'
    return { names: [], problems: isAbsent ? [] : [`${folder} cannot be read (${code ?? ''}); make it readable`] }
  }
  const all = files.map((file) => file.slice(0, -ending.length)).toSorted()
  const unusable = all.filter((name) => !usableName.test(name))
  const usable = all.filter((name) => usableName.test(name))
  return {
    names: usable.slice(0, most),
    problems: [
      ...unusable.map(
        (name) =>
          `${visibleText(playbookPath(root, name))}: the name of a playbook has only letters, digits, "-" and "_"; rename the file`,
      ),
      ...(usable.length > most
        ? [`${folder} holds more than ${most} playbooks; those after ${usable[most - 1]} are not used`]
        : []),
    ],
  }
}

/** Undefined = there is no such file. Throws `CONFIG_INVALID` with file, key, value and what is allowed. */
export const readPlaybook = (path: string, text: string | undefined): OwnPlaybook | undefined => {
  if (text === undefined) return undefined
  return quotingNoLink(path, () => {
    const read = readOwnPlaybook(text)
    if (!read.ok) throw new AppError('CONFIG_INVALID', `${path}: ${read.problem}`)
    return read.playbook
  })
}

/** As `readPlaybook`, by name. */
export const loadPlaybook = (
  root: string,
  name: string,
  readFile: (path: string) => string | undefined = readOwnerFile,
): OwnPlaybook | undefined => {
  const path = playbookPath(root, name)
  return readPlaybook(path, readFile(path))
}
