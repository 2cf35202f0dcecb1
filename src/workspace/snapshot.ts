/**
 * Snapshots, which keep invariant 3 ("nothing is lost"): the exact files of a workspace as a commit in the shadow, taken before
 * anything is killed or discarded, and their restoration. The agent's own commits are copied too, without git opening the
 * agent's repository: its ref files are parsed here, and its object files are only read.
 */
import { constants } from 'node:fs'
import { access, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { readRegularText } from '../platform/regular-file.ts'
import { AppError, messageOf } from '../errors.ts'
import { makeFolder } from '../platform/make-folder.ts'
import { lstatInside } from './lstat-inside.ts'
import { changedSubmodules, changesBetween, emptyTree, inspectFiles, resetIndex, stageFindings } from './changes.ts'
import type { Snapshot } from './repository-types.ts'
import { git, gitLine, objectName, refName } from './git.ts'
import { alternatePath, inShadow, overRawFiles, withIndex } from './shadow.ts'
import type { Shadow } from './shadow.ts'
import { commonDirOf } from './repository.ts'
import { readSubmodules } from './submodule-record.ts'
import { removeFolder } from './remove-folder.ts'
import { defined } from '../domain/defined.ts'

export interface SnapshotRequest {
  runId: string
  workTree: string
  base: string
  reason: string
  /** ISO time. */
  at: string
  /** Includes ignored files, for actions that delete them. */
  includeIgnored?: boolean
  /** More ignore patterns, in the syntax of .gitignore. */
  exclude?: string[]
  /** Larger files are left out. So are the largest files beyond a total of 16 times this. Default: 32 MiB. */
  maxBytes?: number
}

const prefix = 'refs/unstuck/snapshot/'
const note = z.object({
  reason: z.string(),
  at: z.string(),
  leftOut: z.array(z.object({ path: z.string(), bytes: z.number() })),
})

const filesBelow = async (root: string, folder: string): Promise<string[]> => {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
  const found: string[] = []
  for (const entry of entries) {
    const path = `${folder}/${entry.name}`
    if (entry.name.toLowerCase() === '.git') continue
    if (entry.isDirectory()) found.push(...(await filesBelow(root, path)))
    else if (entry.isFile() || entry.isSymbolicLink()) found.push(path)
  }
  return found
}

interface Fitting {
  store: string[]
  leftOut: { path: string; bytes: number }[]
}

/** Small files first, so that one huge file cannot displace many small ones. */
const fit = async (root: string, paths: string[], maxBytes: number): Promise<Fitting> => {
  const sized: { path: string; bytes: number }[] = []
  for (const path of new Set(paths)) {
    const found = await lstatInside(root, path)
    if (found !== undefined) sized.push({ path, bytes: found.size })
  }
  sized.sort((one, other) => one.bytes - other.bytes)
  const result: Fitting = { store: [], leftOut: [] }
  let total = 0
  for (const file of sized) {
    total += file.bytes
    if (file.bytes > maxBytes || total > 16 * maxBytes) result.leftOut.push(file)
    else result.store.push(file.path)
  }
  return result
}

const record = async (
  shadow: Shadow,
  request: Pick<SnapshotRequest, 'runId' | 'base' | 'reason' | 'at'>,
  tree: string,
  leftOut: Fitting['leftOut'],
): Promise<Snapshot> => {
  const kept = leftOut.toReversed().slice(0, 20)
  const message = `snapshot\n\n${JSON.stringify({ reason: request.reason, at: request.at, leftOut: kept })}\n`
  const type = await gitLine(['cat-file', '-t', objectName(request.base)], inShadow(shadow))
  const parent = type === 'commit' ? ['-p', request.base] : []
  const dates = { GIT_AUTHOR_DATE: request.at, GIT_COMMITTER_DATE: request.at }
  const commit = await gitLine(['commit-tree', tree, ...parent], {
    ...inShadow(shadow),
    input: message,
    variables: dates,
  })
  const before = await listSnapshots(shadow, request.runId)
  const same = before.find((snapshot) => snapshot.commit === commit)
  // Taken again after a kill: equal input gives an equal commit.
  if (same !== undefined) return same
  const taken = new Set(before.map((snapshot) => snapshot.id))
  for (let number = 1; ; number += 1) {
    const id = `${request.runId}-${number}`
    if (taken.has(id)) continue
    const ref = refName(`${prefix}${id}`)
    const zero = '0'.repeat(commit.length)
    const made = await git(['update-ref', ref, commit, zero], { ...inShadow(shadow), okCodes: [0, 128] })
    if (made.code === 0) return { id, commit, reason: request.reason, at: request.at, leftOut: kept }
    taken.add(id)
    if (number > 10_000)
      throw new AppError('GIT_FAILED', `No snapshot could be recorded for ${request.runId}: ${made.stderr.trim()}`)
  }
}

/** Takes a snapshot of the files as they are now, including files of nested repositories (without their history). */
export const takeSnapshot = async (shadow: Shadow, request: SnapshotRequest): Promise<Snapshot> => {
  if (!/^[\w.-]+$/.test(request.runId)) throw new Error(`not a run id: ${request.runId}`)
  const { workTree, base, exclude = [], maxBytes = 32 * 1024 * 1024 } = request
  return withIndex(shadow, async (indexFile) => {
    const at = overRawFiles(shadow, workTree, indexFile)
    await resetIndex(at, base)
    const found = await inspectFiles(at, request.includeIgnored === true ? 'nothing' : exclude)
    const laid = new Set((await readSubmodules(workTree)).map(({ path }) => path))
    const foreign = found.nested.filter((folder) => !laid.has(folder))
    const changed = (await changedSubmodules(at)).flatMap(({ store }) => store)
    const nested = [changed, ...(await Promise.all(foreign.map((folder) => filesBelow(workTree, folder))))]
    const unreadable = found.leftOut.map(({ path }) => ({ path, bytes: 0 }))
    const fitting = await fit(workTree, [...found.store, ...nested.flat()], maxBytes)
    const tree = await stageFindings(at, { store: fitting.store, remove: found.remove })
    return record(shadow, request, tree, [...unreadable, ...fitting.leftOut])
  })
}

/** A snapshot of a commit of the user's repository with its history since `base`, which stays there when its branch is gone. */
export const keepCommit = async (
  shadow: Shadow,
  { id, base, commit, ...note }: { id: string; base: string; commit: string; reason: string; at: string },
): Promise<Snapshot> => {
  const objects = join(commonDirOf(shadow.repository), 'objects')
  await copyHistory(shadow, { tip: commit, base, objects })
  const tree = await gitLine(['rev-parse', '--verify', `${objectName(commit)}^{tree}`], inShadow(shadow))
  return record(shadow, { runId: id, base: commit, ...note }, tree, [])
}

const readNote = (message: string): z.infer<typeof note> => {
  try {
    return note.parse(JSON.parse(message.slice(message.indexOf('\n\n') + 2)))
  } catch {
    return { reason: 'unknown', at: '', leftOut: [] } // still restorable by its name
  }
}

/** All snapshots, or those of one run, oldest first. */
export const listSnapshots = async (shadow: Shadow, runId?: string): Promise<Snapshot[]> => {
  const format = '--format=%(objectname)%00%(refname)%00%(contents)%00'
  const { stdout } = await git(['for-each-ref', format, prefix], inShadow(shadow))
  const fields = stdout.split('\0')
  const found: Snapshot[] = []
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const id = (fields[index + 1] ?? '').slice(prefix.length)
    if (runId !== undefined && id.slice(0, id.lastIndexOf('-')) !== runId) continue
    found.push({ id, commit: (fields[index] ?? '').trim(), ...readNote(fields[index + 2] ?? '') })
  }
  const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf('-') + 1))
  return found.sort((one, other) => one.at.localeCompare(other.at) || numberOf(one.id) - numberOf(other.id))
}

