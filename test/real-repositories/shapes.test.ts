/**
 * Repositories as people have them, made in seconds from git plumbing. In each of them the same goal lands as a user would start it, or
 * ends with the remedy that works; what is the owner's stays as it was.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { runHere, type Ended } from '../cli/in-process.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { isLongForm } from '../support/form.ts'

const agent = "require('fs').writeFileSync('made.txt', 'made')"

/** Shell lines begin in an empty folder. `plain` makes a repository in `repo` and enters it; the last folder is where the user works. */
const plain = `
plain() {
  git init -q "\${1:-repo}" && cd "\${1:-repo}"
  echo hi > README.md && echo '{"scripts":{"test":"node -e 0"}}' > package.json
  git add -A && git commit -qm base
}
divided() { plain; git checkout -q -b other; echo o > README.md; git commit -qam o; git checkout -q main; echo m > README.md; git commit -qam m; }
signer() {
  printf '#!/bin/sh\\ncat > /dev/null\\necho "\\n[GNUPG:] SIG_CREATED " >&2\\necho "-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----"\\n' > "$1"
  chmod +x "$1"
}
hook() { printf '#!/bin/sh\\nexit 1\\n' > "$1"; chmod +x "$1"; }
`

const lands: Record<string, string> = {
  'without anything special': 'plain',
  'with uncommitted work': 'plain; echo change >> README.md; echo mine > untracked',
  'with staged work': 'plain; echo change >> README.md; git add README.md',
  'in a folder with spaces and umlauts': 'mkdir "a b ü"; cd "a b ü"; plain',
  'behind a link': 'mkdir real; (cd real; plain); ln -s "$PWD/real/repo" link; cd link',
  'on a branch with a slash and signs': "plain; git checkout -q -b 'feature/JIRA-123_ünï#x@y'",
  'on another branch than the default one': 'plain; git checkout -q -b dev; git branch -qD main',
  'in a partial clone without files':
    'plain; git config uploadpack.allowFilter true; cd ..; git clone -q --filter=blob:none "file://$PWD/repo" part; cd part',
  'in a partial clone without trees':
    'plain; git config uploadpack.allowFilter true; cd ..; git clone -q --filter=tree:0 "file://$PWD/repo" part; cd part',
  'in a shallow clone':
    'plain; for i in 1 2 3; do git commit -q --allow-empty -m $i; done; cd ..; git clone -q --depth 1 "file://$PWD/repo" shallow; cd shallow',
  'that is sparse by folders':
    'plain; mkdir a b; echo 1 > a/x; echo 2 > b/y; git add -A; git commit -qm ab; git sparse-checkout set a',
  'that is sparse by patterns':
    "plain; mkdir b; echo 2 > b/y; git add -A; git commit -qm b; git sparse-checkout set --no-cone '/*' '!b'",
  'with a submodule': 'plain sub; cd ..; plain; git submodule --quiet add "file://$PWD/../sub" sub; git commit -qm sub',
  'with a submodule that is not there':
    'plain sub; cd ..; plain; git submodule --quiet add "file://$PWD/../sub" sub; git commit -qm sub; cd ..; git clone -q repo clone; cd clone',
  'that is a submodule itself':
    'plain sub; cd ..; plain; git submodule --quiet add "file://$PWD/../sub" sub; git commit -qm sub; cd sub',
  'with its git directory elsewhere': 'git init -q --separate-git-dir="$PWD/elsewhere" repo; plain',
  'with borrowed objects': 'plain; cd ..; git clone -q --shared repo borrowing; cd borrowing',
  'in a worktree of a bare repository':
    'plain; cd ..; git clone -q --bare repo bare.git; git -C bare.git worktree add -q ../tree main; cd tree',
  'with another hash': 'git init -q --object-format=sha256 repo; plain',
  'with converted line endings':
    "plain; git config core.autocrlf true; printf 'a\\r\\nb\\r\\n' > w.txt; git add -A 2>/dev/null; git commit -qm w",
  'with attributes that expand':
    "plain; echo '*.md ident eol=crlf' > .gitattributes; printf '$Id$\\r\\n' > i.md; git add -A 2>/dev/null; git commit -qm i",
  'with names that differ by case alone': 'plain; echo a > Foo; echo b > foo; git add -A; git commit -qm case',
  'with signed commits':
    'plain; signer ../gpg; git config --global gpg.program "$PWD/../gpg"; git config commit.gpgsign true; git commit -q --allow-empty -m signed',
  'with hooks that refuse everything':
    'plain; for name in pre-commit commit-msg pre-push reference-transaction post-checkout; do hook .git/hooks/$name; done',
  'with a folder of hooks':
    'plain; mkdir .githooks; hook .githooks/pre-commit; git config core.hooksPath .githooks; git add -A; git commit -qnm hooks',
  'with pre-commit':
    "plain; printf 'repos: []\\n' > .pre-commit-config.yaml; hook .git/hooks/pre-commit; git add -A; git commit -qnm pc",
  'in the middle of a bisection': 'plain; git commit -q --allow-empty -m 2; git bisect start -q; git bisect bad',
  'with files that git is told to skip': 'plain; rm README.md; git update-index --skip-worktree README.md',
  'with files that git is told to take as unchanged':
    'plain; echo x >> README.md; git update-index --assume-unchanged README.md',
  'with a repository inside of it': "plain; (plain inner); printf 'inner\\n' >> .git/info/exclude",
  'with replaced commits': 'plain; git commit -q --allow-empty -m 2; git replace --graft HEAD',
  'with a remote that is gone':
    'plain; git remote add origin /nonexistent/x.git; git config branch.main.remote origin; git config branch.main.merge refs/heads/main',
  'behind its remote':
    'plain; cd ..; git clone -q repo clone; git -C repo commit -q --allow-empty -m 2; cd clone; git fetch -q',
  'whose index is split': 'plain; git update-index --split-index',
  'whose index has another version':
    'plain; git update-index --index-version 4; git config core.untrackedCache true; git status > /dev/null',
  'with a graph of its commits': 'plain; git gc -q; git commit-graph write --reachable 2> /dev/null',
  'with a configuration per worktree':
    'plain; git config extensions.worktreeConfig true; git config --worktree core.sparseCheckout false',
  'whose objects are read-only': 'plain; chmod -R a-w .git/objects',
  'whose modes do not count': 'plain; git config core.fileMode false; chmod +x README.md',
  'with 20,000 files': `plain; node -e "for (let d = 0; d < 100; d += 1) { fs.mkdirSync('d' + d); for (let f = 0; f < 200; f += 1) fs.writeFileSync('d' + d + '/f' + f, String(f)) }"; git add -A; git commit -qm many`,
}

