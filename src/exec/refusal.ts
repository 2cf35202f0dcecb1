/** Decides whether a command did its work although something was refused. Its status does not show that: every agent CLI exits with 0. */
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

/** A larger folder is not searched; it counts as changed, and the agent's own status is kept. */
const mostEntries = 50_000

/** Git rewrites its index even for commands that only read, so it proves no work. */
const isIndex = (path: string): boolean => /\/\.git(?:\/index(?:\.lock)?)?$/.test(path)

/** The mode of a folder may have been changed by us, so for a folder only a change of its entries counts. */
const changeTime = (found: Stats): number => (found.isDirectory() ? found.mtimeMs : found.ctimeMs)

/** Whether any file below a folder changed since then; undefined = there are too many files. */
const anyChanged = (root: string, since: number): boolean | undefined => {
  const open = [root]
  for (let visited = 0; open.length > 0 && visited < mostEntries; visited += 1) {
    const path = open.pop() ?? root
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) continue
    if (changeTime(found) >= since && !isIndex(path)) return true
    if (!found.isDirectory()) continue
    try {
      open.push(...readdirSync(path).map((name) => join(path, name)))
    } catch {
      // An unreadable folder shows no change.
    }
  }
  return open.length > 0 ? undefined : false
}

/** The clock of file systems lags slightly behind. */
const lagMs = 20

/** Whether a file in the folder changed since the launch began; undefined = there are too many files. */
export const anyFileChanged = (cwd: string, startedAt: number): boolean | undefined =>
  anyChanged(cwd, startedAt - lagMs)

/**
 * The refusal because of which the work is not done: a refused write whose file did not change since, or any refusal of the last
 * launch when no file changed at all. `earlier`: refusals of the launches before; a correction may have lifted one, but the agent may not have used it.
 */
export const remainingRefusal = (
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
