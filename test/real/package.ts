/**
 * The source of a published package with its own test suite, as its maintainer would have it after an install: unpacked
 * from what the registry serves, with its test runner and a lockfile. Fetched once per machine into the cache folder; built
 * beside its place and moved there only when its own tests passed.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../src/errors.ts'

export interface PublishedPackage {
  name: string
  version: string
  /** The runner of its tests: all of its development dependencies that the tests need. */
  runner: Record<string, string>
  /** Script of its manifest that runs the tests and nothing else. */
  script: string
}

const npm = (args: string[], cwd: string): string =>
  execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 300_000,
  })

const fetchInto = (scratch: string, { name, version, runner, script }: PublishedPackage): string => {
  const file =
    npm(['pack', `${name}@${version}`, '--silent'], scratch)
      .trim()
      .split('\n')
      .at(-1) ?? ''
  execFileSync('tar', ['-xzf', file], { cwd: scratch })
  const folder = join(scratch, 'package')
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
  // Linters and coverage tools of its year would be hundreds of packages that no test here uses.
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, devDependencies: runner }, null, 2)}\n`)
  npm(['install', '--ignore-scripts'], folder)
  npm(['run', script], folder)
  return folder
}

/** The folder of the prepared package, to be copied and never worked in. */
export const publishedPackage = (cache: string, wanted: PublishedPackage): string => {
  const place = join(cache, `${wanted.name}-${wanted.version}`)
  mkdirSync(cache, { recursive: true })
  for (let tries = 1; !existsSync(place); tries += 1) {
    const scratch = mkdtempSync(`${place}.partial-`)
    try {
      renameSync(fetchInto(scratch, wanted), place)
    } catch (error) {
      // Somebody else may have finished the same fetch meanwhile; then theirs is as good.
      if (tries === 3 && !existsSync(place))
        throw new Error(`${wanted.name}@${wanted.version} could not be prepared: ${messageOf(error)}`, { cause: error })
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  }
  return place
}
