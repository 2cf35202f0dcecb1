/**
 * A cache of check results, keyed by tree, packages and command: the same files with the same packages are not checked twice, also when
 * another commit or another run contains them.
 */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { Install } from '../../domain/install.ts'
import type { CheckResult } from '../../domain/run.ts'
import { isBuild } from '../../recovery/diagnosis/argv.ts'
import type { TestCount } from '../../recovery/proof/test-count.ts'
import type { FailingSet } from '../../recovery/failing-set.ts'
import type { Context } from '../core/context.ts'
import { readIfFile, readStateFile, writeStateFile } from '../core/files.ts'
import type { Ports } from '../core/ports.ts'

export interface CacheLocation extends Pick<Context, 'repository' | 'shadow' | 'stateDir' | 'config'> {
  /** A commit, or the tree itself. */
  commit: string
  /** Installs that ran for the checks. */
  installs: readonly Install[]
}

/** The result of a check on the base commit. */
export type Baseline = {
  /** How many tests it ran; absent where no runner counted. */
  tests?: TestCount
} &
  /** `label`: the failure of the environment on the base commit, which excuses no failure of the work. */
  (
    | { state: 'passes' | 'no tests' | 'unknown'; detail: string; label?: string }
    /** `again`: what failed when tests that failed ran a second time; absent = no tests, or no time. */
    | { state: 'fails'; detail: string; set: FailingSet; again?: FailingSet }
  )

/** `result`: present if the check ran in a verification and passed. */
export type CachedResult = Baseline & { result?: CheckResult }

const lockfiles = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'node_modules/.package-lock.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
  'Cargo.lock',
  'go.sum',
  'poetry.lock',
  'uv.lock',
  'Pipfile.lock',
  'requirements.txt',
]

/** Increase when the form or the meaning of a cached result changes: older results are then ignored. */
const version = 6

export const checkCacheFolder = (stateDir: string): string => join(stateDir, 'baselines')

/** The lockfiles of the user's checkout are part of the key, because installed packages come from that checkout. */
const fileOf = async ({ git, files }: Ports, place: CacheLocation, commands: readonly string[]): Promise<string> => {
  const tree = await git.treeOf(place.shadow, place.commit)
  const { workspace } = place.config()
  const hash = createHash('sha256').update(
    JSON.stringify([version, process.version, tree, commands, place.installs, workspace]),
  )
  for (const name of [...lockfiles, ...workspace.copy])
    hash.update(`\0${name}\0${readIfFile(files, join(place.repository.root, name)) ?? ''}`)
  return join(checkCacheFolder(place.stateDir), `${hash.digest('hex').slice(0, 40)}.json`)
}

/** The file name holds the version of its form, so only the damage of a file has to be found. */
const shape = {
  parse: (value: unknown) => {
    z.object({ state: z.enum(['passes', 'fails', 'no tests', 'unknown']), detail: z.string() }).parse(value)
    return value as CachedResult
  },
}

/** The cached result; undefined = none. `commands`: the check, after the commands that build something for it. */
export const cachedResult = async (
  ports: Ports,
  place: CacheLocation,
  commands: readonly string[],
): Promise<CachedResult | undefined> =>
  readStateFile({ ports, stateDir: place.stateDir }, await fileOf(ports, place, commands), shape)

/** An unknown result is not cached: the check runs again the next time. */
export const cacheResult = async (
  ports: Ports,
  place: CacheLocation,
  commands: readonly string[],
  found: CachedResult,
): Promise<void> => {
  if (found.state === 'unknown') return
  const path = await fileOf(ports, place, commands)
  ports.files.mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeStateFile(ports.files, path, JSON.stringify(found))
}

/** The check at this index, after the earlier ones that build something for it. */
const withBuilds = (commands: readonly string[], index: number): string[] => [
  ...commands.slice(0, index).filter(isBuild),
  ...commands.slice(index, index + 1),
]

/** A check that passed only in a second run, or that is excused, must run each time. */
const passedAtOnce = ({ exitCode, timedOut, ranNothing, excused }: CheckResult): boolean =>
  exitCode === 0 && !timedOut && ranNothing === undefined && excused === undefined

/** Caches the checks that passed in a verification. */
export const cachePassed = async (
  ports: Ports,
  place: CacheLocation,
  results: readonly CheckResult[],
): Promise<void> => {
  const commands = results.map(({ command }) => command)
  for (const [index, result] of results.entries())
    if (passedAtOnce(result))
      await cacheResult(ports, place, withBuilds(commands, index), {
        ...{ state: 'passes', detail: 'it passes on the base commit', result },
      })
}

/** By command: checks that passed on exactly these files in an earlier verification. */
export const passedBefore = async (
  ports: Ports,
  place: CacheLocation,
  commands: readonly string[],
): Promise<Map<string, CheckResult>> => {
  const passed = new Map<string, CheckResult>()
  for (const [index, command] of commands.entries()) {
    const kept = await cachedResult(ports, place, withBuilds(commands, index))
    if (kept?.state === 'passes' && kept.result !== undefined) passed.set(command, kept.result)
  }
  return passed
}

/** The commands that must still run, with those that build something for them. */
export const stillToRun = (commands: readonly string[], passed: ReadonlyMap<string, unknown>): string[] => {
  const last = commands.findLastIndex((command) => !passed.has(command))
  return commands.filter((command, index) => !passed.has(command) || (index < last && isBuild(command)))
}
