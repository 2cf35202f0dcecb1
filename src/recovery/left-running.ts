/** What is said of processes that an agent left running and that cannot be ended. */

export const leftRunningLabel = 'processes_left'

export interface LeftRunning {
  processes: readonly { pid: number; name: string }[]
}

const named = 5

/** Programs name themselves as they like. */
const printable = (name: string): string => name.replaceAll(/[^\x20-\x7e]/g, '?')

export const leftRunningText = ({ processes }: LeftRunning): string => {
  const list = processes.slice(0, named).map(({ pid, name }) => `${pid} (${printable(name) || 'unknown'})`)
  const more = processes.length > named ? `, and ${processes.length - named} more` : ''
  return `the agent left processes that cannot be ended: ${list.join(', ')}${more}`
}

/** `again`: what follows. */
export const leftRunningAdvice = (again: string): string =>
  `They belong to another user or hang in the system. Look at them with ps, end them as their user or as root, then ${again}.`
