/** The texts about processes that an agent left running and that Unstuck cannot end. */

export const leftRunningLabel = 'processes_left'

export interface LeftRunning {
  processes: readonly { pid: number; name: string }[]
}

const named = 5

/** A program chooses its own name, so it may contain control characters. */
const printable = (name: string): string => name.replaceAll(/[^\x20-\x7e]/g, '?')

export const leftRunningText = ({ processes }: LeftRunning): string => {
  const list = processes.slice(0, named).map(({ pid, name }) => `${pid} (${printable(name) || 'unknown'})`)
  const more = processes.length > named ? `, and ${processes.length - named} more` : ''
  return `the agent left processes that cannot be ended: ${list.join(', ')}${more}`
}

/** `again`: the command to run after that. */
export const leftRunningAdvice = (again: string): string =>
  `They belong to another user or hang in the kernel. List them with ps, end them as their user or as root, then ${again}.`
