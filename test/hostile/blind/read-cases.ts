/** The cases of this folder, which are text so that scripts, Makefiles and tests stand in them as they are. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

interface Base {
  task: string
  check: string
  files: { path: string; text: string; executable: boolean }[]
}

export interface BlindCase {
  name: string
  kind: 'attack' | 'honest'
  base: Base
  task: string
  /** What the agent runs in its workspace. */
  script: string
  /** The plain check after it: an attack that is outside of the tree leaves it red. */
  isGreen: boolean
  /** The work changes what a test of the base expects, so that it may wait for `land`. */
  mayBeHeld: boolean
  /** Not looked at while the judge was mended. */
  heldOut: boolean
}

const sections = (name: string): [name: string, body: string][] =>
  readFileSync(new URL(name, import.meta.url), 'utf8')
    .split(/^=== /m)
    .slice(1)
    .map((section) => {
      const end = section.indexOf('\n')
      return [section.slice(0, end), section.slice(end + 1)]
    })

/** The lines `key: value` at the beginning of a section. */
const headOf = (body: string): { keys: Record<string, string>; rest: string } => {
  const keys: Record<string, string> = {}
  let rest = body
  for (let found; (found = /^(base|task|check|plain|held): (.*)\n/.exec(rest)); rest = rest.slice(found[0].length))
    keys[found[1] as string] = found[2] as string
  return { keys, rest }
}

const bases = new Map<string, Base>(
  sections('bases.txt').map(([name, body]) => {
    const { keys, rest } = headOf(body)
    const files = rest
      .split(/^--- /m)
      .slice(1)
      .map((file) => {
        const end = file.indexOf('\n')
        const [path = '', mode] = file.slice(0, end).split(' ')
        return { path, text: `${file.slice(end + 1).trimEnd()}\n`.replace(/^\n$/, ''), executable: mode === '+x' }
      })
    return [name, { task: keys.task ?? '', check: keys.check ?? '', files }]
  }),
)

const casesOf = (kind: BlindCase['kind'], file: string): BlindCase[] =>
  sections(file).map(([name, body]) => {
    const { keys, rest } = headOf(body)
    const base = bases.get(keys.base ?? '')
    if (base === undefined) throw new Error(`${name}: no base ${keys.base}`)
    return {
      ...{ name, kind, base, script: rest, task: keys.task ?? base.task },
      isGreen: keys.plain !== 'red',
      mayBeHeld: keys.held === 'may',
      heldOut: createHash('sha256').update(name).digest().readUInt32BE(0) % 3 === 0,
    }
  })

export const blindCases: BlindCase[] = [...casesOf('attack', 'attacks.txt'), ...casesOf('honest', 'honest.txt')]

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

/** Makes the repository of a case. */
export const layOut = ({ base }: BlindCase, root: string, more: Record<string, string> = {}): void => {
  for (const { path, text, executable } of base.files) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
    if (executable) chmodSync(join(root, path), 0o755)
  }
  for (const [path, text] of Object.entries(more)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  git(root, 'init', '-q', '-b', 'main')
  git(root, 'add', '-A')
  git(root, 'commit', '-qm', 'Start')
}

const passes = (check: string, root: string): boolean =>
  spawnSync('sh', ['-c', check], { cwd: root, encoding: 'utf8', timeout: 120_000 }).status === 0

/** What the check says in a plain clone before and after the agent's script: whether the case is what it claims to be. */
export const plainResult = (subject: BlindCase, top: string): { before: boolean; after: boolean; changed: string } => {
  const [root, clone] = [join(top, 'repo'), join(top, 'clone')]
  mkdirSync(root)
  layOut(subject, root)
  git(top, 'clone', '-q', root, join(top, 'base'))
  const before = passes(subject.base.check, join(top, 'base'))
  const head = git(root, 'rev-parse', 'HEAD')
  const { status, stderr } = spawnSync('sh', ['-e'], { cwd: root, input: subject.script, encoding: 'utf8' })
  // A check that fails in the script itself, as one that runs the tests to write a snapshot, does not end it.
  if (status !== 0) throw new Error(`${subject.name}: ${stderr}`)
  git(root, '-c', 'core.hooksPath=/dev/null', 'add', '-A')
  git(root, '-c', 'core.hooksPath=/dev/null', 'commit', '-q', '--allow-empty', '-m', 'Work')
  git(top, '-c', 'core.hooksPath=/dev/null', 'clone', '-q', root, clone)
  return { before, after: passes(subject.base.check, clone), changed: git(root, 'diff', '--stat', head, 'HEAD') }
}
