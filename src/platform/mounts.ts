/** The file systems that are mounted below a folder. A removal that walks into one empties what the mount shows: perhaps a home folder. */
import { realpathSync } from 'node:fs'
import { readOrUndefined } from './proc.ts'

/** The kernel writes spaces, tabs, line ends and backslashes of a path in octal. */
const unescaped = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

/** The mount points in the text of a `mountinfo` that are `folder` or below it. */
export const mountPointsIn = (text: string, folder: string): string[] =>
  text
    .split('\n')
    .map((line) => unescaped(line.split(' ')[4] ?? ''))
    .filter((path) => path === folder || path.startsWith(`${folder}/`))

const realFolder = (path: string): string | undefined => {
  try {
    return realpathSync(path)
  } catch {
    return undefined // not there, so nothing is mounted on it
  }
}

/**
 * The mount points at and below a folder; none where the system does not list them. Numbers of devices do not show all: a bind mount
 * of a folder of the same file system has the same number.
 */
const mountsBelow = (folder: string): string[] => {
  const real = realFolder(folder)
  return real === undefined ? [] : mountPointsIn(readOrUndefined('/proc/self/mountinfo') ?? '', real)
}

/** Throws if something is mounted in the folder: it must be neither emptied nor changed. */
export const refuseMounts = (folder: string): void => {
  const [mount] = mountsBelow(folder)
  if (mount === undefined) return
  throw new Error(
    `a file system is mounted at ${mount}, and removing ${folder} would empty it; run "umount ${mount}", then try again`,
  )
}