const commitOf = async (shadow: Shadow, id: string): Promise<string> => {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${refName(`${prefix}${id}`)}^{commit}`]
  const found = await git(args, { ...inShadow(shadow), okCodes: [0, 1, 128] })
  const commit = found.stdout.trim().split('\n').at(-1) ?? ''
  if (found.code === 0 && commit !== '') return commit
  throw new AppError('NOT_FOUND', `There is no snapshot ${id}; "unstuck restore" without a name lists them`)
}

/** Creates the folder if it is missing. Returns the topmost folder that it created; throws if the folder is not empty. */
const makeEmpty = async (into: string): Promise<string | undefined> => {
  const cannot = (error: unknown): AppError =>
    new AppError(
      'PERMISSION',
      `${into} cannot be written (${messageOf(error)}); give a folder where this user may write`,
    )
  let made: string[]
  let present: string[]
  try {
    made = makeFolder(into)
    await access(into, constants.W_OK)
    present = await readdir(into)
  } catch (error) {
    throw cannot(error)
  }
  if (present.length > 0) {
    const named = present.slice(0, 20).join(', ')
    throw new AppError('ILLEGAL', `${into} is not empty and nothing in it is overwritten: ${named}; give a new folder`)
  }
  return made[0]
}

/** Undoes a failed restore: removes the created folder, or the content written into an empty folder of the user. */
const undoRestore = async (into: string, made: string | undefined): Promise<void> => {
  const ours = made === undefined ? (await readdir(into)).map((name) => join(into, name)) : [made]
  for (const path of ours) await removeFolder(path)
}

/** Writes a snapshot into a new or empty folder, completely or not at all, and returns the number of files. */
export const restoreSnapshot = async (
  shadow: Shadow,
  request: { id: string; into: string; signal?: AbortSignal },
): Promise<{ files: number }> => {
  const { id, into, signal } = request
  const commit = await commitOf(shadow, id)
  const made = await makeEmpty(into)
  try {
    return await withIndex(shadow, async (indexFile) => {
      const at = { ...overRawFiles(shadow, into, indexFile), ...defined({ signal }) }
      await git(['read-tree', '-u', '--reset', commit], at)
      return { files: (await changesBetween(shadow, await emptyTree(shadow), commit)).length }
    })
  } catch (error) {
    await undoRestore(into, made)
    throw error
  }
}

/** Deletes a snapshot, for the retention of `unstuck clean`. */
export const dropSnapshot = async (shadow: Shadow, id: string): Promise<void> => {
  await git(['update-ref', '-d', refName(`${prefix}${id}`)], inShadow(shadow))
}

export interface KeptCommits {
  kept: { ref: string; commit: string; name: string }[]
  /** Why nothing or not everything was kept. */
  reason: string | null
}

const readPlain = async (path: string): Promise<string> => {
  // A symlink could lead anywhere, and a huge file is not a ref.
  return readRegularText(path, { most: 4_000_000, noLink: true }).catch(() => '')
}

const isObject = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)

/** A commit that a ref of the agent names. */
interface Tip {
  commit: string
  /** For people: `branch mine`, `stash`, `a commit without a branch`, or the name of the ref. */
  name: string
}

const nameOf = (ref: string): string =>
  ref.startsWith('refs/heads/') ? `branch ${ref.slice('refs/heads/'.length)}` : ref === 'refs/stash' ? 'stash' : ref

const branchFiles = async (gitDir: string, folder: string): Promise<Tip[]> => {
  const entries = await readdir(join(gitDir, folder), { withFileTypes: true }).catch(() => [])
  const below = entries.map(async (entry) => {
    const ref = `${folder}/${entry.name}`
    return entry.isDirectory()
      ? branchFiles(gitDir, ref)
      : [{ commit: (await readPlain(join(gitDir, ref))).trim(), name: nameOf(ref) }]
  })
  return (await Promise.all(below)).flat()
}

/** Those whose commit the shadow lacks: the others are the owner's, as the clone got them. */
const ofAgent = async (shadow: Shadow, tips: readonly Tip[]): Promise<Tip[]> => {
  const named = tips.filter(({ commit }) => isObject(commit))
  if (named.length === 0) return []
  const input = named.map(({ commit }) => `${commit}\n`).join('')
  const { stdout } = await git(['cat-file', '--batch-check=%(objectname)'], { ...inShadow(shadow), input })
  const missing = new Set(stdout.split('\n').flatMap((line) => (line.endsWith(' missing') ? [line.split(' ')[0]] : [])))
  return named.filter(({ commit }) => missing.has(commit))
}

const packedTips = async (gitDir: string): Promise<Tip[]> =>
  (await readPlain(join(gitDir, 'packed-refs')))
    .split('\n')
    .map((line) => line.split(' '))
    .map(([commit = '', ref = '']) => ({ commit, name: nameOf(ref) }))

const logLines = async (gitDir: string, ...ref: string[]): Promise<string[]> =>
  (await readPlain(join(gitDir, 'logs', ...ref))).split('\n').filter((line) => line !== '')

/** Stashes below the newest, which only the log of their ref names. */
const olderStashes = async (gitDir: string): Promise<Tip[]> => {
  const commits = (await logLines(gitDir, 'refs', 'stash')).map((line) => line.split(' ')[1] ?? '')
  return commits.toReversed().flatMap((commit, at) => (at === 0 ? [] : [{ commit, name: `stash@{${at}}` }]))
}

/** Commits that HEAD had without a branch when it went elsewhere; only the log of HEAD names them. */
const detachedTips = async (gitDir: string): Promise<Tip[]> =>
  (await logLines(gitDir, 'HEAD'))
    .filter((line) => /\tcheckout: moving from [0-9a-f]{40,64} to /.test(line))
    .map((line) => ({ commit: line.split(' ')[0] ?? '', name: 'a commit without a branch' }))

/** Tips named by the agent's HEAD, branches, stashes and packed refs, and those that a log alone names, parsed as text. */
const tipsOf = async (shadow: Shadow, gitDir: string): Promise<Tip[]> => {
  const loose = [
    { commit: (await readPlain(join(gitDir, 'HEAD'))).trim(), name: 'HEAD' },
    ...(await branchFiles(gitDir, 'refs/heads')),
    { commit: (await readPlain(join(gitDir, 'refs', 'stash'))).trim(), name: 'stash' },
    ...(await olderStashes(gitDir)),
  ].filter(({ commit }) => isObject(commit))
  const all = [...loose, ...(await ofAgent(shadow, [...(await packedTips(gitDir)), ...(await detachedTips(gitDir))]))]
  return [...new Map(all.toReversed().map((tip) => [tip.commit, tip])).values()].toReversed().slice(0, 20)
}

/** Copies the agent's own commits to `refs/unstuck/agent/<run id>/<n>`. Best effort: a failure is the value `reason`. */
export const keepAgentCommits = async (
  shadow: Shadow,
  request: { workspace: string; runId: string; base: string },
): Promise<KeptCommits> => {
  const gitDir = join(request.workspace, '.git')
  const kept: KeptCommits['kept'] = []
  try {
    const found = await lstat(join(gitDir, 'objects')).catch(() => undefined)
    if (!(await lstat(gitDir)).isDirectory() || found?.isDirectory() !== true)
      return { kept, reason: '.git is not a folder of objects' }
    const tips = (await tipsOf(shadow, gitDir)).filter(({ commit }) => commit !== request.base)
    for (const { commit: tip, name } of tips) {
      await copyHistory(shadow, { tip, base: request.base, objects: join(gitDir, 'objects') })
      const ref = refName(`refs/unstuck/agent/${request.runId}/${kept.length + 1}`)
      await git(['update-ref', ref, tip], inShadow(shadow))
      kept.push({ ref, commit: tip, name })
    }
    return { kept, reason: null }
  } catch (error) {
    return { kept, reason: messageOf(error) } // the files themselves are in the snapshot; the run goes on
  }
}

const copyHistory = async (shadow: Shadow, from: { tip: string; base: string; objects: string }): Promise<void> => {
  const reachable = {
    ...inShadow(shadow),
    timeoutMs: 60_000,
    variables: { GIT_ALTERNATE_OBJECT_DIRECTORIES: alternatePath(from.objects) },
  }
  if ((await gitLine(['cat-file', '-t', from.tip], reachable)) !== 'commit')
    throw new Error(`${from.tip} is not a commit`)
  const target = join(shadow.gitDir, 'objects', 'pack', 'pack')
  const input = `${from.tip}\n^${objectName(from.base)}\n`
  const args = ['pack-objects', '--quiet', '--revs', '--end-of-options', target]
  await git(args, { ...reachable, input })
}
