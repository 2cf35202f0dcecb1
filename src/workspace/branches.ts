/**
 * Puts commits onto branches of the user's repository: goal branches, rebase of one commit, publication by compare-and-swap.
 * Objects are written as one pack, without a transport and without hooks. `forward.ts` handles the user's checkout.
 */
import { join } from 'node:path'
import { foldersAbove } from '../domain/folders-above.ts'
import { AppError } from '../errors.ts'
import { changesBetween } from './changes.ts'
import { readCommit, type CommitFields } from './commit.ts'
import type { Integration, MergedTree, Repository } from './repository-types.ts'
import { fieldsOf, git, gitLine, objectName, refName } from './git.ts'
import { inRepository } from './refs.ts'
import { commonDirOf } from './repository.ts'
import { alternatePath, inShadow } from './shadow.ts'
import type { Shadow } from './shadow.ts'

/** The object that a ref names in the user's repository; null = no such ref. */
export const readRef = async (repository: Repository, ref: string): Promise<string | null> => {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', refName(ref)]
  const found = await git(args, { ...inRepository(repository), okCodes: [0, 1] })
  return found.code === 0 ? (found.stdout.trim().split('\n').at(-1) ?? null) : null
}

/** Sets a ref if it still is `from` (null = absent); `to` null deletes it. False = another process moved it. */
export const swapRef = async (
  place: Repository | string,
  change: { ref: string; from: string | null; to: string | null; why: string },
): Promise<boolean> => {
  const options = typeof place === 'string' ? ({ cwd: place, owner: 'user' } as const) : inRepository(place)
  const known = change.from ?? change.to
  if (known === null) return true
  const from = change.from === null ? '0'.repeat(known.length) : objectName(change.from)
  const ref = refName(change.ref)
  const args = change.to === null ? ['-d', ref, from] : ['-m', change.why, ref, objectName(change.to), from]
  const result = await git(['update-ref', ...args], { ...options, okCodes: [0, 1, 128] })
  if (result.code === 0) return true
  const cwd = options.cwd
  const now = await git(['rev-parse', '--verify', '--quiet', ref], { ...options, okCodes: [0, 1] })
  const moved = now.code === 0 ? now.stdout.trim() !== change.from : change.from !== null
  if (moved) return false
  throw new AppError('GIT_FAILED', `${ref} in ${cwd} could not be set: ${result.stderr.trim().slice(0, 500)}`)
}

/** Git keeps no branch `a/b` beside a branch `a`. */
const refuseClash = async (repository: Repository, name: string): Promise<void> => {
  for (const above of foldersAbove(name)) {
    if ((await readRef(repository, refName(`refs/heads/${above}`))) === null) continue
    throw new AppError(
      'REPOSITORY_STATE',
      `${repository.root} has a branch "${above}", and git cannot make ${name} beside it; rename yours (git branch -m ${above} <another name>) or set git.branchPrefix in .unstuck/config.json to another start of names, then run again`,
    )
  }
}

/** Creates `refs/heads/<name>` at `start`; an existing branch of that name is left unchanged. */
export const ensureGoalBranch = async (
  repository: Repository,
  request: { name: string; start: string },
): Promise<{ ref: string; head: string; created: boolean }> => {
  const ref = refName(`refs/heads/${request.name}`)
  commonDirOf(repository)
  const created = await swapRef(repository, { ref, from: null, to: request.start, why: 'unstuck: goal branch' }).catch(
    async (error: unknown) => {
      await refuseClash(repository, request.name)
      throw error
    },
  )
  if (created) return { ref, head: request.start, created }
  return { ref, head: (await readRef(repository, ref)) ?? request.start, created }
}

/** Three-way merge of trees without rename detection, because a change must not move to a path that is not permitted. */
const mergeTrees = async (
  shadow: Shadow,
  trees: { base: string; ours: string; theirs: string },
): Promise<MergedTree> => {
  const place = { ...inShadow(shadow), variables: { GIT_AUTHOR_DATE: '@0 +0000', GIT_COMMITTER_DATE: '@0 +0000' } }
  // git 2.39 has no option for the merge base, so the trees get commits with exactly one possible merge base.
  const wrap = async (tree: string, parents: string[]): Promise<string> =>
    gitLine(['commit-tree', tree, ...parents], { ...place, input: 'merge\n' })
  const base = await wrap(trees.base, [])
  const ours = await wrap(trees.ours, ['-p', base])
  const theirs = await wrap(trees.theirs, ['-p', base])
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs]
  const config: [string, string][] = [
    ['merge.renames', 'false'],
    ['merge.directoryRenames', 'false'],
  ]
  const result = await git(args, { ...place, config, okCodes: [0, 1] })
  const [tree = '', ...conflicts] = fieldsOf(result.stdout)
  if (result.code !== 0) return { tree, conflicts: [...new Set(conflicts.filter((path) => path !== ''))] }
  return { tree, conflicts: await wandered(shadow, trees, tree) }
}

/** git 2.39 follows renames in spite of the configuration. A change at a path that the commit did not touch is a conflict. */
const wandered = async (
  shadow: Shadow,
  trees: { base: string; ours: string; theirs: string },
  merged: string,
): Promise<string[]> => {
  const wanted = new Set((await changesBetween(shadow, trees.base, trees.theirs)).map(({ path }) => path))
  const made = new Set((await changesBetween(shadow, trees.ours, merged)).map(({ path }) => path))
  const beyond = [...made].filter((path) => !wanted.has(path))
  if (beyond.length === 0) return []
  const lost = [...wanted].filter((path) => !made.has(path))
  return lost.length > 0 ? lost : beyond
}

