/**
 * Real repositories in temporary folders. `user` runs plain git as a person would, with no configuration but its own;
 * a canary is a file that only a program started by mistake would make.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createWorkspace } from '../../src/workspace/clone.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'
import type { Repository } from '../../src/workspace/repository-types.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { openShadow } from '../../src/workspace/shadow.ts'
import type { Shadow } from '../../src/workspace/shadow.ts'

/** Repositories of tests need not survive the machine, and git's own upkeep would start programs beside them. */
const cheap = { 'core.fsync': 'none', 'gc.auto': '0', 'maintenance.auto': 'false' }

export const cheapGit: Record<string, string> = {
  GIT_CONFIG_COUNT: String(Object.keys(cheap).length),
  ...Object.fromEntries(
    Object.entries(cheap).flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
}

export const user = (cwd: string, ...args: string[]): string =>
  execFileSync(
    'git',
    ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.invalid', '-c', 'commit.gpgSign=false', ...args],
    {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', ...cheapGit },
    },
  ).trim()

export const put = (root: string, files: Record<string, string | Uint8Array>): void => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

export const commitAll = (root: string, message = 'change'): string => {
  user(root, 'add', '-A')
  user(root, 'commit', '--quiet', '--no-verify', '--allow-empty', '-m', message)
  return user(root, 'rev-parse', 'HEAD')
}

/** One repository for each set of first files, made once and copied: four programs of git cost more than the copy. */
const templates = new Map<string, { folder: string; head: string }>()

const makeTemplate = (files: Record<string, string | Uint8Array>): { folder: string; head: string } => {
  const parent = process.env.UNSTUCK_TEST_TEMPLATES ?? tmpdir()
  const folder = join(mkdtempSync(join(parent, 'unstuck-template-')), 'repository')
  mkdirSync(folder)
  // Without the samples of hooks, which nobody reads.
  user(folder, 'init', '--quiet', '--initial-branch=main', '--template=')
  mkdirSync(join(folder, '.git', 'info'), { recursive: true })
  put(folder, files)
  return { folder, head: commitAll(folder, 'first') }
}

process.once('exit', () => {
  for (const { folder } of templates.values()) rmSync(dirname(folder), { recursive: true, force: true })
})

export const makeRepository = (
  root: string,
  files: Record<string, string | Uint8Array> = { 'a.txt': 'a\n' },
): string => {
  const key = JSON.stringify(Object.entries(files).map(([path, text]) => [path, Buffer.from(text).toString('base64')]))
  const template = templates.get(key) ?? makeTemplate(files)
  templates.set(key, template)
  cpSync(template.folder, root, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  // A copy has other inodes than its index says.
  user(root, 'update-index', '-q', '--refresh')
  return template.head
}

export interface Scene {
  /** Holds everything; removed by `clear`. */
  top: string
  root: string
  head: string
  repository: Repository
  shadow: Shadow
  index: string
  clear: () => Promise<void>
}

export const temporaryFolder = (): string => realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-workspace-')))

export const setScene = async (files?: Record<string, string | Uint8Array>): Promise<Scene> => {
  const top = temporaryFolder()
  const root = join(top, 'project')
  const head = makeRepository(root, files)
  const repository = await openRepository(root)
  const shadow = await openShadow(join(top, 'state'), repository)
  const clear = async (): Promise<void> => removeFolder(top)
  return { top, root, head, repository, shadow, index: join(top, 'state', 'run.index'), clear }
}

export const workspaceOf = async (scene: Scene, name = 'run1'): Promise<string> => {
  const dir = join(scene.top, 'state', 'runs', name)
  await createWorkspace({ repository: scene.repository, base: scene.head, dir, branch: 'work' })
  return dir
}

export interface Canary {
  path: string
  /** A program that leaves the canary. */
  program: string
  sung: () => boolean
  reset: () => Promise<void>
}

export const makeCanary = (top: string): Canary => {
  const path = join(top, 'canary')
  const program = join(top, 'canary.sh')
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${path}'\ncat 2>/dev/null\nexit 0\n`)
  chmodSync(program, 0o755)
  return { path, program, sung: () => existsSync(path), reset: async () => rm(path, { force: true }) }
}

const hookNames =
  `applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit post-index-change
  post-merge post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase
  pre-receive prepare-commit-msg push-to-checkout reference-transaction update proc-receive`.split(/\s+/)

/** Everything in hooks and configuration of a git directory that could start a program starts the canary. */
export const makeHostile = (gitDir: string, canary: Canary): void => {
  mkdirSync(join(gitDir, 'hooks'), { recursive: true })
  for (const name of hookNames) {
    writeFileSync(join(gitDir, 'hooks', name), `#!/bin/sh\nexec '${canary.program}' ${name}\n`)
    chmodSync(join(gitDir, 'hooks', name), 0o755)
  }
  const include = join(gitDir, 'more.config')
  writeFileSync(
    include,
    `[filter "y"]\n\tsmudge = ${canary.program}\n\tclean = ${canary.program}\n[core]\n\tpager = ${canary.program}\n`,
  )
  const text = `
[core]
	fsmonitor = ${canary.program}
	hooksPath = ${join(gitDir, 'hooks')}
	sshCommand = ${canary.program}
	editor = ${canary.program}
	alternateRefsCommand = ${canary.program}
	askPass = ${canary.program}
[filter "x"]
	smudge = ${canary.program}
	clean = ${canary.program}
	required = true
[filter "p"]
	process = ${canary.program}
[filter "odd=name.x"]
	smudge = ${canary.program}
	clean = ${canary.program}
[diff]
	external = ${canary.program}
[diff "x"]
	textconv = ${canary.program}
	command = ${canary.program}
[merge "x"]
	driver = ${canary.program}
[merge]
	verifySignatures = true
	autoStash = true
[gpg]
	program = ${canary.program}
[alias]
	status = !${canary.program}
	read-tree = !${canary.program}
[credential]
	helper = !${canary.program}
[gc]
	auto = 1
[includeIf "gitdir:/"]
	path = ${include}
[include]
	path = ${include}
`
  execFileSync('sh', ['-c', 'cat >> "$0"', join(gitDir, 'config')], { input: text })
}

export const attributes = '* filter=x diff=x merge=x\n*.md filter=y\n*.ts filter=p\n*.js filter=odd=name.x\n'

export const listing = (root: string): string[] => readdirSync(root).sort()
