/**
 * Runs programs of this checkout as a user without privileges. A plain user is one already. Root switches to another user, who may not be able
 * to enter the checkout (it may be below a home folder), so the program, what it imports and Node itself are copied to a folder
 * that every user can enter.
 */
import { chmodSync, copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execaSync } from 'execa'

const checkout = join(import.meta.dirname, '..', '..')
const nobody = { uid: 65_534, gid: 65_534 }

interface Place {
  cwd: string
  /** The whole environment of the program. */
  env?: Record<string, string | undefined>
}

interface Ended {
  exitCode?: number | undefined
  stdout: string
  stderr: string
}

export interface PlainUser {
  /** Runs a program, named by its path in the checkout. */
  run(program: string, args: string[], place: Place): Ended
  /** Gives the user a folder and all that is in it. */
  give(path: string): void
  close(): void
}

/** Packages that the product itself needs; those of development alone are a multiple of them. */
const productionPackages = (): string[] => {
  const lock = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true && existsSync(join(checkout, path)))
    .map(([path]) => path)
}

/** `parts` are paths in the checkout: folders and files that the programs are made of. */
const copyParts = (parts: readonly string[]): string => {
  const copy = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-plain-user-')))
  for (const part of ['package.json', ...parts]) cpSync(join(checkout, part), join(copy, part), { recursive: true })
  copyFileSync(process.execPath, join(copy, 'node'))
  // The checkout may have been made under a umask that shuts other users out.
  execaSync('chmod', ['-R', 'a+rX', copy])
  chmodSync(join(copy, 'node'), 0o755)
  return copy
}

export const openPlainUser = ({ parts, packages }: { parts: readonly string[]; packages: boolean }): PlainUser => {
  const root = process.getuid?.() === 0
  const copy = root ? copyParts([...parts, ...(packages ? productionPackages() : [])]) : undefined
  const [node, top] = copy === undefined ? [process.execPath, checkout] : [join(copy, 'node'), copy]
  return {
    run: (program, args, { cwd, env }) =>
      execaSync(node, [join(top, program), ...args], {
        cwd,
        ...(env === undefined ? {} : { env, extendEnv: false }),
        ...(root ? nobody : {}),
        reject: false,
      }),
    give: (path) => {
      if (root) execaSync('chown', ['-R', `${nobody.uid}:${nobody.gid}`, path])
    },
    close: () => {
      if (copy !== undefined) rmSync(copy, { recursive: true, force: true })
    },
  }
}
