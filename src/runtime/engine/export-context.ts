/**
 * A job of the leader: writes what is known about its machine, and what failed there lately, into `.unstuck/context/` of the owner's checkout.
 * Each file is replaced in one step, and never read back.
 */
import { dirname, join } from 'node:path'
import { contextExports } from '../../domain/export-folder.ts'
import { messageOf } from '../../errors.ts'
import { stableUpTo } from '../../store/event.ts'
import { listLiveGoals } from '../../store/goal.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { machineNews } from '../../store/machine-failure.ts'
import { failureDelta } from '../agent/failure-delta.ts'
import { hostContext } from '../agent/host-snapshot.ts'
import type { Context } from '../core/context.ts'
import { readIfFile } from '../core/files.ts'
import { ignoreAllIn, isOwnPlace, replaceFile } from '../core/owner-export.ts'
import { endsPass } from '../core/pass.ts'

/** The files contain what checks printed, so only the owner may read them. */
const fileMode = 0o600

const everyMs = 10_000
/** Without news only time changes what is known: failures are forgotten after a day, tools are updated, a file is damaged. */
const anewEveryMs = 600_000

type Exports = readonly (readonly [name: string, value: object | undefined])[]

/** Undefined values have no file: one that says nothing would only look like news. */
const write = async (context: Context, exports: Exports): Promise<void> => {
  const { db, environment, ports, repository } = context
  const { files, processes } = ports
  const folder = join(repository.root, contextExports.folder)
  if (![dirname(folder), folder].every((path) => isOwnPlace(files, path)))
    throw new Error('a folder on the way is a link to another place; remove it')
  const changed = exports.flatMap(([name, value]) => {
    const path = join(folder, name)
    const text =
      value === undefined ? undefined : `${processes.redactText(JSON.stringify(value, null, 2), environment)}\n`
    const isSame = isOwnPlace(files, path) && readIfFile(files, path) === text
    return isSame ? [] : [{ path, text }]
  })
  // A repository that was moved away must not be made again: its owner could not move it back.
  if (changed.length === 0 || !files.existsSync(repository.root)) return
  // An engine that was suspended must not replace the files of the next leader by older ones.
  await confirmLeadership(db)
  files.mkdirSync(folder, { recursive: true })
  ignoreAllIn(files, folder)
  for (const { path, text } of changed)
    if (text === undefined) files.rmSync(path, { force: true })
    else replaceFile(files, path, text, fileMode)
}

/** An engine without work leaves the checkout as it is. */
const isNeeded = async ({ db, ports: { files }, repository: { root } }: Context): Promise<boolean> =>
  files.existsSync(join(root, contextExports.folder)) || (await listLiveGoals(db)).length > 0

const exportAll = async (context: Context): Promise<void> => {
  const { snapshot } = await hostContext(context)
  const delta = await failureDelta(context)
  await write(context, [
    ['agent-profile.json', snapshot],
    ['context-delta.json', delta],
  ])
}

/** Nothing is written for a repository by URL, which has no checkout, and for a plain folder, where git does not exclude the files. */
export const createContextExportJob = (): ((context: Context) => Promise<void>) => {
  let dueAt = Number.NEGATIVE_INFINITY
  let anewAt = Number.NEGATIVE_INFINITY
  let seen = 0
  let reported: string | undefined
  return async (context) => {
    const { clock, log, repository } = context
    if (repository.url !== undefined || repository.commonDir === null || clock.elapsed() < dueAt) return
    dueAt = clock.elapsed() + everyMs
    try {
      if (!(await isNeeded(context))) return
      const upTo = await stableUpTo(context.db, seen)
      if (clock.elapsed() >= anewAt || (await machineNews(context.db, { after: seen, upTo }))) {
        await exportAll(context)
        anewAt = clock.elapsed() + anewEveryMs
      }
      // Only now: what could not be written is tried again the next time.
      seen = upTo
    } catch (error) {
      if (endsPass(context, error)) throw error
      const trouble = messageOf(error)
      if (trouble !== reported)
        log.warn({ error: trouble }, `the facts about this machine could not be written to ${contextExports.folder}`)
      reported = trouble
    }
  }
}
