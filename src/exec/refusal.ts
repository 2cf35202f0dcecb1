/** Decides whether a command did its work although something was refused. Its status does not show that: every agent CLI exits with 0. */
import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { basename, join, resolve } from 'node:path'
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

/**
 * What proves work below a git directory: the rest of it (index, logs, notes of tools such as `.git/opencode`) also changes under a
 * command that only reads.
 */
const gitWork = ['HEAD', 'packed-refs', 'refs']

const entriesOf = (path: string): string[] => {
  try {
    const names = readdirSync(path)
    return (basename(path) === '.git' ? names.filter((name) => gitWork.includes(name)) : names).map((name) =>
      join(path, name),
    )
  } catch {
    return [] // An unreadable folder shows no change.
  }
}

/** The mode of a folder may have been changed by us, so for a folder only a change of its entries counts. */
const changeTime = (found: Stats): number => (found.isDirectory() ? found.mtimeMs : found.ctimeMs)

/** Whether any file below these folders changed since then; undefined = there are too many files. */
const anyChanged = (roots: readonly string[], since: number): boolean | undefined => {
  const open = [...roots]
  for (let visited = 0; open.length > 0 && visited < mostEntries; visited += 1) {
    const path = open.pop() ?? ''
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) continue
    if (changeTime(found) >= since && basename(path) !== '.git') return true
    if (found.isDirectory()) open.push(...entriesOf(path))
  }
  return open.length > 0 ? undefined : false
}

/** The clock of file systems lags slightly behind. */
const lagMs = 20

/** Where the command may work: its folder and the directories that the user allowed. */
export interface WorkFolders {
  cwd: string
  allowDirs: readonly string[]
}

/** Whether a file in these folders changed since the launch began; undefined = there are too many files. */
export const anyFileChanged = ({ cwd, allowDirs }: WorkFolders, startedAt: number): boolean | undefined =>
  anyChanged([cwd, ...allowDirs], startedAt - lagMs)

/**
 * The refusal because of which the work is not done: a refused write whose file did not change since, or any refusal of the last
 * launch when no file changed at all. `earlier`: refusals of the launches before; a correction may have lifted one, but the agent may not have used it.
 */
export const remainingRefusal = (
  { earlier, last }: { earlier: readonly ObservedDenial[]; last: readonly ObservedDenial[] },
  { startedAt, writes, ...folders }: WorkFolders & { startedAt: number; writes: UserCommand['writes'] },
): ObservedDenial | undefined => {
  const isWrite = isWriteOf(writes)
  const since = startedAt - lagMs
  const isMadeUpFor = (denial: ObservedDenial): boolean =>
    isWrite(denial) &&
    (denial.target === undefined
      ? // No path is known, so the folder that was given for it must have changed.
        denial.allowedBy !== undefined && anyChanged([denial.allowedBy], since) === true
      : changedSince(resolve(folders.cwd, denial.target), since))
  const open = [...earlier.filter(isWrite), ...last].filter((denial) => !isMadeUpFor(denial))
  return open.find(isWrite) ?? (open.length === 0 || anyFileChanged(folders, startedAt) !== false ? undefined : open[0])
}
