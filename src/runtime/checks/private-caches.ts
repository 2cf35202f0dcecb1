/**
 * Caches of cargo, Go and bun for checks alone. Agents build with the user's: what one of them wrote there, into the source of
 * a module or into what was built of it, would take part in the check of its work, and these tools do not look at it again.
 */
import { join } from 'node:path'
import { readOr, type Files } from '../core/files.ts'
import type { CheckRequest } from './request.ts'

type Place = Pick<CheckRequest, 'ports' | 'workspace' | 'environment' | 'caches'>

/** As Go reads it: the environment, then the file that `go env -w` writes. */
const goModulesOf = (files: Files, environment: Place['environment'], home: string): string => {
  const file = environment.GOENV ?? join(environment.XDG_CONFIG_HOME ?? join(home, '.config'), 'go', 'env')
  const written = readOr(files, file) ?? ''
  const setting = (name: string): string | undefined =>
    environment[name] ?? new RegExp(`^${name}=(.+)$`, 'm').exec(written)?.[1]
  return setting('GOMODCACHE') ?? join(setting('GOPATH')?.split(':')[0] ?? join(home, 'go'), 'pkg', 'mod')
}

/** Fills the caches with what the lockfiles name and the user has, and gives the variables that point to them. */
export const cacheVariables = async (place: Place): Promise<Record<string, string>> => {
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
