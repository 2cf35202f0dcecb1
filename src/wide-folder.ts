/**
 * Folders that are no agent's to be given and whose mode is nothing to change: the whole machine, or everything that its user
 * has. A link counts as what it leads to.
 */
import { sep } from 'node:path'

export interface FolderLooks {
  realpathSync(path: string): string
  homeDir(): string
}

const realOf = ({ realpathSync }: FolderLooks, path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path // it does not exist (yet): then it leads nowhere else
  }
}

/** Why a folder is too wide; undefined = it is not. */
export const wideFolder = (looks: FolderLooks, path: string): string | undefined => {
  const real = realOf(looks, path)
  const home = realOf(looks, looks.homeDir())
  const leads = real === path ? 'is' : `leads to ${real}, which is`
  if (real === sep) return `${leads} the whole file system`
  if (real === home) return `${leads} the home folder`
  return home.startsWith(real + sep) ? `${leads} a folder around the home folder` : undefined
}

/** Says so of a folder that somebody wants to give to agents. */
export const refusedAllowance = (looks: FolderLooks, path: string): string | undefined => {
  const why = wideFolder(looks, path)
  return why === undefined ? undefined : `${path} ${why}: too wide to be given to an agent; name a folder inside it`
}
