/**
 * Folders that are too wide to give to an agent or to change the mode of: the whole file system, or everything that the user
 * owns. A symbolic link is judged by its target.
 */
import { sep } from 'node:path'

export interface FolderReader {
  realpathSync(path: string): string
  homeDir(): string
}

const realOf = ({ realpathSync }: FolderReader, path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path // it does not exist (yet), so it is not a link
  }
}

/** Returns why a folder is too wide, or undefined if it is not. */
export const whyTooWide = (looks: FolderReader, path: string): string | undefined => {
  const real = realOf(looks, path)
  const home = realOf(looks, looks.homeDir())
  const leads = real === path ? 'is' : `leads to ${real}, which is`
  if (real === sep) return `${leads} the whole file system`
  if (real === home) return `${leads} the home folder`
  return home.startsWith(real + sep) ? `${leads} a folder that contains the home folder` : undefined
}

/** Returns the message that refuses a folder as too wide for agents, or undefined if it may be given. */
export const whyNotAllowed = (looks: FolderReader, path: string): string | undefined => {
  const why = whyTooWide(looks, path)
  return why === undefined ? undefined : `${path} ${why}: too wide to be given to an agent; name a folder inside it`
}
