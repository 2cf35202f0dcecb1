/**
 * What the owner's git does with each commit and Unstuck's commits do without: signatures and hooks. Told before the first launch in a
 * repository, because a branch that requires them would refuse the work at its end.
 */
import { existsSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { readRegularTextSync } from '../../platform/regular-file.ts'
import { planCheck } from '../../recovery/command/plan-check.ts'
import { git } from '../../workspace/git.ts'
import { inRepository } from '../../workspace/refs.ts'
import type { Repository } from '../../workspace/repository-types.ts'

/** Programs that run hooks by a file of the repository, and the command that does the same for all files. */
const runners: readonly [file: RegExp, command: string][] = [
  [/^\.pre-commit-config\.ya?ml$/, 'pre-commit run --all-files'],
  [/^\.?lefthook\.(?:ya?ml|toml|json)$/, 'lefthook run pre-commit --all-files'],
]
const runnerFiles = [
  '.pre-commit-config.yaml',
  '.pre-commit-config.yml',
  'lefthook.yml',
  'lefthook.yaml',
  '.lefthook.yml',
]
const hookNames = ['pre-commit', 'commit-msg', 'pre-push']

/** The lines of a hook that are commands as they stand. What looks at staged files finds none in a clean clone. */
const commandsOf = (path: string): string[] =>
  readRegularTextSync(path, { most: 64 * 1024 })
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(?:#|\.\s|set\s|exit\b|export\s)|lint-staged|\$|["'`]/.test(line))
    .filter((line) => planCheck(line).ok)

interface Rules {
  /** Paths from the top of the repository. */
  hooks: string[]
  /** Commands that check the same. */
  commands: string[]
  signs: boolean
}

/** The owner's value; what Unstuck sets for its own git is of scope `command`. */
const settingOf = async (repository: Repository, key: string): Promise<string> => {
  const asked = ['config', '--show-scope', '--get-all', key]
  const { stdout } = await git(asked, { ...inRepository(repository), okCodes: [0, 1] })
  const own = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('command\t'))
  return own.at(-1)?.split('\t')[1] ?? ''
}

/** Reads files and git's settings; runs nothing of the repository. */
export const readOwnerRules = async (repository: Repository): Promise<Rules> => {
  const { root } = repository
  const byRunner = runnerFiles.filter((name) => existsSync(join(root, name)))
  const configured = await settingOf(repository, 'core.hookspath')
  const folders = ['.husky', '.githooks', ...(configured === '' ? [] : [relative(root, join(root, configured))])]
  const own = [...new Set(folders)]
    .filter((folder) => !folder.startsWith('..') && basename(folder) !== '_')
    .flatMap((folder) => hookNames.map((name) => join(folder, name)))
    .filter((path) => existsSync(join(root, path)))
  const checked = own.filter((path) => basename(path) === 'pre-commit').flatMap((path) => commandsOf(join(root, path)))
  const started = runners.flatMap(([file, command]) => (byRunner.some((name) => file.test(name)) ? [command] : []))
  return {
    ...{ hooks: [...byRunner, ...own], commands: [...new Set([...started, ...checked])] },
    signs: /^(?:true|yes|on|1)$/i.test(await settingOf(repository, 'commit.gpgsign')),
  }
}

/** At most two lines for people. */
export const ownerRuleLines = ({ hooks, commands, signs }: Rules): string[] => [
  ...(hooks.length === 0
    ? []
    : [
        `Hooks do not run on Unstuck's commits (${hooks.join(', ')}).${commands.length === 0 ? '' : ` To have the work checked alike, write into .unstuck/verify.contract.json: ${JSON.stringify({ commands })}`}`,
      ]),
  ...(signs
    ? [
        "You sign your commits (commit.gpgsign); Unstuck's are not signed. Where that is required, sign them before you push: git rebase --exec 'git commit --amend --no-edit -S' @{upstream}",
      ]
    : []),
]
