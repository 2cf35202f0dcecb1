/**
 * Agents are started with git's own trace (`GIT_TRACE2_EVENT`), which changes nothing that git does. So a git command that a run's
 * processes ran in the owner's checkout is known afterwards, whatever identity it committed with.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repository } from './repository-types.ts'

/** One git command of a run in the owner's repository. */
export interface TracedCommand {
  /** The git command, such as `commit`. */
  name: string
  /** Unix time in seconds, as in a log of git. */
  from: number
  to: number
}

/** Git writes no more files into the folder, so that a run with very many git commands does not fill the disk. */
const mostFiles = 4_000

/** The variables of an agent whose git commands are noted in the folder. */
export const traceVariables = (folder: string): Record<string, string> => ({
  GIT_TRACE2_EVENT: folder,
  GIT_TRACE2_MAX_FILES: String(mostFiles),
})

type TraceEvent = Partial<Record<'event' | 'time' | 'name' | 'worktree', string>> & { argv?: string[] }

/** The file may be cut off, and an agent can write into it. */
const eventsOf = (text: string): TraceEvent[] =>
  text.split('\n').flatMap((line) => {
    try {
      const event: unknown = JSON.parse(line)
      return typeof event === 'object' && event !== null ? [event] : []
    } catch {
      return []
    }
  })

const commandOf = (text: string, { root, commonDir }: Repository): TracedCommand | undefined => {
  const places = [root, ...(commonDir === null ? [] : [commonDir])]
  if (!places.some((place) => text.includes(place))) return undefined
  const events = eventsOf(text)
  const isThere =
    events.some(({ worktree }) => typeof worktree === 'string' && isIn(worktree, root, commonDir)) ||
    // With --git-dir git names the current folder as its work tree.
    (commonDir !== null &&
      events.some(({ event, argv }) => event === 'start' && argv?.includes(`--git-dir=${commonDir}`) === true))
  const name = events.find(({ event }) => event === 'cmd_name')?.name
  const times = events.flatMap(({ time }) => (time === undefined ? [] : [Math.floor(Date.parse(time) / 1000)]))
  const [from, to] = [times[0], times.at(-1)]
  return isThere && name !== undefined && from !== undefined && to !== undefined ? { name, from, to } : undefined
}

const isIn = (place: string, root: string, commonDir: string | null): boolean =>
  place === root || (commonDir !== null && (place === commonDir || place.startsWith(`${commonDir}/`)))

/** `complete`: false = the run started more git commands than are noted. */
export const readGitTrace = async (
  folder: string,
  repository: Repository,
): Promise<{ commands: TracedCommand[]; complete: boolean }> => {
  // Nothing was noted where no git ran, or where a sandbox closed the folder.
  const names = await readdir(folder).catch((): string[] => [])
  const commands: TracedCommand[] = []
  for (const name of names.slice(0, mostFiles)) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '')
    const command = commandOf(text, repository)
    if (command !== undefined) commands.push(command)
  }
  return { commands, complete: names.length < mostFiles }
}
