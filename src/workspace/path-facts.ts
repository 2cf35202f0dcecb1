/** What git knows of one path of the owner's checkout, for people who ask before a run. */
import { lstatSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Repository } from './repository-types.ts'
import { fieldsOf, git, type GitOptions } from './git.ts'
import { defined } from '../domain/defined.ts'

interface OwnersPath {
  /** git's mode; `000000` = neither the last commit nor the checkout has it. */
  mode: string
  tracked: boolean
  linkTarget?: string
  ignoredBy?: string
}

const absent = '000000'

/** The mode of a file that git does not know yet. A folder with a `.git` counts as a repository of its own. */
const modeOnDisk = (path: string): string => {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return absent
  if (found.isSymbolicLink()) return '120000'
  if (found.isDirectory() && lstatSync(join(path, '.git'), { throwIfNoEntry: false }) !== undefined) return '160000'
  return '100644'
}

const ignoreRule = async (at: GitOptions, path: string): Promise<string | undefined> => {
  const args = ['check-ignore', '-v', '-z', '--stdin']
  // This command refuses literal paths; after "./" nothing in the name is special.
  const variables = { GIT_LITERAL_PATHSPECS: '0' }
  const { stdout } = await git(args, { ...at, variables, input: `./${path}\0`, okCodes: [0, 1, 128] })
  const [source = '', line = '', pattern = ''] = fieldsOf(stdout)
  return pattern === '' || pattern.startsWith('!') ? undefined : `${source}:${line}: ${pattern}`
}

/** `path` is relative to the top of the repository. */
export const pathFactsOf = async (repository: Repository, path: string): Promise<OwnersPath> => {
  const full = join(repository.root, path)
  const onDisk = modeOnDisk(full)
  const link = onDisk === '120000' ? { linkTarget: readlinkSync(full) } : {}
  if (repository.commonDir === null) return { mode: onDisk, tracked: false, ...link }
  const at: GitOptions = { cwd: repository.root, owner: 'user' }
  const listed = await git(['ls-tree', '-z', 'HEAD', '--', path], { ...at, okCodes: [0, 128] })
  const [entry] = listed.code === 0 ? fieldsOf(listed.stdout) : []
  const mode = entry?.split(' ')[0]
  // A folder of the last commit is not a path that a change could have.
  if (mode !== undefined && mode !== '040000')
    return { mode: onDisk === absent ? mode : mode === '160000' ? mode : onDisk, tracked: true, ...link }
  const ignoredBy = await ignoreRule(at, path)
  return { mode: onDisk, tracked: false, ...link, ...defined({ ignoredBy }) }
}

/** The files of the owner's last commit, and a reader of their texts. Both are empty where there is no commit. */
export const lastCommitOf = async ({ root, commonDir }: Repository) => {
  const at: GitOptions = { cwd: root, owner: 'user', okCodes: [0, 128] }
  const ask = async (...args: string[]): Promise<string | undefined> => {
    const { code, stdout } = commonDir === null ? { code: 1, stdout: '' } : await git(args, at)
    return code === 0 ? stdout : undefined
  }
  return {
    paths: fieldsOf((await ask('ls-tree', '-r', '-z', '--name-only', '--full-tree', 'HEAD')) ?? ''),
    read: (path: string): Promise<string | undefined> => ask('cat-file', 'blob', `HEAD:${path}`),
  }
}