interface Shape {
  cli: (...args: string[]) => Promise<Ended>
  git: (...args: string[]) => string
  clear: () => Promise<void>
}

const env = (top: string): Record<string, string> => ({
  ...{ PATH: process.env['PATH'] ?? '', HOME: top, UNSTUCK_HOME: join(top, 'home') },
  ...{ GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C.UTF-8' },
})

/** Makes the repository; the engine of its own uses the server of the test run. */
const make = (script: string): Shape => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-shape-')))
  prepareEngineHome(join(top, 'home'))
  writeFileSync(
    join(top, '.gitconfig'),
    '[user]\n\tname = o\n\temail = o@o\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n',
  )
  const at = join(top, 'work')
  mkdirSync(at)
  const shell = (text: string, cwd: string): string =>
    execFileSync('bash', ['-euc', `${plain}\n${text}`], { cwd, env: env(top), encoding: 'utf8', stdio: 'pipe' })
  const root = shell(`{ ${script}; } >&2; pwd`, at).trim()
  const harness = { default: 'mine', mine: { command: [process.execPath, '-e', agent], promptMode: 'argument' } }
  shell('mkdir -p .unstuck; echo .unstuck >> "$(git rev-parse --git-path info/exclude)"', root)
  writeFileSync(join(root, '.unstuck/config.json'), JSON.stringify({ harness }))
  const cli = (...args: string[]) => runHere(args, { cwd: root, environment: env(top) })
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, env: env(top), encoding: 'utf8' })
  const clear = async (): Promise<void> => {
    await cli('stop')
    shell(`chmod -R u+w .`, at)
    rmSync(top, { recursive: true, force: true, maxRetries: 5 })
  }
  return { cli, git, clear }
}

