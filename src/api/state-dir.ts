/** Where the state and caches of a repository live. Apart from serve.ts, so that a client need not load the engine. */
import { homedir } from 'node:os'
import { join } from 'node:path'

type Environment = Record<string, string | undefined>

/** `$UNSTUCK_HOME`, else the XDG state folder. All stores, logs, workspaces and snapshots are below it. */
const unstuckHome = (environment: Environment): string =>
  environment.UNSTUCK_HOME ?? join(environment.XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'unstuck')

export const stateDirOf = (environment: Environment, repositoryId: string): string =>
  join(unstuckHome(environment), repositoryId)

export const cacheDirOf = (environment: Environment): string =>
  join(environment.XDG_CACHE_HOME ?? join(environment.HOME ?? '/', '.cache'), 'unstuck')
