/**
 * Identifies the account that a harness uses, so that a limit met by one run counts for every run on the same account. An account
 * is the CLI's name and a digest of the credential, its server and its program; the secret itself is never stored.
 */
import { createHash } from 'node:crypto'
import type { Driver } from './driver.ts'
import { loginOf } from './cli-login.ts'

export interface AccountParts {
  driver: Pick<Driver, 'name' | 'environment' | 'login'>
  /** A program of the owner's may use a login that we do not know, so it counts as an account of its own. */
  command?: readonly string[]
  environment: Readonly<Record<string, string | undefined>>
  /** A login in a file belongs to this host. */
  host: string
  exists: (path: string) => boolean
}

export const accountOf = ({ driver, command, environment, host, exists }: AccountParts): string => {
  const { by } = loginOf(driver, environment, exists)
  const secret = by === undefined ? undefined : environment[by]
  const servers = driver.environment.filter((name) => name.endsWith('_BASE_URL')).map((name) => environment[name] ?? '')
  const parts = [by ?? '', secret ?? host, command ?? [], servers]
  return `${driver.name}:${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12)}`
}
