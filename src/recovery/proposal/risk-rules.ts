/** One rule per risk of a simple command, given as its words with the program's bare name. Pure. */

import { shellTextsOf } from './hidden-code.ts'

export const riskKinds = [
  'deletes',
  'overwrites',
  'needs_root',
  'leaves_workspace',
  'runs_unseen_code',
  'unclear',
  'sends_out',
  'network',
  'changes_lockfile',
  'runs_package_scripts',
  'loosens_checks',
  'changes_git',
  'changes_machine',
  'ends_processes',
  'changes_permissions',
] as const
export type RiskKind = (typeof riskKinds)[number]

interface RiskRule {
  kind: RiskKind
  grave?: boolean
  /** What the command does, as the end of "it …"; undefined = the rule does not apply. */
  says: (argv: readonly string[]) => string | undefined
}

const named = (names: string): ((argv: readonly string[]) => boolean) => {
  const known = new Set(names.split(' '))
  return ([program = '']) => known.has(program)
}

const argumentsOf = (argv: readonly string[]): string[] => argv.slice(1).filter((word) => !word.startsWith('-'))
const hasFlag = (argv: readonly string[], pattern: RegExp): boolean => argv.slice(1).some((word) => pattern.test(word))
/** The subcommand of `npm install`, `git push`, … */
const verbOf = (argv: readonly string[]): string => argumentsOf(argv)[0] ?? ''
const verbIn = (argv: readonly string[], program: string, verbs: string): boolean =>
  argv[0] === program && verbs.split(' ').includes(verbOf(argv))

const listed = (words: readonly string[]): string => words.slice(0, 3).join(', ') + (words.length > 3 ? ', …' : '')

const lockfile =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock)$/

const deletes = (argv: readonly string[]): string | undefined => {
  if (named('rm rmdir unlink shred rimraf trash')(argv)) return `deletes ${listed(argumentsOf(argv)) || 'files'}`
  if (verbIn(argv, 'git', 'clean')) return 'deletes files that git does not track'
  if (argv[0] === 'find' && argv.includes('-delete')) return 'deletes the files that it finds'
  if (named('dd mkfs truncate')(argv)) return 'overwrites what it names'
  return verbIn(argv, 'docker', 'rm rmi prune system volume') ? 'deletes containers, images or volumes' : undefined
}

/** Installs of JavaScript packages: `npm i`, `yarn`, `pnpm add`, `bun install`, … */
const isNodeInstall = (argv: readonly string[]): boolean => {
  const [program = ''] = argv
  if (!['npm', 'yarn', 'pnpm', 'bun'].includes(program)) return false
  const verb = verbOf(argv)
  if (program === 'yarn' && verb === '') return true
  return 'install i ci add update up upgrade dedupe rebuild remove uninstall link clean-install it audit'
    .split(' ')
    .includes(verb)
}

const keepsLock = (argv: readonly string[]): boolean =>
  ['ci', 'clean-install', 'rebuild', 'link'].includes(verbOf(argv)) ||
  hasFlag(argv, /^--(?:frozen-lockfile|immutable|locked|no-lockfile|no-save|no-package-lock|frozen)$/)

const changesLock = (argv: readonly string[]): string | undefined => {
  const gone = named('rm unlink mv')(argv) ? argumentsOf(argv).filter((path) => lockfile.test(path)) : []
  if (gone.length > 0) return `removes the lockfile ${listed(gone)}`
  const changes =
    (isNodeInstall(argv) && !keepsLock(argv)) ||
    verbIn(argv, 'cargo', 'update add remove generate-lockfile') ||
    (argv[0] === 'go' && (verbOf(argv) === 'get' || (verbOf(argv) === 'mod' && argv.includes('tidy')))) ||
    verbIn(argv, 'poetry', 'add remove update lock') ||
    verbIn(argv, 'uv', 'add remove lock sync') ||
    verbIn(argv, 'bundle', 'install update add lock') ||
    verbIn(argv, 'composer', 'update require remove')
  return changes ? 'may change the lockfile' : undefined
}

const network = (argv: readonly string[]): string | undefined => {
  if (named('curl wget ssh scp sftp rsync ftp nc ncat telnet')(argv)) return 'uses the network'
  if (verbIn(argv, 'git', 'clone fetch pull push submodule ls-remote remote')) return 'contacts a git remote'
  const downloads =
    isNodeInstall(argv) ||
    named('npx bunx')(argv) ||
    (named('npm yarn pnpm')(argv) && ['exec', 'dlx', 'x', 'create', 'init'].includes(verbOf(argv))) ||
    (named('pip pip3 pipx uv poetry gem bundle composer conda mamba')(argv) &&
      /^(?:install|add|sync|update|download|require|lock|pip)$/.test(verbOf(argv))) ||
    verbIn(argv, 'cargo', 'install fetch update build add') ||
    verbIn(argv, 'go', 'get mod install') ||
    (named('apt apt-get dnf yum apk brew pacman')(argv) && verbOf(argv) !== '') ||
    verbIn(argv, 'docker', 'pull build run')
  return downloads ? 'downloads from the network' : undefined
}

