/**
 * The run's own clone: its own refs, configuration, hooks (none) and index; objects shared with the user's repository through
 * alternates; no remote. It is created under a temporary name and then renamed. A record next to it holds its base and branch,
 * because nothing inside the clone can be trusted once an agent has worked there.
 */
import { appendFile, copyFile, lstat, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { readRegularText } from '../platform/regular-file.ts'
import { AppError } from '../errors.ts'
import type { Repository } from './repository-types.ts'
import { returnDependencies } from './dependencies.ts'
import { git, objectName, refName } from './git.ts'
import { lenientFilters } from './filters.ts'
import { removeFolder } from './remove-folder.ts'
import { inRepository } from './refs.ts'
import { commonDirOf } from './repository.ts'
import { alternatePath, ownerExcludes, shareShallow } from './shadow.ts'
import { submoduleRecordPath as submodulesOf } from './submodule-record.ts'
import { isLargeTree, removeTaken, returnTreeOf, takeTree } from './tree-pool.ts'
import { foldersAbove } from '../domain/folders-above.ts'
import { isGoalBranch } from '../domain/goal.ts'

/**
 * Gives a clone the names that the owner's checkout has for its commits: branches, tags and remote-tracking refs. Checks ask for
 * them (`git describe`, `git diff origin/main...HEAD`, a version from a tag), and without them they fail on every commit. They are
 * copies: whatever is done to them in the clone, the owner's refs stay.
 */
const shared = ['refs/heads', 'refs/tags', 'refs/remotes']

/** Our own branches, and branches whose names would lie in the way of the clone's own: git keeps no `a/b` beside a branch `a`. */
const isLeftOut = (ref: string, branch: string): boolean =>
  ref.startsWith('refs/heads/unstuck/') ||
  (ref.startsWith('refs/heads/') && isGoalBranch(ref)) ||
  [branch, ...foldersAbove(branch)].includes(ref.slice('refs/heads/'.length)) ||
  ref.startsWith(`refs/heads/${branch}/`)

/** Writes the refs into a fresh clone that shares the owner's objects. `branch`: the clone's own. */
const shareRefs = async (owners: Repository, { gitDir, branch }: { gitDir: string; branch: string }): Promise<void> => {
  if (owners.commonDir === null) return
  const format = '--format=%(objectname) %(refname)%00%(symref)'
  const { stdout } = await git(['for-each-ref', format, ...shared], inRepository(owners))
  const entries = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\0') as [named: string, symbolic: string])
    .filter(([named]) => !isLeftOut(named.slice(named.indexOf(' ') + 1), branch))
  const plain = entries.filter(([, symbolic]) => symbolic === '').map(([named]) => `${named}\n`)
  if (plain.length > 0) await writeFile(join(gitDir, 'packed-refs'), `# pack-refs with: sorted\n${plain.join('')}`)
  for (const [named, symbolic] of entries.filter((entry) => entry[1] !== '')) {
    const path = join(gitDir, named.slice(named.indexOf(' ') + 1))
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, `ref: ${symbolic}\n`)
  }
}

export interface WorkspaceRequest {
  repository: Repository
  base: string
  /** Absolute; missing parent folders are created. */
  dir: string
  branch: string
  /** Patterns in the syntax of .gitignore, for the clone's `info/exclude`. */
  exclude?: string[]
  /** Author of the agent's own commits. */
  identity?: { name: string; email: string }
  /** Path for a copy of the fresh index, which makes the first `captureTree` fast. */
  indexFile?: string
  /** Settings of the content filters that may run, for our git and for that of the agent. */
  filters?: readonly [key: string, value: string][]
  /** Folder of trees that are used again (tree-pool.ts). */
  trees?: string
  /** The owner's repository, whose branches, tags and remote-tracking refs the clone gets; absent = none. */
  refsOf?: Repository
}

export interface Workspace {
  dir: string
  base: string
  branch: string
  /** An earlier, interrupted call had already finished the clone. */
  reused: boolean
}

const recordShape = z.object({
  base: z.string(),
  branch: z.string(),
  /** Its tree is worth keeping. */
  isLarge: z.boolean().optional(),
})

const recordOf = (dir: string): string => `${dir}.workspace.json`

const readRecord = async (dir: string): Promise<z.infer<typeof recordShape> | undefined> => {
  try {
    return recordShape.parse(JSON.parse(await readRegularText(recordOf(dir))))
  } catch {
    return undefined // absent or half-written: the clone was not finished
  }
}

const quoted = (text: string): string => JSON.stringify(text.replace(/\p{Cc}+/gu, ' '))

/** Appended to the output of `git init`. Background garbage collection is off, because it would outlive the agent. */
export const cloneConfig = (identity: { name: string; email: string }): string =>
  `[user]
\tname = ${quoted(identity.name)}
\temail = ${quoted(identity.email)}
[commit]
\tgpgSign = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[core]
\thooksPath = .git/hooks
`

