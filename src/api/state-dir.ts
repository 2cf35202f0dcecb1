/** Where the state and caches of a repository live. Apart from serve.ts, so that a client need not load the engine. */
import { join } from 'node:path'
import { unstuckHome } from '../platform.ts'

type Environment = Record<string, string | undefined>

export const stateDirOf = (environment: Environment, repositoryId: string): string =>
  join(unstuckHome(environment), repositoryId)

export const cacheDirOf = (environment: Environment): string =>
  join(environment.XDG_CACHE_HOME ?? join(environment.HOME ?? '/', '.cache'), 'unstuck')
