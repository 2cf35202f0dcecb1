/**
 * Checks out the submodules of a fresh clone from the objects of the user's checkout. Nothing is fetched, and no URL is read. Each
 * submodule becomes a new repository that borrows the objects, so no configuration or hook of the source applies. A record next
 * to the workspace lists them, because nothing inside can be trusted once an agent has worked there.
 */
import { appendFile, mkdir, realpath, rm, writeFile } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import { readRegularText } from '../platform/regular-file.ts'
import { messageOf } from '../errors.ts'
import { isFolder } from './installed/bounded-read.ts'
import { lstatInside } from './lstat-inside.ts'
import { cloneConfig } from './clone.ts'
import { removeFolder } from './remove-folder.ts'
import type { Repository } from './repository-types.ts'
import { fieldsOf, git, objectName, type GitOptions } from './git.ts'
import { alternatePath, shareShallow } from './shadow.ts'
import { submoduleRecordPath, type SubmoduleRecord } from './submodule-record.ts'

export interface Submodules {
  laid: string[]
  missing: { path: string; reason: string }[]
}

const gitlink = '160000'
/** Limits for the nesting and for the total number of submodules, as a protection against hostile repositories. */
const deepest = 8
const most = 200

interface Link {
  path: string
  commit: string
}

const placeOf = (workspace: string): GitOptions => ({
  cwd: workspace,
  gitDir: join(workspace, '.git'),
  workTree: workspace,
})

const linksOf = async (workspace: string): Promise<Link[]> =>
  fieldsOf((await git(['ls-files', '-z', '--stage'], placeOf(workspace))).stdout).flatMap((entry) =>
    entry.startsWith(gitlink)
      ? [{ commit: entry.split(' ')[1] ?? '', path: entry.slice(entry.indexOf('\t') + 1) }]
      : [],
  )

const isSafeName = (name: string): boolean =>
  name !== '' && !name.startsWith('/') && !name.includes('\0') && !name.split(/[/\\]/).includes('..')

/** Names by path, from `.gitmodules` in the index. A name is a folder below `modules`, so unsafe names are dropped. */
const namesOf = async (workspace: string): Promise<Map<string, string>> => {
  const args = ['config', '--blob', ':.gitmodules', '-z', '--get-regexp', String.raw`^submodule\..*\.path$`]
  const { stdout } = await git(args, { ...placeOf(workspace), okCodes: [0, 1, 128] })
  const pairs = fieldsOf(stdout).map((field): [string, string] => {
    const at = field.indexOf('\n')
    return [field.slice(at + 1), field.slice('submodule.'.length, at - '.path'.length)]
  })
  return new Map(pairs.filter(([, name]) => isSafeName(name)))
}

/** Where the user may have a submodule: its possible git directories, and its checkout. */
interface Source {
  gitDirs: string[]
  checkout: string | undefined
}

/** The git directory of a checkout: its `.git` folder, or the target of its `.git` file. */
const gitDirOf = async (checkout: string): Promise<string | undefined> => {
  const path = join(checkout, '.git')
  if (await isFolder(path)) return path
  const text = await readRegularText(path).catch(() => '')
  const target = /^gitdir: (.+)$/m.exec(text)?.[1]
  return target === undefined ? undefined : isAbsolute(target) ? target : resolve(checkout, target)
}

const sourceOf = async (above: Source, { path }: Link, name: string | undefined): Promise<Source> => {
  const inside = above.checkout === undefined ? undefined : await lstatInside(above.checkout, path)
  const checkout = inside?.isDirectory() === true ? join(above.checkout ?? '', path) : undefined
  const own = checkout === undefined ? undefined : await gitDirOf(checkout)
  const below = name === undefined ? [] : above.gitDirs.map((gitDir) => join(gitDir, 'modules', name))
  return { gitDirs: [...(own === undefined ? [] : [own]), ...below], checkout }
}

