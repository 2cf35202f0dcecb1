/**
 * Keeps the files by which others reach this engine as it wrote them: with a damaged address or token, no command could reach it, not even
 * `unstuck stop`. Also reports the files that were moved aside because they were damaged.
 */
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { messageOf } from '../errors.ts'
import { damagedFolder, isDamage, setAside, unreportedSuffix } from '../platform/damaged-file.ts'
import { livenessOf, type ProcessIdentity } from '../platform/process.ts'
import { readRegularTextSync } from '../platform/regular-file.ts'
import type { Context } from '../runtime/core/context.ts'
import { appendEvent } from '../store/event.ts'
import { replaceStateFile } from './state-dir.ts'

const everyMs = 2_000

/** Undefined = it is damaged. */
const textOf = (path: string): string | undefined => {
  try {
    return readRegularTextSync(path)
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

/** Whether the address is that of another engine that lives: this one was suspended, and the other has taken over. */
export const isServedByAnother = (stateDir: string): boolean => {
  try {
    const text = readRegularTextSync(join(stateDir, 'engine.json'))
    const { identity } = JSON.parse(text) as { identity: ProcessIdentity }
    return identity.pid !== process.pid && livenessOf(identity) === 'alive'
  } catch {
    return false
  }
}

/** By name in the state folder. */
type OwnFiles = Readonly<Record<string, string>>

const restore = (stateDir: string, own: OwnFiles): void => {
  if (isServedByAnother(stateDir)) return
  for (const [name, text] of Object.entries(own)) {
    const path = join(stateDir, name)
    const isThere = existsSync(path)
    if (isThere && textOf(path) === text) continue
    if (isThere) setAside(stateDir, path)
    replaceStateFile(stateDir, name, text)
  }
}

/** One event for all that one look finds. */
const report = async ({ db, log, stateDir }: Context): Promise<void> => {
  const folder = damagedFolder(stateDir)
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(unreportedSuffix)) : []
  if (names.length === 0) return
  const kept = names.map((name) => name.slice(0, -unreportedSuffix.length))
  const payload = { files: kept.map((name) => join(relative(stateDir, folder), name)) }
  log.warn(payload, 'damaged files of the state folder were moved aside')
  await appendEvent(db, { type: 'state.file_damaged', payload })
  for (const [index, name] of names.entries()) renameSync(join(folder, name), join(folder, kept[index] ?? name))
}

/** A mount that hangs for a moment is no removal. */
const goneMs = 30_000

const folderNumber = (stateDir: string): bigint | undefined =>
  statSync(stateDir, { bigint: true, throwIfNoEntry: false })?.ino

/**
 * Calls `stop` when the state folder has been missing, or a different folder, for half a minute. The workspaces and the engine's key are
 * in it, so this engine can do nothing more, and it would only get in the way of an engine that starts in the new folder.
 */
export const watchStateFiles = async (context: Context, own: OwnFiles, stop: () => void): Promise<void> => {
  const { clock, log, stateDir, stopping } = context
  const number = folderNumber(stateDir)
  let goneAt: number | undefined
  while (!stopping.aborted) {
    try {
      const isOurs = folderNumber(stateDir) === number
      goneAt = isOurs ? undefined : (goneAt ?? clock.elapsed())
      if (goneAt !== undefined && clock.elapsed() - goneAt >= goneMs) {
        log.error({ stateDir }, 'the state folder was removed, so the engine ends')
        return stop()
      }
      // Where the whole folder was removed, a new one without a store would hide that.
      if (isOurs) {
        restore(stateDir, own)
        await report(context)
      }
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the files of the state folder could not be checked')
    }
    await clock.wait(everyMs, stopping)
  }
}
