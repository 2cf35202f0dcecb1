/**
 * A mark that a process hands down to all that it starts, and that no cleared environment, new session or second fork takes
 * off: its soft limit of file locks. Linux keeps that number and has looked at it nowhere since 2.4.25, so every value is as
 * good as any other. Who sets the limit again has taken the mark off. Linux alone: macOS tells nobody another one's limits.
 */
import { existsSync, realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { linux, readOrUndefined } from './proc.ts'
import type { ProcessIdentity, ProcessRow } from './process.ts'

const shell = '/bin/sh'

/** More than the highest pid of Linux. */
const pids = 1n << 22n

/** Start time and pid in one number: no two processes of a boot share it. */
export const markOf = ({ pid, startTime }: Pick<ProcessIdentity, 'pid' | 'startTime'>): string =>
  linux ? String(BigInt(startTime) * pids + BigInt(pid)) : ''

/** dash names the limit by -w, as busybox does; bash and others by -x. Without it the program starts all the same. */
const script = 'ulimit -S -w "$0" 2>/dev/null || ulimit -S -x "$0" 2>/dev/null; exec "$@"'

/** Any shell but bash drops variables whose names it could not have given itself. */
const keepsNames = (names: readonly string[]): boolean =>
  names.every((name) => /^[A-Za-z_]\w*$/.test(name)) || basename(realpathSync(shell)) === 'bash'

/** The command line under which a program carries a mark. It keeps its pid; `names` are those of its environment. */
export const marked = (argv: readonly string[], mark: string, names: readonly string[]): string[] =>
  mark !== '' && existsSync(shell) && keepsNames(names) ? [shell, '-c', script, mark, ...argv] : [...argv]

const softLimit = (pid: number): string | undefined =>
  /^Max file locks +(\d+) /m.exec(readOrUndefined(`/proc/${pid}/limits`) ?? '')?.[1]

/** Every live process that carries the mark. None can be older than the process that the mark is named after. */
export const processesMarked = (mark: string, table: readonly ProcessRow[]): number[] => {
  if (mark === '') return []
  const since = BigInt(mark) / pids
  return table
    .filter(({ pid, startTime }) => BigInt(startTime) >= since && softLimit(pid) === mark)
    .map(({ pid }) => pid)
}
