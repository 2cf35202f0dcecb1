/** Whether a command that ended with 0 did its work, although something was refused: every agent CLI says 0 then. */
import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { join, resolve } from 'node:path'
import type { UserCommand } from '../harness/user-command.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'

const isWriteOf =
  ({ tools, text: sentence }: UserCommand['writes']) =>
  ({ kind, tool, text }: ObservedDenial): boolean =>
    kind !== 'safety' && (tools.includes(tool) || sentence?.test(text) === true)

const changedSince = (path: string, since: number): boolean => {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.ctimeMs >= since
}

/** More is not looked through: then it counts as changed, and the agent's own status is kept. */
const mostEntries = 50_000

/** Git refreshes its index when the work is only looked at. */
const isIndex = (path: string): boolean => /\/\.git(?:\/index(?:\.lock)?)?$/.test(path)

/** A folder's mode may have been changed by us: its entries count, by its time of change. */
const changeTime = (found: Stats): number => (found.isDirectory() ? found.mtimeMs : found.ctimeMs)

/** Whether any file of a folder was changed since then; undefined = there are too many to look at. */
const anyChanged = (root: string, since: number): boolean | undefined => {
  const open = [root]
  for (let looked = 0; open.length > 0 && looked < mostEntries; looked += 1) {
    const path = open.pop() ?? root
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) continue
    if (changeTime(found) >= since && !isIndex(path)) return true
    if (!found.isDirectory()) continue
    try {
      open.push(...readdirSync(path).map((name) => join(path, name)))
    } catch {
      // A folder that cannot be read shows nothing.
    }
  }
  return open.length > 0 ? undefined : false
}

/** File systems take their times from a clock that lags a little behind. */
const lagMs = 20

/** Whether a file of the folder was changed since that launch began. */
export const changedIn = (cwd: string, startedAt: number): boolean | undefined => anyChanged(cwd, startedAt - lagMs)

/**
 * The refusal for which the work is not done: a write that nothing made up for, or any of the last launch where no file changed.
 * `earlier`: what was refused in the launches before, which a grant may have cured without the agent using it.
 */
export const standingRefusal = (
  { earlier, last }: { earlier: readonly ObservedDenial[]; last: readonly ObservedDenial[] },
  { cwd, startedAt, writes }: { cwd: string; startedAt: number; writes: UserCommand['writes'] },
): ObservedDenial | undefined => {
  const isWrite = isWriteOf(writes)
  const since = startedAt - lagMs
  const isMadeUpFor = (denial: ObservedDenial): boolean =>
    isWrite(denial) && denial.target !== undefined && changedSince(resolve(cwd, denial.target), since)
  const open = [...earlier.filter(isWrite), ...last].filter((denial) => !isMadeUpFor(denial))
  return open.find(isWrite) ?? (open.length === 0 || anyChanged(cwd, since) !== false ? undefined : open[0])
}