/** The settings in the syntax of a configuration file. */
const sections = (config: readonly [key: string, value: string][]): string =>
  config
    .map(([key, value]) => {
      const [section = '', ...more] = key.split('.')
      const name = more.pop() ?? ''
      const text = value.replace(/[\\"]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)
      return `[${section}${more.length === 0 ? '' : ` "${more.join('.').replace(/[\\"]/g, String.raw`\$&`)}"`}]\n\t${name} = "${text}"\n`
    })
    .join('')

/** Moves a tree of another commit to `making`, with its index; otherwise makes an empty folder. */
const beginTree = async (request: WorkspaceRequest, making: string): Promise<string | undefined> => {
  const { repository, base: commit, trees: pool, filters = [] } = request
  const wish = { place: inRepository(repository), commit, filters }
  const index = pool === undefined ? undefined : await takeTree({ pool, ...wish }, making)
  await mkdir(making, { recursive: true })
  return index
}

/** Returns whether the tree is a large one. */
const fill = async (request: WorkspaceRequest, making: string): Promise<boolean> => {
  const { repository, base, branch } = request
  const commonDir = commonDirOf(repository)
  // Objects are shared, so the clone needs the hash function of the base commit.
  const format = base.length === 64 ? 'sha256' : 'sha1'
  const index = await beginTree(request, making)
  const init = ['init', '--quiet', '--template=', `--initial-branch=${branch}`, `--object-format=${format}`, '.']
  const [ignored] = await Promise.all([ownerExcludes(repository), git(init, { cwd: making })])
  const gitDir = join(making, '.git')
  if (request.refsOf !== undefined) await shareRefs(request.refsOf, { gitDir, branch })
  await mkdir(join(gitDir, 'info'), { recursive: true })
  await mkdir(join(gitDir, 'hooks'), { recursive: true })
  await writeFile(join(gitDir, 'objects', 'info', 'alternates'), `${alternatePath(join(commonDir, 'objects'))}\n`)
  await shareShallow(commonDir, gitDir)
  const place = { cwd: making, gitDir, workTree: making, config: lenientFilters(request.filters ?? []) }
  const identity = request.identity ?? { name: 'Agent', email: 'agent@localhost.invalid' }
  await appendFile(join(gitDir, 'config'), cloneConfig(identity) + sections(place.config))
  const excludes = [ignored, ...(request.exclude ?? [])].join('\n')
  await writeFile(join(gitDir, 'info', 'exclude'), `${excludes}\n`)
  if (index !== undefined) await rename(index, join(gitDir, 'index'))
  await removeTaken(making)
  // Creates the branch and writes its files in one process: all of them, or what differs from the index.
  await git(['reset', '--quiet', '--hard', base], place)
  if (request.indexFile !== undefined) await copyFile(join(gitDir, 'index'), request.indexFile)
  return isLargeTree(join(gitDir, 'index'))
}

/** Creates the clone, or returns the finished clone of an interrupted call with the same base and branch. */
export const createWorkspace = async (request: WorkspaceRequest): Promise<Workspace> => {
  const { dir, base, branch } = request
  objectName(base)
  refName(`refs/heads/${branch}`)
  if (branch.startsWith('-')) throw new AppError('INPUT_INVALID', `A branch name must not begin with "-": ${branch}`)
  const record = await readRecord(dir)
  const present = (await lstat(dir).catch(() => undefined))?.isDirectory() === true
  if (present && record !== undefined) {
    if (record.base === base && record.branch === branch) return { dir, base, branch, reused: true }
    throw new AppError(
      'ILLEGAL',
      `${dir} is the workspace of base ${record.base}; remove it before creating another one there`,
    )
  }
  await removeWorkspace(dir)
  await mkdir(dirname(dir), { recursive: true })
  const isLarge = await fill(request, `${dir}.making`)
  // Record first: no agent was started in a folder with the final name but without a record.
  await writeFile(recordOf(dir), `${JSON.stringify({ base, branch, isLarge })}\n`)
  await rename(`${dir}.making`, dir)
  return { dir, base, branch, reused: false }
}

/** Removes a workspace, finished or not, and returns its packages to the pool. Take a snapshot first. */
export const removeWorkspace = async (dir: string): Promise<void> => {
  await returnDependencies(dir)
  // Without its record the folder counts as unfinished, so the next call cleans up after a crash in between.
  await rm(recordOf(dir), { force: true })
  await rm(submodulesOf(dir), { force: true })
  await removeFolder(dir)
  await removeFolder(`${dir}.making`)
  await removeTaken(`${dir}.making`)
}

/** Like `removeWorkspace`, but a large tree goes into the pool, so that a later workspace can start from it. */
export const returnWorkspace = async (dir: string, pool: string): Promise<void> => {
  const record = await readRecord(dir)
  if (record?.isLarge === true) {
    await returnDependencies(dir)
    await rm(recordOf(dir), { force: true })
    await returnTreeOf(dir, { pool, commit: record.base })
  }
  await removeWorkspace(dir)
}
