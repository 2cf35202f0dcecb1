/**
 * Caches of cargo, Go and bun for checks alone. Agents build with the user's: what one of them wrote there, into the source of
 * a module or into what was built of it, would take part in the check of its work, and these tools do not look at it again.
 */
import { join } from 'node:path'
import { readOr, type Files } from '../core/files.ts'
import type { CheckRequest } from './request.ts'

type Place = Pick<CheckRequest, 'ports' | 'workspace' | 'environment' | 'caches'>

/** Manifests and lockfiles, two folders deep: where a repository has its modules. */
const wanted = new Set([
  'go.mod',
  'go.sum',
  'go.work',
  'go.work.sum',
  'Cargo.toml',
  'Cargo.lock',
  'bun.lock',
  'bun.lockb',
])
const depth = 2

const listed = (files: Files, folder: string): string[] => {
  try {
    return files.readdirSync(folder)
  } catch {
    return [] // a file
  }
}

const found = (files: Files, folder: string, left = depth): string[] =>
  listed(files, folder).flatMap((name) => {
    if (wanted.has(name)) return [join(folder, name)]
    return left === 0 || name.includes('.') || name === 'node_modules' ? [] : found(files, join(folder, name), left - 1)
  })

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
  const paths = found(files, workspace)
  if (paths.length === 0) return {}
  const home = environment.HOME ?? files.homeDir()
  const textsOf = (end: string): string[] =>
    paths.filter((path) => path.endsWith(end)).map((path) => readOr(files, path) ?? '')
  const to = { goModules: join(caches, 'go-mod'), cargoHome: join(caches, 'cargo') }
  await git.seedCaches({
    goSums: textsOf('.sum'),
    cargoLocks: textsOf('Cargo.lock'),
    from: {
      goModules: goModulesOf(files, environment, home),
      cargoHome: environment.CARGO_HOME ?? join(home, '.cargo'),
    },
    to,
  })
  return {
    GOCACHE: join(caches, 'go-build'),
    GOMODCACHE: to.goModules,
    CARGO_HOME: to.cargoHome,
    BUN_INSTALL_CACHE_DIR: join(caches, 'bun'),
  }
}
