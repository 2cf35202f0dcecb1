/**
 * The hooks that the owner's git runs for each commit, and that Unstuck's commits do without. Told before the first launch in a repository,
 * because the work would otherwise be refused where they are required.
 */
import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { readRegularTextSync } from '../../platform/regular-file.ts'
import { planCheck } from '../../recovery/command/plan-check.ts'
import { git } from '../../workspace/git.ts'
import { inRepository } from '../../workspace/refs.ts'
import type { Repository } from '../../workspace/repository-types.ts'

/** Files by which a program runs hooks, and the command with which it does the same for all files. */
const runners: Readonly<Record<string, string>> = {
  '.pre-commit-config.yaml': 'pre-commit run --all-files',
  '.pre-commit-config.yml': 'pre-commit run --all-files',
  'lefthook.yml': 'lefthook run pre-commit --all-files',
  'lefthook.yaml': 'lefthook run pre-commit --all-files',
  '.lefthook.yml': 'lefthook run pre-commit --all-files',
}
const hookNames = ['pre-commit', 'commit-msg', 'pre-push']

/** The lines of a hook that are commands as they stand. What looks at staged files finds none in a clean clone. */
const commandsOf = (path: string): string[] =>
  readRegularTextSync(path, { most: 64 * 1024 })
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(?:#|\.\s|set\s|exit\b|export\s|echo\b)|lint-staged|\$|["'`]/.test(line))
    .filter((line) => planCheck(line).ok)

interface Rules {
  /** From the top of the repository; absolute outside of it. */
  hooks: string[]
  /** Commands that check the same. */
  commands: string[]
}

/** The owner's `core.hooksPath`, expanded, or ''; what Unstuck sets for its own git is of scope `command`. */
const hooksPathOf = async (repository: Repository): Promise<string> => {
  const asked = ['config', '--show-scope', '--type=path', '--get-all', 'core.hookspath']
  const { stdout } = await git(asked, { ...inRepository(repository), okCodes: [0, 1] })
  const own = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('command\t'))
  return own.at(-1)?.split('\t')[1] ?? ''
}

/** Reads files and git's settings; runs nothing of the repository. */
export const readOwnerRules = async (repository: Repository): Promise<Rules> => {
  const { root, commonDir } = repository
  const byRunner = Object.keys(runners).filter((name) => existsSync(join(root, name)))
  const configured = await hooksPathOf(repository)
  const installed = configured === '' ? join(commonDir ?? root, 'hooks') : resolve(root, configured)
  const folders = [join(root, '.husky'), join(root, '.githooks'), installed].filter((path) => basename(path) !== '_')
  const hooks = [...new Set(folders)].flatMap((folder) =>
    hookNames.map((name) => join(folder, name)).filter((path) => existsSync(path)),
  )
  // What lies in .git was written by a program, and elsewhere it belongs to other repositories as well.
  const own = hooks.filter((path) => basename(path) === 'pre-commit' && dirname(path) !== join(root, '.git', 'hooks'))
  const checked = own.filter((path) => path.startsWith(`${root}/`)).flatMap(commandsOf)
  const started = byRunner.map((name) => runners[name] ?? '')
  return {
    hooks: [...byRunner, ...hooks.map((path) => (path.startsWith(`${root}/`) ? relative(root, path) : path))],
    commands: [...new Set([...started, ...checked])],
  }
}

/** At most one line for people. */
export const ownerRuleLines = ({ hooks, commands }: Rules): string[] => {
  if (hooks.length === 0) return []
  const alike =
    commands.length === 0 ? '' : ` To have the work checked alike (${commands.join(' ; ')}): unstuck init --hooks`
  return [`Hooks do not run on Unstuck's commits (${hooks.join(', ')}).${alike}`]
}
