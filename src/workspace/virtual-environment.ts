/**
 * Gives a fresh clone a Python environment like the one that the owner's checkout has (`.venv` or `venv`). It is a new environment
 * with programs of its own; the packages are read where the owner has them, and what is installed later goes into the clone. Paths
 * that lead into the checkout (editable installs, scripts) lead into the clone, because otherwise its checks would test the
 * checkout's files.
 */
import { constants } from 'node:fs'
import { chmod, copyFile, lstat, mkdir, readdir, readlink, rename, symlink, writeFile } from 'node:fs/promises'
import { isAbsolute, join, sep } from 'node:path'
import { readRegular } from '../platform/regular-file.ts'
import { boundedText, entryNames, folderBelow, isFolder } from './installed/bounded-read.ts'
import { removeFolder } from './remove-folder.ts'
import type { Repository } from './repository-types.ts'

export const environmentNames = ['.venv', 'venv'] as const

/** Read first by Python, because it reads these files in the order of their names. */
export const ownersPackages = '00-owners-packages.pth'

const mostScript = 1024 * 1024

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

interface Places {
  /** The owner's checkout, and the clone. */
  root: string
  workspace: string
}

/** `text` with the paths of the checkout as paths of the clone. A longer path that only contains the checkout's stays. */
const moved = (text: string, { root, workspace }: Places): string =>
  text.replace(new RegExp(String.raw`(?<![\w.-])${escaped(root)}(?![\w.-])`, 'g'), () => workspace)

const layScript = async (from: string, to: string, places: Places): Promise<void> => {
  const found = await lstat(from)
  if (found.isSymbolicLink()) {
    const target = await readlink(from)
    return symlink(isAbsolute(target) ? moved(target, places) : target, to)
  }
  if (!found.isFile()) return
  const bytes = found.size > mostScript ? undefined : await readRegular(from)
  if (bytes === undefined || bytes.includes(0)) return copyFile(from, to, constants.COPYFILE_FICLONE)
  await writeFile(to, moved(bytes.toString('latin1'), places), { encoding: 'latin1' })
  await chmod(to, found.mode & 0o777)
}

/** The folder of installed packages of an environment, relative to it; undefined = it has none, or several. */
const packagesOf = async (environment: string): Promise<string | undefined> => {
  const lib = await folderBelow(environment, 'lib')
  const pythons = lib === undefined ? [] : (await entryNames(lib)).filter((name) => /^python\d[\d.]*t?$/.test(name))
  const inside = `lib/${pythons[0]}/site-packages`
  return pythons.length === 1 && (await folderBelow(environment, inside)) !== undefined ? inside : undefined
}

/** A line of a `.pth` file: code, or a folder, which is relative to the owner's packages unless it is absolute. */
const pathLine = (line: string, packages: string, places: Places): string => {
  if (/^(?:#|import[ \t]|\s*$)/.test(line)) return moved(line, places)
  const folder = isAbsolute(line) ? line : join(packages, line)
  return folder.startsWith(`${packages}${sep}`) ? folder : moved(folder, places)
}

const layPackages = async (from: string, to: string, places: Places): Promise<void> => {
  await mkdir(to, { recursive: true })
  await writeFile(join(to, ownersPackages), `${from}\n`)
  for (const name of await readdir(from)) {
    if (!name.endsWith('.pth') && !name.endsWith('.py')) continue
    const text = await boundedText(join(from, name), mostScript)
    if (text === undefined) continue
    // The finder of an editable install is a module that names folders of the checkout.
    if (name.endsWith('.py') && text.includes(places.root)) await writeFile(join(to, name), moved(text, places))
    if (name.endsWith('.pth')) {
      const lines = text.split(/\r?\n/).map((line) => pathLine(line, from, places))
      await writeFile(join(to, name), lines.join('\n'))
    }
  }
}

const layOne = async (name: string, places: Places): Promise<boolean> => {
  const from = join(places.root, name)
  const to = join(places.workspace, name)
  const settings = (await isFolder(from)) ? await boundedText(join(from, 'pyvenv.cfg')) : undefined
  const packages = settings === undefined ? undefined : await packagesOf(from)
  const isThere = (await lstat(to).catch(() => undefined)) !== undefined
  if (settings === undefined || packages === undefined || isThere) return false
  const making = `${places.workspace}.environment`
  await removeFolder(making)
  await mkdir(join(making, 'bin'), { recursive: true })
  // Git does not see it, whether or not the repository ignores the name.
  await writeFile(join(making, '.gitignore'), '*\n')
  // It names the interpreter that the owner's environment was made with, wherever that is.
  await writeFile(join(making, 'pyvenv.cfg'), settings)
  for (const script of await entryNames(join(from, 'bin')))
    await layScript(join(from, 'bin', script), join(making, 'bin', script), { root: from, workspace: to })
  await layPackages(join(from, packages), join(making, packages), places)
  if ((await lstat(join(from, 'lib64')).catch(() => undefined)) !== undefined)
    await symlink('lib', join(making, 'lib64'))
  await rename(making, to)
  return true
}

/** How deep the folders of projects are searched. */
const deepest = 2

/** Folders of the clone, '' = its top. A link is none. */
const foldersIn = async (workspace: string, folder = '', depth = deepest): Promise<string[]> => {
  if (depth === 0) return [folder]
  const entries = await readdir(join(workspace, folder), { withFileTypes: true })
  const below = entries
    .filter((entry) => entry.isDirectory() && !/^(?:\..*|venv|node_modules)$/.test(entry.name))
    .map(({ name }) => foldersIn(workspace, join(folder, name), depth - 1))
  return [folder, ...(await Promise.all(below)).flat()]
}

/** Lays the environments that the checkout has and the clone lacks; returns their paths. Repeating it changes nothing. */
export const layEnvironments = async (request: { repository: Repository; workspace: string }): Promise<string[]> => {
  const places = { root: request.repository.root, workspace: request.workspace }
  const laid: string[] = []
  for (const folder of await foldersIn(places.workspace))
    for (const name of environmentNames) if (await layOne(join(folder, name), places)) laid.push(join(folder, name))
  return laid
}
