/**
 * Puts changes in the owner's checkout back, on the owner's word. Everything is compared first: what is not as it was reported is left, with
 * everything else. What is replaced is copied aside first, so that nothing is lost.
 */
import { lstat, mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import type { CheckoutChange } from '../domain/checkout-change.ts'
import { readCheckout, readConfig, type CheckoutState } from './checkout-state.ts'
import { fieldsOf, git, gitInCheckout, objectName, refName } from './git.ts'
import { heldConfigs, heldContent, holdCheckout } from './held-checkout.ts'
import { inRepository, readRefs, type Refs } from './refs.ts'
import type { Repository } from './repository-types.ts'

export interface RestoreRequest {
  changes: readonly CheckoutChange[]
  /** Copies of the state before. */
  held: string
  /** Where copies of what is replaced go. */
  aside: string
}

/** `changed`: why nothing was put back. `left`: what stays as it is. */
export type RestoreResult = { ok: true; left: string[] } | { ok: false; changed: string[] }

interface Now {
  refs: Refs
  checkout: CheckoutState
}

type Side = 'before' | 'after'

const nowOf = ({ refs, checkout }: Now, { part, name }: CheckoutChange): string | null =>
  (part === 'ref' ? refs[name] : checkout[part][name]) ?? null

/** Mode and object of a path in the index or in a commit. */
const isEntry = (text: string | null): boolean => text === null || /^\d{6}[0-9a-f]{40,64}$/.test(text)

const whyChanged = (now: Now, change: CheckoutChange): string | undefined => {
  const { part, name, before, after } = change
  if (part !== 'ref' && now.checkout.notes[part] !== undefined) return `${part} ${name}: ${now.checkout.notes[part]}`
  if (part === 'index' && !(isEntry(before) && isEntry(after))) return `index ${name}: it is part of a conflict`
  const found = nowOf(now, change)
  // What is put back already was put back before a crash.
  return found === after || found === before
    ? undefined
    : `${part === 'ref' ? name : `${part} ${name}`} has changed since`
}

/** The commit that is checked out before or after the changes; null = none yet. */
const headOf = ({ refs }: Now, changes: readonly CheckoutChange[], side: Side): string | null => {
  const valueOf = (name: string): string | null => {
    const change = changes.find((each) => each.part === 'ref' && each.name === name)
    return change === undefined ? (refs[name] ?? null) : change[side]
  }
  const head = valueOf('HEAD')
  return head?.startsWith('ref: ') === true ? valueOf(head.slice('ref: '.length)) : head
}

type Entries = Map<string, Record<Side, string | null>>

const entryOf = (mode: string, object: string): string | null => (/^0+$/.test(mode) ? null : `${mode}${object}`)

/** What the changed commit of HEAD made of the index. */
const movedEntries = async (repository: Repository, before: string | null, after: string | null): Promise<Entries> => {
  const entries: Entries = new Map()
  if (before === null || after === null || before === after) return entries
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--raw', objectName(before), objectName(after)]
  const fields = fieldsOf((await git(args, inRepository(repository))).stdout)
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode = '', newMode = '', oldObject = '', newObject = ''] = (fields[at] ?? '').slice(1).split(' ')
    entries.set(fields[at + 1] ?? '', { before: entryOf(oldMode, oldObject), after: entryOf(newMode, newObject) })
  }
  return entries
}

const readIndex = async (repository: Repository): Promise<Map<string, string>> => {
  const { stdout } = await git(['ls-files', '--stage', '-z'], inRepository(repository))
  return new Map(
    fieldsOf(stdout).map((line) => {
      const [meta = '', path = ''] = line.split('\t')
      const [mode = '', object = ''] = meta.split(' ')
      return [path, `${mode}${object}`]
    }),
  )
}

