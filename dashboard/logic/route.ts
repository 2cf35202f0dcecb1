/** Addresses of the pages. They stand behind `#`, so that they are none of the API's and the engine need not know them. */

export type Route =
  | { page: 'board' }
  | { page: 'goal' | 'task' | 'run'; id: string }
  | { page: 'unknown'; address: string }

const kinds = { goals: 'goal', tasks: 'task', runs: 'run' } as const
const isKind = (name: string): name is keyof typeof kinds => Object.hasOwn(kinds, name)

export const routeOf = (hash: string): Route => {
  const address = hash.replace(/^#/, '')
  if (address === '' || address === '/') return { page: 'board' }
  const [first, kind = '', id = '', ...rest] = address.split('/')
  if (first !== '' || rest.length > 0 || !isKind(kind) || !/^[a-z]-[a-z0-9]+$/.test(id))
    return { page: 'unknown', address }
  return { page: kinds[kind], id }
}

export const linkTo = {
  board: '#/',
  goal: (id: string): string => `#/goals/${id}`,
  task: (id: string): string => `#/tasks/${id}`,
  run: (id: string): string => `#/runs/${id}`,
}
