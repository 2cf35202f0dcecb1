/** Copies the installed packages of a folder of the user's checkout, so that no symlink in the copy leads back there. */
import { readdir, readlink, realpath, rm, symlink } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { copyTree } from './copy-tree.ts'

interface Links {
  /** Real path of the user's checkout, and the copied folder relative to it. */
  userRoot: string
  place: string
  notes: string[]
}

/** Makes a symlink relative, or removes it if it leads out of the checkout. */
const settleLink = async (copy: string, inside: string, links: Links): Promise<void> => {
  const path = join(copy, inside)
  const target = await readlink(path)
  const from = join(links.userRoot, links.place, dirname(inside))
  const absolute = resolve(from, target)
  const real = isAbsolute(target)
    ? await realpath(dirname(absolute)).then(
        (folder) => join(folder, absolute.slice(dirname(absolute).length)),
        () => absolute,
      )
    : absolute
  if (real !== links.userRoot && !real.startsWith(links.userRoot + sep)) {
    await rm(path)
    links.notes.push(`${join(links.place, inside)} leads out of the checkout (${target}) and was left out`)
    return
  }
  if (!isAbsolute(target)) return
  await rm(path)
  await symlink(relative(from, real), path)
}

const settleLinks = async (copy: string, folder: string, links: Links): Promise<void> => {
  for (const entry of await readdir(join(copy, folder), { withFileTypes: true })) {
    const inside = join(folder, entry.name)
    if (entry.isSymbolicLink()) await settleLink(copy, inside, links)
    else if (entry.isDirectory()) await settleLinks(copy, inside, links)
  }
}

/** Returns a text for each symlink that was left out. */
export const copyInstalled = async (
  { root, folder }: { root: string; folder: string },
  to: string,
  signal?: AbortSignal,
): Promise<string[]> => {
  await copyTree(join(root, folder, 'node_modules'), to, signal)
  const links: Links = { userRoot: root, place: join(folder, 'node_modules'), notes: [] }
  await settleLinks(to, '', links)
  return links.notes
}
