/** Addresses of the pages. They follow the `#`, so they cannot collide with routes of the API. */

export type PageRoute =
  | { page: 'board' }
  | { page: 'goal' | 'task'; id: string }
  /** `part`: the section to scroll to. */
  | { page: 'run'; id: string; part?: RunPart }
  | { page: 'unknown'; address: string }

export type RunPart = 'diff' | 'log'
const isPart = (name: string): name is RunPart => name === 'diff' || name === 'log'

const kinds = { goals: 'goal', tasks: 'task', runs: 'run' } as const
const isKind = (name: string): name is keyof typeof kinds => Object.hasOwn(kinds, name)

export const parseRoute = (hash: string): PageRoute => {
  const address = hash.replace(/^#/, '')
  if (address === '' || address === '/') return { page: 'board' }
  const [first, kind = '', id = '', part, ...rest] = address.split('/')
  if (first !== '' || rest.length > 0 || !isKind(kind) || !/^[a-z]-[a-z0-9]+$/.test(id))
    return { page: 'unknown', address }
  if (part === undefined) return { page: kinds[kind], id }
  return kind === 'runs' && isPart(part) ? { page: 'run', id, part } : { page: 'unknown', address }
}

export const linkTo = {
  board: '#/',
  goal: (id: string): string => `#/goals/${id}`,
  task: (id: string): string => `#/tasks/${id}`,
  run: (id: string): string => `#/runs/${id}`,
  diff: (id: string): string => `#/runs/${id}/diff`,
  log: (id: string): string => `#/runs/${id}/log`,
}
