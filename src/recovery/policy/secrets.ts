/**
 * Paths that no run may add, change or delete, in any policy mode and whatever `allowedPaths` says. The list is short on
 * purpose: names that are secrets by convention, matched in every folder. `.npmrc` and the like are not on it, because
 * most of them hold settings only; what tells a secret there is the content, which this check does not read.
 */
import { pathMatcher } from './rule.ts'
import type { PathRule } from './rule.ts'

export const secretGlobs: readonly string[] = [
  '**/.env',
  '**/.env.*',
  '**/*.{pem,key,p12,pfx,jks,keystore}',
  '**/{id_rsa,id_dsa,id_ecdsa,id_ed25519,id_ecdsa_sk,id_ed25519_sk}',
  '**/{.netrc,.pgpass,.git-credentials,.htpasswd}',
  '**/secrets.{json,yaml,yml,toml}',
]

/** Templates without values, which are made to be committed. */
export const secretExceptions: readonly string[] = ['**/.env.{example,sample,template}']

const compile = (globs: readonly string[]): { rule: PathRule; covers: (path: string) => boolean }[] =>
  globs.map((glob) => ({ rule: { glob }, covers: pathMatcher({ glob }) }))

const secrets = compile(secretGlobs)
const exceptions = compile(secretExceptions)

/** The entry of the list that covers the path. A folder of that name hides what is below it as well. */
export const secretRuleFor = (path: string): string | undefined => {
  const segments = path.split('/')
  const prefixes = segments.map((_, index) => segments.slice(0, index + 1).join('/'))
  const open = prefixes.filter((prefix) => !exceptions.some(({ covers }) => covers(prefix)))
  const index = secrets.findIndex(({ covers }) => open.some((prefix) => covers(prefix)))
  return secretGlobs[index]
}
