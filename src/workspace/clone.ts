/**
 * The run's own clone: own refs, configuration, hooks (none) and index, objects shared with the user's repository by
 * alternates, no remote. It is made aside and renamed into place; beside it stands a file with what we wrote, because
 * nothing inside the clone can be believed once an agent has been there.
 */
import { appendFile, copyFile, lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { AppError } from '../errors.ts'
import type { Repository } from './contract.ts'
import { returnDependencies } from './dependencies.ts'
import { git, objectName, refName } from './git.ts'
import { removeFolder } from './remove-folder.ts'
import { commonDirOf } from './repository.ts'
import { alternate, ownerExcludes, shareShallow } from './shadow.ts'
import { recordOf as submodulesOf } from './submodule-record.ts'

export interface WorkspaceRequest {
  repository: Repository
  base: string
  /** Absolute; its parent is made when missing. */
  dir: string
  branch: string
  /** Patterns in the syntax of .gitignore, for the clone's `info/exclude`. */
  exclude?: string[]
  /** Who the agent's own commits are by. */
  identity?: { name: string; email: string }
  /** Where a copy of the fresh index goes, for a fast first `captureTree`. */
  indexFile?: string
}

export interface Workspace {
  dir: string
  base: string
  branch: string
  /** The finished clone of an earlier, interrupted call was found. */
  reused: boolean
}

const recordShape = z.object({ base: z.string(), branch: z.string() })

const recordOf = (dir: string): string => `${dir}.workspace.json`

const readRecord = async (dir: string): Promise<z.infer<typeof recordShape> | undefined> => {
  try {
    return recordShape.parse(JSON.parse(await readFile(recordOf(dir), 'utf8')))
  } catch {
    return undefined // absent or half-written: the clone was not finished
  }
}

const quoted = (text: string): string => JSON.stringify(text.replace(/\p{Cc}+/gu, ' '))

/** Appended to what `git init` wrote. A background collection would outlive the agent and hold the folder open. */
export const configOf = (identity: { name: string; email: string }): string =>
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

const fill = async (request: WorkspaceRequest, making: string): Promise<void> => {
  const { repository, base, branch } = request
  const commonDir = commonDirOf(repository)
  // Objects are shared: who has this commit has its hash function.
  const format = base.length === 64 ? 'sha256' : 'sha1'
  await mkdir(making, { recursive: true })
  const init = ['init', '--quiet', '--template=', `--initial-branch=${branch}`, `--object-format=${format}`, '.']
  const [ignored] = await Promise.all([ownerExcludes(repository), git(init, { cwd: making })])
  const gitDir = join(making, '.git')
  await mkdir(join(gitDir, 'info'), { recursive: true })
  await mkdir(join(gitDir, 'hooks'), { recursive: true })
  await writeFile(join(gitDir, 'objects', 'info', 'alternates'), `${alternate(join(commonDir, 'objects'))}\n`)
  await shareShallow(commonDir, gitDir)
  const place = { cwd: making, gitDir, workTree: making }
  const identity = request.identity ?? { name: 'Agent', email: 'agent@localhost.invalid' }
  await appendFile(join(gitDir, 'config'), configOf(identity))
  const excludes = [ignored, ...(request.exclude ?? [])].join('\n')
  await writeFile(join(gitDir, 'info', 'exclude'), `${excludes}\n`)
  // Makes the branch, which has no commit yet, and writes its files, as one process.
  await git(['reset', '--quiet', '--hard', base], place)
  if (request.indexFile !== undefined) await copyFile(join(gitDir, 'index'), request.indexFile)
}

/** Makes the clone, or returns the one that an interrupted call with the same base and branch had finished. */
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
      `${dir} is the workspace of base ${record.base}; remove it before another is made there`,
    )
  }
  await removeWorkspace(dir)
  await mkdir(dirname(dir), { recursive: true })
  await fill(request, `${dir}.making`)
  // The record first: a folder with the final name and without record is one that no agent was started in.
  await writeFile(recordOf(dir), `${JSON.stringify({ base, branch })}\n`)
  await rename(`${dir}.making`, dir)
  return { dir, base, branch, reused: false }
}

/** Removes a workspace, finished or not; its packages go back to the pool. Snapshot it first. */
export const removeWorkspace = async (dir: string): Promise<void> => {
  await returnDependencies(dir)
  // Without its record the folder counts as unfinished, so a crash in between is repaired by the next call.
  await rm(recordOf(dir), { force: true })
  await rm(submodulesOf(dir), { force: true })
  await removeFolder(dir)
  await removeFolder(`${dir}.making`)
}
