/**
 * A mark that child processes inherit, even with a cleared environment, a new session or a double fork: the soft limit of file
 * locks. Linux stores that number but has not used it since 2.4.25, so any value is safe. A process that sets the limit itself
 * loses the mark; where a control group can be created, a group of the same name still finds it. Linux only: macOS has no such
 * groups and does not show the limits of other processes.
 */
import { existsSync, realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { groupNames, makeGroup, pidsInGroup, removeGroup } from './group.ts'
import { isLinux, readOrUndefined } from './proc.ts'
import { startTimeOf, type ProcessIdentity, type ProcessRow } from './process.ts'

const shell = '/bin/sh'

/** More than the highest pid of Linux. */
const pids = 1n << 22n

/** Start time and pid as one number, unique among all processes of a boot. */
export const markOf = ({ pid, startTime }: Pick<ProcessIdentity, 'pid' | 'startTime'>): string =>
  isLinux ? String(BigInt(startTime) * pids + BigInt(pid)) : ''

const groupOf = (mark: string): string => `unstuck-${mark}`

/** Removes groups whose owner was killed before it could. A group with processes stays. */
const dropOrphaned = (): void => {
  for (const name of groupNames()) {
    const mark = /^unstuck-(\d+)$/.exec(name)?.[1]
    if (mark === undefined) continue
    const owner = { pid: Number(BigInt(mark) % pids), startTime: String(BigInt(mark) / pids) }
    if (startTimeOf(owner.pid) !== owner.startTime) removeGroup(name)
  }
}

const groupFor = (mark: string): string => {
  dropOrphaned()
  return makeGroup(groupOf(mark)) ?? ''
}

/** dash and busybox name the limit -w, bash and others -x. If neither works, the program starts without the mark. */
const script = `ulimit -S -w "$0" 2>/dev/null || ulimit -S -x "$0" 2>/dev/null
[ -z "$1" ] || { echo $$ >"$1"; } 2>/dev/null
shift
exec "$@"`

/** Every shell but bash drops variables whose names are not valid in a shell, so such an environment needs bash. */
const keepsNames = (names: readonly string[]): boolean =>
  names.every((name) => /^[A-Za-z_]\w*$/.test(name)) || basename(realpathSync(shell)) === 'bash'

/** The command line that starts a program with the mark. The pid stays the same; `names` are the names of its environment. */
export const commandWithMark = (argv: readonly string[], mark: string, names: readonly string[]): string[] =>
  mark !== '' && existsSync(shell) && keepsNames(names)
    ? [shell, '-c', script, mark, groupFor(mark), ...argv]
    : [...argv]

const softLimit = (pid: number): string | undefined =>
  /^Max file locks +(\d+) /m.exec(readOrUndefined(`/proc/${pid}/limits`) ?? '')?.[1]

/** The mark that a process has inherited; a limit that somebody set by hand is too small to name a moment after the start of the machine. */
export const markInLimits = (pid: number): string | undefined => {
  const limit = softLimit(pid)
  return limit !== undefined && BigInt(limit) >= pids ? limit : undefined
}

export const markInGroup = (pid: number): string | undefined =>
  /\/unstuck-(\d+)(?:\/|$)/m.exec(readOrUndefined(`/proc/${pid}/cgroup`) ?? '')?.[1]

/** Live processes with the mark. Older processes than the mark's owner are excluded: they have the number by chance. */
export const processesWithMark = (mark: string, table: readonly ProcessRow[]): number[] => {
  if (mark === '') return []
  const since = BigInt(mark) / pids
  const grouped = pidsInGroup(groupOf(mark))
  return table
    .filter(({ pid, startTime }) => grouped.has(pid) || (BigInt(startTime) >= since && softLimit(pid) === mark))
    .map(({ pid }) => pid)
}

/** Releases the mark's group, once no process carries the mark. */
export const releaseMark = (mark: string): void => {
  if (mark !== '') removeGroup(groupOf(mark))
}
