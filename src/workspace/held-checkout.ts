/**
 * Copies of what an agent could change in the owner's checkout and git does not keep: edited files, hooks and `.git/config`. A copy has the
 * digest of its content in its name, so a copy that another program changed is found, and no later copy replaces it.
 */
import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { contentDigest, readContent, type CheckoutState } from './checkout-state.ts'
import { fieldsOf, git } from './git.ts'
import { inRepository } from './refs.ts'
import type { Repository } from './repository-types.ts'

const copyName = (part: 'file' | 'hook', name: string, digest: string): string =>
  `${part}-${createHash('sha256').update(`${name}\0${digest}`).digest('hex').slice(0, 32)}`

const configPrefix = 'config-'

/** What cannot be copied (no room, no permission) is not held, and never fails a run. */
const write = (path: string, bytes: Uint8Array): Promise<void> =>
  writeFile(path, bytes, { mode: 0o600, flag: 'wx' }).catch(() => undefined)

const copy = async (folder: string, from: string, of: { part: 'file' | 'hook'; name: string; digest: string }) => {
  const { digest, bytes } = await readContent(from).catch(() => ({ digest: '', bytes: null }))
  // It changed after its digest was read: then neither content is what was recorded.
  if (bytes !== null && digest === of.digest) await write(join(folder, copyName(of.part, of.name, digest)), bytes)
}

/** Copies the recorded state into the folder. */
export const holdCheckout = async (repository: Repository, state: CheckoutState, folder: string): Promise<void> => {
  const { commonDir, root } = repository
  if (commonDir === null || repository.url !== undefined) return
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined)
  const { bytes } = await readContent(join(commonDir, 'config')).catch(() => ({ bytes: null }))
  if (bytes !== null) await write(join(folder, `${configPrefix}${contentDigest(bytes)}`), bytes)
  for (const [name, digest] of Object.entries(state.hook))
    await copy(folder, join(commonDir, 'hooks', name), { part: 'hook', name, digest })
  for (const [name, digest] of Object.entries(state.file))
    await copy(folder, join(root, name), { part: 'file', name, digest })
}

/** Keeps the copies of a run in another folder, beside those that are there. */
export const keepHeld = async (from: string, to: string): Promise<void> => {
  await mkdir(to, { recursive: true, mode: 0o700 })
  // Nothing was held where the run began with an earlier version.
  await cp(from, to, { recursive: true, force: false }).catch(() => undefined)
}

/** The content with this digest, and its mode; undefined = it is not held. */
export const heldContent = async (
  folder: string,
  { part, name, digest }: { part: 'file' | 'hook'; name: string; digest: string },
): Promise<{ bytes: Uint8Array; mode: number } | undefined> => {
  const [mode = '', expected] = digest.split(' ')
  const found = await readContent(join(folder, copyName(part, name, digest))).catch(() => undefined)
  if (found === undefined || found.bytes === null || contentDigest(found.bytes) !== expected) return undefined
  return { bytes: found.bytes, mode: Number.parseInt(mode, 8) }
}

/** The held configuration files. */
export const heldConfigs = async (folder: string): Promise<{ path: string; bytes: Uint8Array }[]> => {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith(configPrefix))
  const found = await Promise.all(
    names.map(async (name) => {
      const { bytes } = await readContent(join(folder, name)).catch(() => ({ bytes: null }))
      return bytes !== null && contentDigest(bytes) === name.slice(configPrefix.length)
        ? [{ path: join(folder, name), bytes }]
        : []
    }),
  )
  return found.flat()
}

/** The values of these keys of `.git/config` now, for people. */
export const readConfigValues = async (
  repository: Repository,
  keys: readonly string[],
): Promise<Record<string, string[]>> => {
  if (keys.length === 0 || repository.commonDir === null) return {}
  const args = ['config', '--file', join(repository.commonDir, 'config'), '--no-includes', '--list', '-z']
  const values: Record<string, string[]> = {}
  for (const line of fieldsOf((await git(args, inRepository(repository))).stdout)) {
    const [key = '', ...value] = line.split('\n')
    if (keys.includes(key)) values[key] = [...(values[key] ?? []), value.join('\n')]
  }
  return values
}
