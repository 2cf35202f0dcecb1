/**
 * Installs the exact versions of the agent CLIs that the heavy tests use, once per machine, into a cache outside the repository,
 * and prints `{ "claude": <path>, "codex": <path> }`. Names as arguments choose other CLIs (`gemini` and `opencode` are not used in
 * CI). An install is made in a temporary folder and moved to its path after `--version` succeeded, so that an incomplete install
 * is never used.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../src/errors.ts'

export type CliName = 'claude' | 'codex' | 'gemini' | 'opencode'

interface Cli {
  name: CliName
  package: string
  version: string
  /** Program of the package that installs the platform's binary, for an npm that ran no install scripts. */
  finish?: string
}

const clis = [
  { name: 'claude', package: '@anthropic-ai/claude-code', version: '2.1.197', finish: 'install.cjs' },
  { name: 'codex', package: '@openai/codex', version: '0.169.0' },
] as const satisfies Cli[]

const byHand: Cli[] = [
  { name: 'gemini', package: '@google/gemini-cli', version: '0.61.0' },
  { name: 'opencode', package: 'opencode-ai', version: '1.18.33', finish: 'postinstall.mjs' },
]

export const cliVersions = Object.fromEntries(
  [...clis, ...byHand].map(({ name, version }) => [name, version]),
) as Record<CliName, string>

export type CliPaths = Record<(typeof clis)[number]['name'], string>

const binary = (root: string, { name }: Cli): string => join(root, 'node_modules', '.bin', name)

const works = (root: string, cli: Cli): boolean => {
  const path = binary(root, cli)
  if (!existsSync(path)) return false
  const { status, stdout } = spawnSync(path, ['--version'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 60_000,
  })
  return status === 0 && stdout.split(/\s+/).includes(cli.version)
}

const fetchInto = (root: string, cli: Cli): void => {
  // Without this package.json npm would use a project above the cache folder.
  writeFileSync(join(root, 'package.json'), JSON.stringify({ private: true }))
  const flags = ['--no-audit', '--no-fund', '--no-save', '--include=optional', '--loglevel=error']
  execFileSync('npm', ['install', ...flags, `${cli.package}@${cli.version}`], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    timeout: 600_000,
  })
  if (works(root, cli)) return
  if (cli.finish !== undefined)
    execFileSync(process.execPath, [cli.finish], {
      cwd: join(root, 'node_modules', cli.package),
      stdio: ['ignore', 2, 2],
    })
  if (!works(root, cli))
    throw new Error(`${cli.package}@${cli.version} was installed, but "${cli.name} --version" fails`)
}

const attempt = (place: string, cli: Cli): void => {
  const scratch = mkdtempSync(`${place}.partial-`)
  try {
    fetchInto(scratch, cli)
    // Another process may have finished the same install meanwhile, and already use it.
    if (works(place, cli)) return
    rmSync(place, { recursive: true, force: true })
    renameSync(scratch, place)
  } catch (error) {
    // Another process may have finished the same install in between; then that install is used.
    if (!works(place, cli)) throw error
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const install = (cache: string, cli: Cli): string => {
  const place = join(cache, `${cli.name}-${cli.version}`)
  mkdirSync(dirname(place), { recursive: true })
  for (let tries = 1; !works(place, cli); tries += 1) {
    try {
      attempt(place, cli)
    } catch (error) {
      if (tries === 3) throw error
      process.stderr.write(`install-clis: ${cli.name}: ${messageOf(error)}; trying again\n`)
    }
  }
  return binary(place, cli)
}

const cacheOf = (environment: NodeJS.ProcessEnv): string =>
  join(environment.XDG_CACHE_HOME || join(homedir(), '.cache'), 'unstuck-ci')

/** Returns the paths of the CLIs that CI uses, in their pinned versions; installs the missing ones. */
export const installClis = (environment: NodeJS.ProcessEnv): CliPaths => {
  const cache = cacheOf(environment)
  const [claude, codex] = clis
  return { claude: install(cache, claude), codex: install(cache, codex) }
}

/** Returns the same for the named CLIs. Throws for an unknown name. */
export const installNamed = (environment: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> => {
  const paths: Record<string, string> = {}
  for (const name of names) {
    const cli = [...clis, ...byHand].find((known) => known.name === name)
    if (cli === undefined) throw new Error(`unknown CLI "${name}"; known: claude, codex, gemini, opencode`)
    paths[name] = install(cacheOf(environment), cli)
  }
  return paths
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2)
  const paths = names.length === 0 ? installClis(process.env) : installNamed(process.env, names)
  process.stdout.write(`${JSON.stringify(paths)}\n`)
}