const entryIn = async (repository: Repository, commit: string | null, path: string): Promise<string | null> => {
  if (commit === null) return null
  const { stdout } = await git(['ls-tree', '-z', objectName(commit), '--', path], inRepository(repository))
  const [mode = '', , object = ''] = stdout.split('\t')[0]?.split(' ') ?? []
  return object === '' ? null : `${mode}${object}`
}

/** The index entries to write. One that is not as the changed commit made it was staged by somebody, and stays. */
const indexPlan = async (
  repository: Repository,
  changes: readonly CheckoutChange[],
  heads: Record<Side, string | null>,
): Promise<Map<string, string | null>> => {
  const plan = new Map<string, string | null>()
  const index = await readIndex(repository)
  for (const [path, { before, after }] of await movedEntries(repository, heads.before, heads.after))
    if ((index.get(path) ?? null) === after) plan.set(path, before)
  for (const { part, name, before } of changes)
    if (part === 'index') plan.set(name, before ?? (await entryIn(repository, heads.before, name)))
  return plan
}

const writeIndex = async (repository: Repository, plan: ReadonlyMap<string, string | null>): Promise<void> => {
  if (plan.size === 0) return
  const none = `0 ${'0'.repeat(40)}`
  const lines = [...plan].map(([path, entry]) => {
    const text = entry === null ? none : `${entry.slice(0, 6)} ${entry.slice(6)}`
    return `${text}\t${path}\0`
  })
  await git(['update-index', '-z', '--index-info'], { ...inRepository(repository), input: lines.join('') })
}

const swapRefs = async (repository: Repository, now: Now, changes: readonly CheckoutChange[]): Promise<void> => {
  const moved = changes.filter((change) => change.part === 'ref' && nowOf(now, change) !== change.before)
  const lines = moved
    .filter(({ name }) => name !== 'HEAD')
    .map(({ name, before, after }) => {
      const ref = refName(name)
      if (before === null) return `delete ${ref} ${objectName(after ?? '')}`
      return after === null
        ? `create ${ref} ${objectName(before)}`
        : `update ${ref} ${objectName(before)} ${objectName(after)}`
    })
  const place = { ...inRepository(repository), input: `${lines.join('\n')}\n` }
  // All of them or none: git compares each with what was reported.
  if (lines.length > 0) await git(['update-ref', '-m', 'unstuck: put back', '--stdin'], place)
  const head = moved.find(({ name }) => name === 'HEAD')?.before
  if (head == null) return
  const args = head.startsWith('ref: ')
    ? ['symbolic-ref', '-m', 'unstuck: put back', 'HEAD', refName(head.slice('ref: '.length))]
    : ['update-ref', '-m', 'unstuck: put back', '--no-deref', 'HEAD', objectName(head)]
  await git(args, inRepository(repository))
}

/** Where the nearest folder that exists really is. */
const nearestFolder = async (folder: string): Promise<string> =>
  realpath(folder).catch(() => nearestFolder(dirname(folder)))

/** Makes the file's folder where it is really below the checkout. False = a link on the way leads out of it, and nothing was made. */
const makeInside = async (root: string, path: string): Promise<boolean> => {
  const [top, nearest] = await Promise.all([realpath(root), nearestFolder(dirname(path))])
  if (nearest !== top && !nearest.startsWith(`${top}${sep}`)) return false
  await mkdir(dirname(path), { recursive: true })
  return true
}

/** In one step, and never through a link at this place. */
const replaceFile = async (path: string, bytes: Uint8Array, mode: number): Promise<void> => {
  const made = `${path}.unstuck-${process.pid}`
  await rm(made, { force: true })
  await writeFile(made, bytes, { mode, flag: 'wx' })
  await rename(made, path)
}

const restoreHeld = async (
  path: string,
  { part, name, before }: CheckoutChange,
  { root, held }: { root: string; held: string },
): Promise<string[]> => {
  if (!(await makeInside(root, path))) return [`${name}: a link leads out of its folder`]
  if (before === 'none' || before === null) {
    await rm(path, { force: true })
    return []
  }
  const content = await heldContent(held, { part: part === 'hook' ? 'hook' : 'file', name, digest: before })
  if (content === undefined) return [`${name}: no copy of it is held`]
  await replaceFile(path, content.bytes, content.mode)
  return []
}