const packageScripts = (argv: readonly string[]): string | undefined => {
  if (isNodeInstall(argv) && !hasFlag(argv, /^--ignore-scripts$/)) return 'runs install scripts of packages'
  if (named('npm yarn pnpm bun')(argv) && ['run', 'run-script', 'test', 'start', 't'].includes(verbOf(argv)))
    return 'runs a script of package.json'
  if (named('pip pip3 gem bundle')(argv) && /^(?:install|update)$/.test(verbOf(argv)))
    return 'runs build scripts of packages'
  if (verbIn(argv, 'cargo', 'build test run install check')) return 'runs build scripts of packages'
  return named('make ninja just rake gradle gradlew mvn tox nox')(argv) ? 'runs a recipe of this repository' : undefined
}

const unseenCode = (argv: readonly string[]): string | undefined => {
  if (named('npx bunx')(argv) || (named('npm yarn pnpm')(argv) && ['exec', 'dlx', 'x'].includes(verbOf(argv))))
    return 'runs a program that it may download first'
  return named('eval')(argv) || shellTextsOf(argv).length > 0 ? 'runs a text as shell commands' : undefined
}

/** A path that may lead out of the folder in which the command runs. */
const leadsOut = (word: string): boolean => {
  const path = word.includes('=') ? word.slice(word.indexOf('=') + 1) : word
  if (/^\/dev\/(?:null|stdout|stderr|tty)$/.test(path)) return false
  return /^(?:\/|~|\$\{?HOME\b)/.test(path) || path.split('/').includes('..')
}

const leaves = (argv: readonly string[]): string | undefined => {
  const paths = argv.slice(1).filter(leadsOut)
  return paths.length === 0 ? undefined : `names ${listed(paths)}, which may be outside the workspace`
}

const root = (argv: readonly string[]): string | undefined => {
  if (named('sudo doas su pkexec')(argv)) return 'runs as another user, usually root'
  return named('apt apt-get dnf yum apk pacman systemctl service mount umount useradd sysctl modprobe')(argv)
    ? 'needs root'
    : undefined
}

const loosens = (argv: readonly string[]): string | undefined => {
  const flags = argv.filter((word) =>
    /^(?:--force|-f|--legacy-peer-deps|--no-verify|--skip-.*|--no-strict.*|--strict-ssl=false|--ignore-engines|--break-system-packages|--insecure|-k)$/.test(
      word,
    ),
  )
  const applies = named('npm yarn pnpm bun pip pip3 git curl cargo poetry')(argv) && flags.length > 0
  return applies ? `switches a safeguard off (${listed(flags)})` : undefined
}

const machine = (argv: readonly string[]): string | undefined => {
  const isGlobal = isNodeInstall(argv) && hasFlag(argv, /^(?:-g|--global)$/)
  const installs = isGlobal || verbIn(argv, 'cargo', 'install') || named('brew apt apt-get dnf yum apk pacman')(argv)
  if (installs) return 'installs on the machine, outside this repository'
  return (named('npm yarn pnpm')(argv) && ['cache', 'config'].includes(verbOf(argv))) || verbIn(argv, 'git', 'config')
    ? 'changes a cache or settings that other projects use too'
    : undefined
}

const changesGit = (argv: readonly string[]): string | undefined =>
  verbIn(argv, 'git', 'reset checkout restore switch rebase merge pull commit stash branch tag gc clean filter-branch')
    ? 'changes what git has checked out or recorded'
    : undefined

export const riskRules: readonly RiskRule[] = [
  { kind: 'deletes', grave: true, says: deletes },
  { kind: 'needs_root', grave: true, says: root },
  { kind: 'leaves_workspace', grave: true, says: leaves },
  { kind: 'runs_unseen_code', grave: true, says: unseenCode },
  {
    kind: 'sends_out',
    grave: true,
    says: (argv) => {
      if (verbIn(argv, 'git', 'push')) return 'sends commits to a git remote'
      return named('npm yarn pnpm cargo gem twine')(argv) && ['publish', 'push', 'upload'].includes(verbOf(argv))
        ? 'publishes a package'
        : undefined
    },
  },
  { kind: 'changes_git', grave: true, says: changesGit },
  { kind: 'changes_machine', grave: true, says: machine },
  {
    kind: 'ends_processes',
    grave: true,
    says: (argv) => (named('kill pkill killall fuser')(argv) ? 'ends processes' : undefined),
  },
  {
    kind: 'changes_permissions',
    says: (argv) => (named('chmod chown chgrp setfacl')(argv) ? 'changes who may read or write files' : undefined),
  },
  { kind: 'loosens_checks', says: loosens },
  { kind: 'network', says: network },
  { kind: 'changes_lockfile', says: changesLock },
  { kind: 'runs_package_scripts', says: packageScripts },
]