/** Creates a repository that borrows the objects, with the files of the commit. Throws if objects are missing. */
const checkOutFrom = async (gitDir: string, dir: string, commit: string): Promise<string> => {
  const objects = await realpath(join(gitDir, 'objects'))
  const format = commit.length === 64 ? 'sha256' : 'sha1'
  await git(['init', '--quiet', '--template=', '--initial-branch=none', `--object-format=${format}`, '.'], { cwd: dir })
  const own = join(dir, '.git')
  await mkdir(join(own, 'info'), { recursive: true })
  await mkdir(join(own, 'hooks'), { recursive: true })
  await writeFile(join(own, 'objects', 'info', 'alternates'), `${alternatePath(objects)}\n`)
  await shareShallow(gitDir, own)
  await appendFile(join(own, 'config'), cloneConfig({ name: 'Agent', email: 'agent@localhost.invalid' }))
  await git(['reset', '--quiet', '--hard', objectName(commit)], placeOf(dir))
  return objects
}

/** Leaves the folder empty if the submodule cannot be checked out, as git does. */
const checkOut = async (
  source: Source,
  dir: string,
  commit: string,
): Promise<{ objects: string } | { reason: string }> => {
  let reason = 'its objects are not on this machine'
  for (const gitDir of source.gitDirs) {
    if (!(await isFolder(join(gitDir, 'objects')))) continue
    try {
      await mkdir(dir, { recursive: true })
      return { objects: await checkOutFrom(gitDir, dir, commit) }
    } catch (error) {
      reason = `commit ${commit.slice(0, 12)} cannot be checked out from the objects on this machine`
      if (!/Could not parse object|unknown revision|bad object|not a valid object/i.test(messageOf(error)))
        reason = `${reason}: ${messageOf(error).slice(0, 300)}`
      await removeFolder(dir)
      await mkdir(dir, { recursive: true })
    }
  }
  return { reason }
}

interface Found {
  /** All paths are relative to this workspace. */
  top: string
  records: SubmoduleRecord[]
  missing: Submodules['missing']
}

const checkOutBelow = async (prefix: string, above: Source, into: Found, depth: number): Promise<void> => {
  const { top } = into
  const workspace = join(top, prefix)
  const links = await linksOf(workspace)
  if (links.length === 0) return
  const names = await namesOf(workspace)
  for (const link of links) {
    const path = prefix === '' ? link.path : `${prefix}/${link.path}`
    const dir = join(top, path)
    const source = await sourceOf(above, link, names.get(link.path))
    const laid =
      depth >= deepest || into.records.length >= most
        ? { reason: 'there are too many submodules' }
        : (await lstatInside(top, path))?.isDirectory() === true
          ? await checkOut(source, dir, link.commit)
          : { reason: 'its path is not a folder' }
    const objects = 'objects' in laid ? laid.objects : null
    into.records.push({ path, commit: link.commit, objects })
    if ('reason' in laid) into.missing.push({ path, reason: laid.reason })
    else await checkOutBelow(path, source, into, depth + 1)
  }
}

/** Checks out every submodule of a fresh clone whose objects the user's checkout has, recursively. */
export const checkOutSubmodules = async (request: {
  repository: Repository
  workspace: string
}): Promise<Submodules> => {
  const { repository, workspace } = request
  const found: Found = { top: workspace, records: [], missing: [] }
  const own = await gitDirOf(repository.root)
  const gitDirs = [...new Set([own, repository.commonDir].flatMap((dir) => dir ?? []))]
  await checkOutBelow('', { gitDirs, checkout: repository.root }, found, 0)
  await rm(submoduleRecordPath(workspace), { force: true })
  if (found.records.length > 0)
    await writeFile(submoduleRecordPath(workspace), JSON.stringify(found.records), { mode: 0o600 })
  return {
    laid: found.records.flatMap(({ path, objects }) => (objects === null ? [] : [path])),
    missing: found.missing,
  }
}