/** The parts of an author or committer line, with the time as git reads it. */
export const personOf = (line: string): { name: string; email: string; date: string } => {
  const match = /^(.*) <(.*)> (\d+ [+-]\d+)$/.exec(line)
  return {
    name: match?.[1] ?? 'Unstuck',
    email: match?.[2] ?? 'unstuck@localhost.invalid',
    // With "@" git also reads small numbers as seconds.
    date: `@${match?.[3] ?? '0 +0000'}`,
  }
}

interface Pick {
  commit: string
  onto: string
}

const parentOf = ({ parents }: CommitFields, commit: string): string => {
  const [parent] = parents
  if (parent === undefined || parents.length > 1) throw new Error(`${commit} does not have exactly one parent`)
  return parent
}

/** The tree of `onto` with the change of one commit. Where both changed the same lines, conflict markers are left in the file. */
export const mergedTree = async (shadow: Shadow, { commit, onto }: Pick): Promise<MergedTree> => {
  const source = await readCommit(shadow, commit)
  const [base, ours] = [await readCommit(shadow, parentOf(source, commit)), await readCommit(shadow, onto)]
  return mergeTrees(shadow, { base: base.tree, ours: ours.tree, theirs: source.tree })
}

/** The tree of `onto` without the change of one commit that is below it. */
export const revertedTree = async (shadow: Shadow, { commit, onto }: Pick): Promise<MergedTree> => {
  const source = await readCommit(shadow, commit)
  const [theirs, ours] = [await readCommit(shadow, parentOf(source, commit)), await readCommit(shadow, onto)]
  return mergeTrees(shadow, { base: source.tree, ours: ours.tree, theirs: theirs.tree })
}

/** Puts one commit onto `onto`: unchanged if that is its parent, else rebased with the same message, author and dates. */
export const integrate = async (shadow: Shadow, request: Pick): Promise<Integration> => {
  const source = await readCommit(shadow, request.commit)
  if (parentOf(source, request.commit) === objectName(request.onto))
    return { ok: true, commit: request.commit, rebased: false }
  const merged = await mergedTree(shadow, request)
  if (merged.conflicts.length > 0) return { ok: false, conflicts: merged.conflicts }
  const author = personOf(source.author)
  const committer = personOf(source.committer)
  const variables = {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_AUTHOR_DATE: author.date,
    GIT_COMMITTER_NAME: committer.name,
    GIT_COMMITTER_EMAIL: committer.email,
    GIT_COMMITTER_DATE: committer.date,
  }
  const place = { ...inShadow(shadow), input: source.message, variables }
  const commit = await gitLine(['commit-tree', merged.tree, '-p', request.onto], place)
  return { ok: true, commit, rebased: true }
}

const headOf = async (repository: Repository): Promise<string | null> => {
  const args = ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']
  const found = await git(args, { ...inRepository(repository), okCodes: [0, 1, 128] })
  return found.code === 0 ? found.stdout.trim() : null
}

/** Copies every object of `to` that `from` lacks into the user's object store. */
export const copyObjects = async (
  repository: Repository,
  shadow: Shadow,
  range: { from: string | null; to: string },
): Promise<void> => {
  const objects = join(commonDirOf(repository), 'objects')
  const present = range.from ?? (await headOf(repository))
  const input = `${range.to}\n${present === null ? '' : `^${present}\n`}`
  const place = {
    ...inRepository(repository),
    input,
    variables: { GIT_ALTERNATE_OBJECT_DIRECTORIES: alternatePath(join(shadow.gitDir, 'objects')) },
  }
  await git(['pack-objects', '--quiet', '--revs', '--end-of-options', join(objects, 'pack', 'pack')], place)
}

/**
 * Moves a ref of the user's repository from `from` (null = absent) to a commit of the shadow. Repeating it returns `done`.
 * `present`: an ancestor of the new commit that the repository already has; default: `from`.
 */
export const publish = async (
  repository: Repository,
  shadow: Shadow,
  request: { ref: string; from: string | null; to: string; present?: string },
): Promise<'done' | 'moved'> => {
  const { ref, from, present = from } = request
  const to = objectName(request.to)
  const now = await readRef(repository, ref)
  if (now === to) return 'done'
  if (now !== from) return 'moved'
  await copyObjects(repository, shadow, { from: present, to })
  return (await swapRef(repository, { ref, from, to, why: 'unstuck: publish' })) ? 'done' : 'moved'
}

/** Restores a ref that an agent moved (`to` null = it did not exist). */
export const restoreRef = async (
  repository: Repository,
  request: { ref: string; from: string | null; to: string | null },
): Promise<'done' | 'moved'> => {
  const now = await readRef(repository, request.ref)
  if (now === request.to) return 'done'
  return (await swapRef(repository, { ...request, why: 'unstuck: put back' })) ? 'done' : 'moved'
}

/** Whether a commit exists and, with `below`, is an ancestor of that tip but not of `not`. */
export const isCommitOf = async (
  place: Repository | string,
  request: { commit: string; below: string | null; not: string | null },
): Promise<boolean> => {
  const options = typeof place === 'string' ? { cwd: place, gitDir: place } : inRepository(place)
  const commit = objectName(request.commit)
  const found = await git(['cat-file', '-e', `${commit}^{commit}`], { ...options, okCodes: [0, 1, 128] })
  if (found.code !== 0 || request.below === null) return found.code === 0
  const range = [objectName(request.below), ...(request.not === null ? [] : [`^${objectName(request.not)}`])]
  const { stdout } = await git(['rev-list', ...range, '--'], options)
  return stdout.split('\n').includes(commit)
}
