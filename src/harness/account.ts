/**
 * Which account a harness uses, so that a limit that one run meets counts for all others on it. The secret itself goes
 * nowhere: an account is the CLI's name and a digest over the credential and whatever else decides who is asked.
 */
import { createHash } from 'node:crypto'
import type { Driver } from './driver.ts'
import { loginOf } from './logins.ts'

export interface AccountParts {
  driver: Pick<Driver, 'name' | 'environment' | 'login'>
  /** A program of the owner's may log in wherever it likes, so it is an account of its own. */
  command?: readonly string[]
  environment: Readonly<Record<string, string | undefined>>
  /** A login in a file is this host's. */
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
