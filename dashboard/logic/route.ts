/** Addresses of the pages. They follow the `#`, so they cannot collide with routes of the API. */

export type PageRoute =
  | { page: 'now' | 'recovery' | 'repositories' }
  /** `query`: filters and order; see logic/work.ts. */
  | { page: 'work'; query: string }
  /** `id`: the question to open. */
  | { page: 'inbox'; id?: string }
  | { page: 'goal' | 'task'; id: string }
  /** `part`: the section to scroll to. `find`: a text in the log to scroll to. */
  | { page: 'run'; id: string; part?: RunPart; find?: string }
  | { page: 'unknown'; address: string }

export type RunPart = 'diff' | 'log'
const isPart = (name: string): name is RunPart => name === 'diff' || name === 'log'

const kinds = { goals: 'goal', tasks: 'task', runs: 'run' } as const
const isKind = (name: string): name is keyof typeof kinds => Object.hasOwn(kinds, name)

/** Undefined = the text is not encoded as this page encodes it. */
const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // a percent sign without two digits
  }
}

export const parseRoute = (hash: string): PageRoute => {
  const address = hash.replace(/^#/, '')
  if (address === '' || address === '/') return { page: 'now' }
  const work = /^\/work(?:\?(.*))?$/s.exec(address)
  if (work !== null) return { page: 'work', query: work[1] ?? '' }
  if (address === '/recovery') return { page: 'recovery' }
  if (address === '/repositories') return { page: 'repositories' }
  if (address === '/inbox') return { page: 'inbox' }
  const question = /^\/inbox\/(q-[a-z0-9]+)$/.exec(address)?.[1]
  if (question !== undefined) return { page: 'inbox', id: question }
  const unknown = { page: 'unknown', address } as const
  const [first, kind = '', id = '', part, sought, ...rest] = address.split('/')
  if (first !== '' || rest.length > 0 || !isKind(kind) || !/^[a-z]-[a-z0-9]+$/.test(id)) return unknown
  if (part === undefined) return { page: kinds[kind], id }
  if (kind !== 'runs' || !isPart(part)) return unknown
  if (sought === undefined) return { page: 'run', id, part }
  const find = part === 'log' ? decoded(sought) : undefined
  return find === undefined ? unknown : { page: 'run', id, part, find }
}

export const linkTo = {
  now: '#/',
  work: (query = ''): string => (query === '' ? '#/work' : `#/work?${query}`),
  inbox: '#/inbox',
  recovery: '#/recovery',
  repositories: '#/repositories',
  question: (id: string): string => `#/inbox/${id}`,
  goal: (id: string): string => `#/goals/${id}`,
  task: (id: string): string => `#/tasks/${id}`,
  run: (id: string): string => `#/runs/${id}`,
  diff: (id: string): string => `#/runs/${id}/diff`,
  log: (id: string): string => `#/runs/${id}/log`,
  /** The first line of the log that contains the text. */
  logLine: (id: string, text: string): string => `#/runs/${id}/log/${encodeURIComponent(text)}`,
}
