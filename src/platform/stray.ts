/** Finds orphaned processes that work in a folder. Linux only. */
import { readdirSync, readlinkSync } from 'node:fs'
import { isLinux, readOrUndefined } from './proc.ts'
import { processTable, type ProcessRow } from './process.ts'

export interface StrayQuery {
  folder: string
  /** The variable that names a launch: a process that has it belongs to that launch. */
  name: string
  /** A start time; absent = open files are not inspected. */
  since?: string | undefined
}

const linkOf = (path: string): string | undefined => {
  try {
    // The kernel appends this suffix to the name of a removed file.
    return readlinkSync(path).replace(/ \(deleted\)$/, '')
  } catch {
    return undefined // ended or closed meanwhile, or another user's
  }
}

const isIn = (folder: string, path: string | undefined): boolean =>
  path !== undefined && (path === folder || path.startsWith(`${folder}/`))

const openFilesOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((number) => linkOf(`/proc/${pid}/fd/${number}`) ?? [])
  } catch {
    return [] // ended meanwhile, or another user's
  }
}

const hasTerminal = (pid: number): boolean => {
  const text = readOrUndefined(`/proc/${pid}/stat`) ?? ''
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[4] !== '0'
}

const hasVariable = (pid: number, name: string): boolean =>
  (readOrUndefined(`/proc/${pid}/environ`) ?? '').split('\0').some((entry) => entry.startsWith(`${name}=`))

type Rows = ReadonlyMap<number, ProcessRow>

/** Whether an ancestor in the same session works outside. The session's leader may have ended long ago, as after `nohup`. */
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
 * Processes that have a file of the folder open and can only be orphans of a launch: they started after it, are in our control group,
 * and were adopted by an ancestor of ours. Other programs open such files too (indexers, backups, an editor's language server),
 * but a service has a control group of its own, and a cron job has its parent.
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
 * Pids of orphans that work in a folder or below it, or have a file there open: the environment names no launch, there is no
 * terminal, and the session began in the folder or has lost its leader and every ancestor outside. So the engine's own commands,
 * other launches in the same folder and a person's shell are excluded.
 */
export const strayProcessesIn = (query: StrayQuery, table = processTable()): number[] => {
  if (!isLinux) return []
  const rows = new Map(table.map((row) => [row.pid, row]))
  const working = table.filter(({ pid }) => isIn(query.folder, linkOf(`/proc/${pid}/cwd`)))
  const inside = new Set([...working, ...holdsOpen(query, table, rows)])
  const ids = new Set([...inside].map(({ pid }) => pid))
  return [...inside]
    .filter((row) => ids.has(row.session) || (!rows.has(row.session) && !isKept(row, ids, rows)))
    .filter(({ pid }) => !hasTerminal(pid) && !hasVariable(pid, query.name))
    .map(({ pid }) => pid)
}
