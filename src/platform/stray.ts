/** Processes without an owner that are at work in a folder. Linux alone. */
import { readdirSync, readlinkSync } from 'node:fs'
import { linux, readOrUndefined } from './proc.ts'
import { processTable, type ProcessRow } from './process.ts'

export interface StrayQuery {
  folder: string
  /** The variable that names a launch: what has one belongs to that. */
  name: string
  /** A start time; absent = open files are not looked at. */
  since?: string | undefined
}

const linkOf = (path: string): string | undefined => {
  try {
    // The kernel adds this to the name of a file that was removed meanwhile.
    return readlinkSync(path).replace(/ \(deleted\)$/, '')
  } catch {
    return undefined // it ended or was closed meanwhile, or is another user's
  }
}

const isIn = (folder: string, path: string | undefined): boolean =>
  path !== undefined && (path === folder || path.startsWith(`${folder}/`))

const openFilesOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((number) => linkOf(`/proc/${pid}/fd/${number}`) ?? [])
  } catch {
    return [] // it ended meanwhile, or is another user's
  }
}

const hasTerminal = (pid: number): boolean => {
  const text = readOrUndefined(`/proc/${pid}/stat`) ?? ''
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[4] !== '0'
}

const hasVariable = (pid: number, name: string): boolean =>
  (readOrUndefined(`/proc/${pid}/environ`) ?? '').split('\0').some((entry) => entry.startsWith(`${name}=`))

type Rows = ReadonlyMap<number, ProcessRow>

/** Whether a parent, or one above it, of the same session works outside: the leader may be long gone, as of a program that `nohup` left. */
const isKept = (row: ProcessRow, inside: ReadonlySet<number>, rows: Rows): boolean => {
  const parent = rows.get(row.parent)
  if (parent === undefined || parent.session !== row.session) return false
  return !inside.has(parent.pid) || isKept(parent, inside, rows)
}

const aboveThis = (rows: Rows): Set<number> => {
  const above = new Set([1])
  for (let row = rows.get(process.pid); row !== undefined && !above.has(row.parent); row = rows.get(row.parent))
    above.add(row.parent)
  return above
}

/**
 * Daemons open other people's files: indexers, backups, a language server of an editor. An orphan of ours began after the launch, in
 * the control group that it began in, and was adopted by somebody above us. A service is in a group of its own, a job
 * of cron has its parent.
 */
const holdsOpen = ({ folder, since }: StrayQuery, table: readonly ProcessRow[], rows: Rows): ProcessRow[] => {
  if (since === undefined) return []
  const above = aboveThis(rows)
  const group = readOrUndefined('/proc/self/cgroup')
  return table.filter(
    ({ pid, parent, startTime }) =>
      BigInt(startTime) >= BigInt(since) &&
      above.has(parent) &&
      pid !== process.pid &&
      readOrUndefined(`/proc/${pid}/cgroup`) === group &&
      openFilesOf(pid).some((path) => isIn(folder, path)),
  )
}

/**
 * Live processes without an owner that work in a folder or below it, or hold a file there open: the environment names no launch,
 * the session began there too or has lost its leader and every parent outside, and there is no terminal. A command of the
 * engine's own, another launch in the same folder and a person's shell are left out.
 */
export const strayProcessesIn = (query: StrayQuery, table = processTable()): number[] => {
  if (!linux) return []
  const rows = new Map(table.map((row) => [row.pid, row]))
  const working = table.filter(({ pid }) => isIn(query.folder, linkOf(`/proc/${pid}/cwd`)))
  const inside = new Set([...working, ...holdsOpen(query, table, rows)])
  const ids = new Set([...inside].map(({ pid }) => pid))
  return [...inside]
    .filter((row) => ids.has(row.session) || (!rows.has(row.session) && !isKept(row, ids, rows)))
    .filter(({ pid }) => !hasTerminal(pid) && !hasVariable(pid, query.name))
    .map(({ pid }) => pid)
}