/** Files of the working tree. Of those that a changed commit brought, only what nobody edited since. */
const restoreFiles = async (
  repository: Repository,
  now: Now,
  { changes, held }: RestoreRequest,
  plan: ReadonlyMap<string, string | null>,
): Promise<string[]> => {
  const { root } = repository
  const files = changes.filter(({ part }) => part === 'file')
  const index = await readIndex(repository)
  const fromIndex: string[] = []
  const left: string[] = []
  for (const path of plan.keys()) {
    if (files.some(({ name }) => name === path) || now.checkout.file[path] !== undefined) continue
    if (index.has(path)) fromIndex.push(path)
    // It may have been an untracked file of the owner.
    else left.push(`${path}: it stays as an untracked file`)
  }
  for (const change of files) {
    if (change.before !== null) left.push(...(await restoreHeld(join(root, change.name), change, { root, held })))
    else if (index.has(change.name)) fromIndex.push(change.name)
  }
  if (fromIndex.length > 0)
    await gitInCheckout(['checkout-index', '--force', '--index', '-z', '--stdin'], {
      ...inRepository(repository),
      input: `${fromIndex.join('\0')}\0`,
    })
  return left
}

/** The held file that has the values before of the changed keys, and otherwise those of now. */
const configBefore = async (
  repository: Repository,
  now: Now,
  { changes, held }: RestoreRequest,
): Promise<Uint8Array | null | undefined> => {
  const keys = changes.filter(({ part }) => part === 'config')
  if (keys.every((change) => nowOf(now, change) === change.before)) return null
  const wanted = new Map<string, string | null>(Object.entries(now.checkout.config))
  for (const { name, before } of keys) wanted.set(name, before)
  const expected = [...wanted].filter(([, value]) => value !== null)
  for (const { path, bytes } of await heldConfigs(held)) {
    const values = await readConfig(repository, path)
    if (Object.keys(values).length === expected.length && expected.every(([key, value]) => values[key] === value))
      return bytes
  }
  return undefined
}

/** By the lock that git itself takes. */
const writeConfig = async (commonDir: string, bytes: Uint8Array): Promise<void> => {
  const path = join(commonDir, 'config')
  const { mode } = await lstat(path)
  await writeFile(`${path}.lock`, bytes, { mode: mode & 0o777, flag: 'wx' })
  await rename(`${path}.lock`, path)
}

export const restoreCheckout = async (repository: Repository, request: RestoreRequest): Promise<RestoreResult> => {
  const { commonDir } = repository
  const [refs, checkout] = await Promise.all([readRefs(repository), readCheckout(repository)])
  const { changes } = request
  const now = { refs, checkout }
  const changed = changes.flatMap((change) => whyChanged(now, change) ?? [])
  const config = await configBefore(repository, now, request)
  if (config === undefined) changed.push('.git/config: other keys of it have changed since, or no copy of it is held')
  if (changed.length > 0 || commonDir === null) return { ok: false, changed }
  const heads = { before: headOf(now, changes, 'before'), after: headOf(now, changes, 'after') }
  const plan = await indexPlan(repository, changes, heads)
  // Also the files that git does not list as edited, because the changed commit has them as they are.
  await holdCheckout(repository, checkout, request.aside)
  await swapRefs(repository, now, changes)
  await writeIndex(repository, plan)
  const left = await restoreFiles(repository, now, request, plan)
  const hooks = join(commonDir, 'hooks')
  for (const change of changes.filter(({ part }) => part === 'hook'))
    left.push(...(await restoreHeld(join(hooks, change.name), change, { root: hooks, held: request.held })))
  if (config != null) await writeConfig(commonDir, config)
  return { ok: true, left }
}
