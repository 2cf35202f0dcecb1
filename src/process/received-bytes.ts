/** Bytes that arrived on the TCP connections of processes: the sign that an agent which prints whole items is still being answered. */
import { execFileSync } from 'node:child_process'

const timeoutMs = 2_000
const largest = 4 * 1024 * 1024

/** The sum over the lines of `ss --tcp --info --processes --oneline` that name one of these processes. */
export const receivedIn = (listed: string, pids: ReadonlySet<number>): number =>
  listed
    .split('\n')
    .filter((line) => [...line.matchAll(/\bpid=(\d+)/g)].some(([, pid]) => pids.has(Number(pid))))
    .reduce((sum, line) => sum + Number(/\bbytes_received:(\d+)/.exec(line)?.[1] ?? 0), 0)

/** Bytes received so far on the open connections of these processes; undefined = it cannot be read here. Takes some milliseconds. */
export const receivedBytes = (pids: readonly number[]): number | undefined => {
  try {
    const listed = execFileSync('ss', ['-tinpHO'], {
      ...{ encoding: 'utf8', timeout: timeoutMs, maxBuffer: largest, stdio: ['ignore', 'pipe', 'ignore'] },
    })
    return receivedIn(listed, new Set(pids))
  } catch {
    return undefined // no such program, or one that does not know these options
  }
}
