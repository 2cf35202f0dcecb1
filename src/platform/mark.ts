/**
 * A mark that a process hands down to all that it starts, and that no cleared environment, new session or second fork takes
 * off: its soft limit of file locks. Linux keeps that number and has looked at it nowhere since 2.4.25, so every value is as
 * good as any other. Who sets the limit again has taken it off; where a control group can be made, one of that name still
 * tells. Linux alone: macOS has no such groups and tells nobody another one's limits.
 */
import { existsSync, realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { groupNames, makeGroup, pidsInGroup, removeGroup } from './group.ts'
import { linux, readOrUndefined } from './proc.ts'
import { startTimeOf, type ProcessIdentity, type ProcessRow } from './process.ts'

const shell = '/bin/sh'

/** More than the highest pid of Linux. */
const pids = 1n << 22n

/** Start time and pid in one number: no two processes of a boot share it. */
export const markOf = ({ pid, startTime }: Pick<ProcessIdentity, 'pid' | 'startTime'>): string =>
  linux ? String(BigInt(startTime) * pids + BigInt(pid)) : ''

const groupOf = (mark: string): string => `unstuck-${mark}`

/** Groups whose owner was killed before it could take them back. One that is not empty stays. */
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

/** dash names the limit by -w, as busybox does; bash and others by -x. Without either the program starts all the same. */
const script = `ulimit -S -w "$0" 2>/dev/null || ulimit -S -x "$0" 2>/dev/null
[ -z "$1" ] || { echo $$ >"$1"; } 2>/dev/null
shift
exec "$@"`

/** Any shell but bash drops variables whose names it could not have given itself. */
const keepsNames = (names: readonly string[]): boolean =>
  names.every((name) => /^[A-Za-z_]\w*$/.test(name)) || basename(realpathSync(shell)) === 'bash'

/** The command line under which a program carries a mark. It keeps its pid; `names` are those of its environment. */
export const marked = (argv: readonly string[], mark: string, names: readonly string[]): string[] =>
  mark !== '' && existsSync(shell) && keepsNames(names)
    ? [shell, '-c', script, mark, groupFor(mark), ...argv]
    : [...argv]

const softLimit = (pid: number): string | undefined =>
  /^Max file locks +(\d+) /m.exec(readOrUndefined(`/proc/${pid}/limits`) ?? '')?.[1]

/** Every live process that carries the mark. None can be older than the process that the mark is named after. */
export const processesMarked = (mark: string, table: readonly ProcessRow[]): number[] => {
  if (mark === '') return []
  const since = BigInt(mark) / pids
  const grouped = pidsInGroup(groupOf(mark))
  return table
    .filter(({ pid, startTime }) => grouped.has(pid) || (BigInt(startTime) >= since && softLimit(pid) === mark))
    .map(({ pid }) => pid)
}

/** Takes back what a mark needs, once nobody carries it. */
export const dropMark = (mark: string): void => {
  if (mark !== '') removeGroup(groupOf(mark))
}