/** What is the owner's and may not change: files, index, configuration, other branches. */
const ownersOf = ({ git }: Shape): string[] => [
  git('status', '--porcelain', '--ignore-submodules=none'),
  git('config', '--local', '--list'),
  git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/tags', 'refs/remotes', 'refs/replace', 'refs/stash'),
]

const inShape = async (script: string, use: (shape: Shape) => Promise<void>): Promise<void> => {
  const shape = make(script)
  try {
    await use(shape)
  } finally {
    await shape.clear()
  }
}

/** CI takes each seventh, and each of a kind is in the long form. */
const chosen = <T>(all: readonly T[]): T[] => all.filter((_, index) => index % 7 === 0 || isLongForm)

describe.concurrent('a repository', () => {
  it.for(chosen(Object.entries(lands)))(
    '%s: the goal lands, and nothing else changes',
    async ([, script], { expect }) =>
      inShape(script, async (shape) => {
        const before = ownersOf(shape)
        const { exitCode, stdout, stderr } = await shape.cli('run', 'Make made.txt', '--merge')
        expect([exitCode, stderr], stdout).toEqual([0, ''])
        expect(shape.git('show', 'HEAD:made.txt')).toBe('made')
        expect(shape.git('diff', '--name-only', 'HEAD~1', 'HEAD')).toBe('made.txt\n')
        expect(ownersOf(shape)).toEqual(before)
      }),
  )
})

/** What keeps the goal from starting or landing, a word of the message, and what the message asks for. */
const remedies: [name: string, script: string, said: string, remedy: string[], then: 'run' | 'land'][] = [
  ['in the middle of a merge', 'divided; git merge -q other || true', 'MERGE_HEAD', ['merge', '--abort'], 'land'],
  ['with a branch in the way', 'plain; git branch unstuck', 'branch -m', ['branch', '-m', 'unstuck', 'mine'], 'run'],
  ['with edited files in the way', 'plain; echo mine > made.txt', 'made.txt', ['clean', '-fdq', 'made.txt'], 'land'],
  ['without a commit', 'git init -q repo; cd repo', 'no commit', ['commit', '-q', '--allow-empty', '-m', '1'], 'run'],
  [
    'with a signing program of its own',
    'plain; signer ../gpg; for at in --global --local; do git config $at gpg.program "$PWD/../gpg"; done; git config commit.gpgsign true',
    'git config --unset gpg.program',
    ['config', '--unset', 'gpg.program'],
    'land',
  ],
  ['on no branch', 'plain; git checkout -q --detach', '--into', ['checkout', '-q', 'main'], 'land'],
]

describe.concurrent('a repository', () => {
  it.for(chosen(remedies))('%s: says what to do, and that works', async ([, script, said, remedy, then], { expect }) =>
    inShape(script, async (shape) => {
      const first = await shape.cli('run', 'Make made.txt', '--merge')
      expect(first.stdout + first.stderr).toContain(said)
      shape.git(...remedy)
      const goal = /\bg-[a-z0-9]+/.exec(first.stdout)?.[0] ?? ''
      const into = said === '--into' ? ['--into', 'main'] : []
      const second =
        then === 'run' ? await shape.cli('run', 'Make made.txt', '--merge') : await shape.cli('land', goal, ...into)
      expect(second.exitCode, second.stdout + second.stderr).toBe(0)
      expect(shape.git('show', 'main:made.txt')).toBe('made')
    }),
  )
})
