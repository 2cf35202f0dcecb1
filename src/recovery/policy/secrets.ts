/**
 * Paths that no run may add, change or delete, in any policy mode and whatever `allowedPaths` says: names that are secrets by
 * convention, matched in every folder and in folded form, including their usual backups. `.npmrc` and similar files are not on
 * the list, because most of them contain only settings. There the content decides (`secret-text.ts`).
 */
import { foldPath } from './fold.ts'
import { pathMatcher } from './path-rule.ts'

/** A folder of such a name protects everything below it as well. */
const secretGlobs: readonly string[] = [
  '**/.env',
  '**/.env.*',
  '**/.env{-,_}*',
  '**/*.{pem,key,p12,pfx,jks,keystore,ppk,kubeconfig}',
  '**/id_{rsa,dsa,ecdsa,ed25519,ecdsa_sk,ed25519_sk,xmss}',
  '**/id_{rsa,dsa,ecdsa,ed25519}{_,-}*',
  '**/{.netrc,_netrc,.pgpass,.my.cnf,.git-credentials,.htpasswd,.pypirc,.dockercfg,.s3cfg,.boto,.vault-token}',
  '**/secrets.{json,yaml,yml,toml}',
  '**/.ssh/*',
  '**/.aws/credentials',
  '**/.azure/{accesstokens.json,msal_token_cache.*}',
  '**/.config/gcloud/{credentials.db,application_default_credentials.json}',
  '**/.config/gh/hosts.yml',
  '**/.docker/config.json',
  '**/.kube/config',
  '**/.cargo/credentials',
  '**/.cargo/credentials.toml',
  '**/.gem/credentials',
  '**/{.terraformrc,.envrc,wp-config.php,terraform.tfvars}',
  '**/*.auto.tfvars',
  '**/.gnupg/*',
]

/** Matched for files only, because folders of code often have these names. */
const secretFileGlobs: readonly string[] = [
  '**/kubeconfig',
  '**/service{-,_}account*.json',
  '**/client_secret*.json',
  '**/*.tfstate*',
]

/** Templates without values, and public keys. Both are meant to be committed. */
const secretExceptions: readonly string[] = ['**/.env.{example,sample,template}', '**/id_*.pub', '**/.ssh/*.pub']

const compile = (globs: readonly string[]): { text: string; covers: (path: string) => boolean }[] =>
  globs.map((glob) => ({ text: glob, covers: pathMatcher({ glob }) }))

const secrets = compile(secretGlobs)
const files = compile(secretFileGlobs)
const exceptions = compile(secretExceptions)

const backup = /(?:~|\.(?:bak|backup|old|orig|save|copy|tmp|swp|swo))$/

/** The file's own name, then the names that it may be a backup of. An editor's swap file has a dot before the name. */
const originals = (path: string): string[] => {
  const found = [path]
  for (let name = path; backup.test(name);) {
    const swap = /\.sw[po]$/.test(name)
    name = name.replace(backup, '')
    found.push(name)
    if (swap) found.push(name.replace(/(^|\/)\.([^/]*)$/, '$1$2'))
  }
  return found
}

const ruleOf = (path: string): string | undefined => {
  const segments = path.split('/')
  const prefixes = segments.map((_, index) => segments.slice(0, index + 1).join('/'))
  const open = prefixes.filter((prefix) => !exceptions.some(({ covers }) => covers(prefix)))
  const found = secrets.find(({ covers }) => open.some((prefix) => covers(prefix)))
  return (found ?? (open.includes(path) ? files.find(({ covers }) => covers(path)) : undefined))?.text
}

/** The entry of the list that covers the path; undefined = none. */
export const secretRuleFor = (path: string): string | undefined => {
  for (const name of originals(foldPath(path))) {
    const found = ruleOf(name)
    if (found !== undefined) return found
  }
  return undefined
}
