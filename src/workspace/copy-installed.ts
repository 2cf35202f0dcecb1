/** Copies the installed packages of a folder of the user's checkout, so that no symlink in the copy leads back there. */
import { lstat, readdir, readlink, realpath, rm, symlink } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { copyTree } from './copy-tree.ts'
import { diskUsageOf } from './disk-usage.ts'

interface Links {
  /** Real path of the user's checkout, and the copied folder relative to it. */
  userRoot: string
  place: string
  notes: string[]
}

/** A package beside the checkout is no larger than this, in bytes; a link to a home folder or a whole disk leads to more. */
const mostLinkedBytes = 200_000_000

/** Whether a folder outside of the checkout is a package that may be copied: one by `npm link` or a `file:` dependency. */
const isLinkedPackage = async (target: string, { userRoot }: Links): Promise<boolean> => {
  const manifest = await lstat(join(target, 'package.json')).catch(() => undefined)
  if (manifest?.isFile() !== true || `${userRoot}${sep}`.startsWith(target + sep)) return false
  return (await diskUsageOf(target)) <= mostLinkedBytes
}

/** A copy in the place of a link out of the checkout: through the link, an install or an agent would write into that package. */
const copyLinked = async (path: string, target: string, links: Links, signal?: AbortSignal): Promise<boolean> => {
  const real = await realpath(target).catch(() => target)
  if (!(await isLinkedPackage(real, links))) return false
  await rm(path)
  await copyTree(real, path, signal)
  const own: Links = { userRoot: real, place: '', notes: [] }
  await settleLinks(path, '', own, signal)
  return true
}

/** Makes a symlink relative, or replaces or removes it if it leads out of the checkout. */
const settleLink = async (copy: string, inside: string, links: Links, signal?: AbortSignal): Promise<void> => {
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
    if (links.place !== '' && (await copyLinked(path, real, links, signal))) return
    await rm(path)
    links.notes.push(`${join(links.place, inside)} leads out of the checkout (${target}) and was left out`)
    return
  }
  if (!isAbsolute(target)) return
  await rm(path)
  await symlink(relative(from, real), path)
}

const settleLinks = async (copy: string, folder: string, links: Links, signal?: AbortSignal): Promise<void> => {
  for (const entry of await readdir(join(copy, folder), { withFileTypes: true })) {
    const inside = join(folder, entry.name)
    if (entry.isSymbolicLink()) await settleLink(copy, inside, links, signal)
    else if (entry.isDirectory()) await settleLinks(copy, inside, links, signal)
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
  await settleLinks(to, '', links, signal)
  return links.notes
}
