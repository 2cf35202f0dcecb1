/**
 * What a person would look at who believes nothing that the engine says: plain git, plain child processes and /proc. Only
 * the questions are the engine's own words, because they are what it is asked for.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GoalView, StatusView } from '../../src/api/contract.ts'
import { user } from '../workspace/scene.ts'

export const commitsOf = (root: string): string[] =>
  user(root, 'rev-list', '--branches')
    .split('\n')
    .filter((name) => name !== '')

/** Files by which the first commit of a scene checks its work. The work itself is in the others. */
const checking = /^(?:check\.mjs|alive\.mjs|package\.json|Makefile|\.\w+rc\.json|(?:test|tools)\/.*)$/

export interface Landed {
  root: string
  base: string
  /** Commits that were there before. */
  known: ReadonlySet<string>
  goals: readonly { branch: string; commands: readonly string[] }[]
  /** Files of the base that a task of the test says are to change. */
  given?: readonly string[]
}

const runPlainly = (cwd: string, line: string): string => {
  const [program = '', ...args] = line.split(' ')
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    ...{ cwd, encoding: 'utf8', timeout: 60_000 },
    env: { PATH: process.env.PATH, HOME: cwd },
  })
  return status === 0 ? '' : `${line}: ${error?.message ?? `${String(status)} ${stdout}${stderr}`.slice(-500)}`
}

const failuresAt = ({ root, base, given = [] }: Landed, commit: string, commands: readonly string[]): string[] => {
  const place = mkdtempSync(join(tmpdir(), 'unstuck-oracle-'))
  try {
    user(root, 'clone', '--quiet', '--no-checkout', '--no-hardlinks', root, place)
    user(place, 'checkout', '--quiet', '--detach', commit)
    const files = user(place, 'ls-tree', '-r', '-z', '--name-only', base).split('\0')
    const checks = files.filter((path) => checking.test(path) && !given.includes(path))
    if (checks.length > 0) user(place, 'checkout', '--quiet', base, '--', ...checks)
    // Programs that a commit brings are none that its checks are started with.
    for (const folder of ['node_modules', '.venv']) rmSync(join(place, folder), { recursive: true, force: true })
    return commands.map((line) => runPlainly(place, line)).filter((text) => text !== '')
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** The commands that a commit has to pass: those of the goals whose branches hold it, or of all of them if it is on none. */
const commandsFor = ({ root, goals }: Landed, commit: string): string[] => {
  const branches = user(root, 'branch', '--contains', commit, '--format=%(refname:short)').split('\n')
  const holding = goals.filter(({ branch }) => branches.includes(branch))
  return [...new Set((holding.length === 0 ? goals : holding).flatMap(({ commands }) => commands))]
}

/** Commits of any branch that do not pass what the base would ask of them. */
export const unverifiedCommits = (landed: Landed): string[] =>
  commitsOf(landed.root)
    .filter((commit) => !landed.known.has(commit))
    .flatMap((commit) =>
      failuresAt(landed, commit, commandsFor(landed, commit)).map((text) => `${commit.slice(0, 8)}: ${text}`),
    )

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // it ended meanwhile, or is another user's
  }
}

const linksOf = (pid: string): string[] => {
  const targetOf = (path: string): string => {
    try {
      return readlinkSync(path)
    } catch {
      return ''
    }
  }
  try {
    const open = readdirSync(`/proc/${pid}/fd`).map((number) => `/proc/${pid}/fd/${number}`)
    return [`/proc/${pid}/cwd`, `/proc/${pid}/exe`, ...open].map(targetOf)
  } catch {
    return []
  }
}

/** Processes that have to do with a folder, in words. `parts`: words of a command line by which a part of the engine is known. */
export const processesIn = (top: string, parts: readonly string[]): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .flatMap((pid) => {
      const state = textOf(`/proc/${pid}/stat`)
      if (/^\) [ZX]/.test(state.slice(state.lastIndexOf(')')))) return []
      const args = textOf(`/proc/${pid}/cmdline`).split('\0')
      if (args.some((word) => parts.some((part) => word.startsWith(part)))) return []
      const places = [...args, ...linksOf(pid)].filter((place) => place.includes(`${top}/`) || place === top)
      return places.length === 0 ? [] : [`${pid} ${args.join(' ').slice(0, 300)}: ${places.slice(0, 3).join(', ')}`]
    })

/** Goals of which it is not told clearly, once, how they stand. */
export const unclearGoals = ({ escalations }: StatusView, goals: readonly GoalView[]): string[] =>
  goals.flatMap((goal) => {
    if (['ready', 'done', 'cancelled'].includes(goal.state)) return []
    const open = escalations.filter(({ goalId }) => goalId === goal.id).length
    const isTold = goal.state === 'failed' ? goal.reason !== '' && open === 0 : open === 1
    return isTold ? [] : [`${goal.id} is ${goal.state}, with ${open} questions`]
  })
