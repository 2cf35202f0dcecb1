/**
 * Caches of cargo, Go and bun that only checks use. Agents build with the user's caches. These tools trust their cache, so a file that an
 * agent changed there (a module's source or a build result) would take part in the check of its own work.
 */
import { join } from 'node:path'
import { readIfFile, type Files } from '../core/files.ts'
import type { CheckRequest } from './check-request.ts'

type CacheRequest = Pick<CheckRequest, 'ports' | 'workspace' | 'environment' | 'caches'>

/** The user's module cache, found as Go finds it: the environment, then the file that `go env -w` writes. */
const goModulesOf = (files: Files, environment: CacheRequest['environment'], home: string): string => {
  const file = environment.GOENV ?? join(environment.XDG_CONFIG_HOME ?? join(home, '.config'), 'go', 'env')
  const written = readIfFile(files, file) ?? ''
  const setting = (name: string): string | undefined =>
    environment[name] ?? new RegExp(`^${name}=(.+)$`, 'm').exec(written)?.[1]
  return setting('GOMODCACHE') ?? join(setting('GOPATH')?.split(':')[0] ?? join(home, 'go'), 'pkg', 'mod')
}

/** Fills the caches with the modules that the lockfiles name and the user has. Returns the variables that select the caches. */
export const cacheVariables = async (place: CacheRequest): Promise<Record<string, string>> => {
  const { ports, workspace, environment, caches } = place
  if (caches === undefined) return {}
  const { files, git } = ports
  const home = environment.HOME ?? files.homeDir()
  const from = {
    goModules: goModulesOf(files, environment, home),
    cargoHome: environment.CARGO_HOME ?? join(home, '.cargo'),
  }
  const to = { goModules: join(caches, 'go-mod'), cargoHome: join(caches, 'cargo') }
  if (!(await git.seedCaches({ workspace, from, to }))) return {}
  return {
    GOCACHE: join(caches, 'go-build'),
    GOMODCACHE: to.goModules,
    CARGO_HOME: to.cargoHome,
    BUN_INSTALL_CACHE_DIR: join(caches, 'bun'),
  }
}
