/** Determines the true result from main and from the processes, never from what a loop or an engine reports. */
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { FaultCase } from './faults.ts'
import type { BenchCell, FormResult } from './forms.ts'
import { gitIn } from './project.ts'

export interface Judgement {
  right: boolean
  falseDone: boolean
  left: number
  questions: number
  /** The problems; empty = right. */
  problems: string[]
}

/** The state before the work: main when the agent could start. */
export interface StateBefore {
  base: string
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return '' // it ended meanwhile, or it is not ours to read
  }
}

const cwdOf = (pid: string): string => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}

/** The processes of a cell, found by command line, environment or working folder. Linux only. */
export const processesOf = (folder: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => [read(`/proc/${pid}/cmdline`), read(`/proc/${pid}/environ`), cwdOf(pid)].join().includes(folder))
    .map(Number)

export const settled = async (folder: string): Promise<number[]> => {
  const deadline = performance.now() + 5000
  while (processesOf(folder).length > 0 && performance.now() < deadline) await delay(100)
  return processesOf(folder)
}

/** The paths that changed on main, without the user's own commits. */
const changedPaths = (project: string, base: string): string[] => {
  const commits = gitIn(project, 'rev-list', `${base}..main`).split('\n').filter(Boolean)
  const ofOthers = commits.filter((commit) => !gitIn(project, 'log', '-1', '--format=%s', commit).startsWith('Note a'))
  return ofOthers.flatMap((commit) => gitIn(project, 'diff', '--name-only', `${commit}^`, commit).split('\n'))
}

/** Runs the code on main in a checkout of its own, with the packages that it names. */
const answers = (cell: BenchCell, given: string[]): (string | undefined)[] => {
  const copy = join(cell.folder, 'oracle')
  gitIn(cell.folder, 'clone', '-q', '--no-local', '--branch', 'main', cell.project, copy)
  const packages = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8')) as { dependencies?: object }
  if (packages.dependencies !== undefined)
    execFileSync('npm', ['ci', '--offline', '--no-audit', '--no-fund'], { cwd: copy, stdio: 'pipe' })
  const text = `const { slug } = await import('./src/slug.mjs')\nconsole.log(JSON.stringify(${JSON.stringify(given)}.map(slug)))`
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', text], { cwd: copy, encoding: 'utf8' }),
  ) as string[]
}

export const doneProblems = (
  cell: BenchCell,
  wanted: Pick<FaultCase, 'files' | 'expected'>,
  { base }: StateBefore,
): string[] => {
  const changed = changedPaths(cell.project, base)
  const strange = changed.filter((path) => !wanted.files.includes(path))
  const absent = wanted.files.filter((path) => !changed.includes(path))
  const given = Object.keys(wanted.expected)
  const found = answers(cell, given)
  const wrong = given.filter((text, at) => found[at] !== wanted.expected[text])
  return [
    ...(strange.length > 0 ? [`on main, but not of the task: ${[...new Set(strange)].join(', ')}`] : []),
    ...(absent.length > 0 ? [`not on main: ${absent.join(', ')}`] : []),
    ...(wrong.length > 0 ? [`main answers wrongly to ${JSON.stringify(wrong)}`] : []),
  ]
}

export const checkoutProblems = ({ project }: BenchCell): string[] => {
  const changed = gitIn(project, 'status', '--porcelain', '-uno')
  return changed === '' ? [] : [`the checkout is not as main: ${changed}`]
}

const questionProblems = (cell: BenchCell, { base }: StateBefore, questions: number): string[] => [
  ...(gitIn(cell.project, 'rev-parse', 'main') === base ? [] : ['main was changed']),
  ...(questions === 1 ? [] : [`${questions} questions instead of one`]),
]

const userProblems = ({ project }: BenchCell, wanted: FaultCase): string[] => {
  if (wanted.meanwhile === undefined) return []
  const subjects = gitIn(project, 'log', '--format=%s', 'main').split('\n')
  return subjects.includes('Note a thought') ? [] : ["the user's commit is not on main"]
}

export const judge = async (
  cell: BenchCell,
  wanted: FaultCase,
  before: StateBefore,
  ending: FormResult,
): Promise<Judgement> => {
  const left = await settled(cell.folder)
  const content =
    wanted.wanted === 'question'
      ? questionProblems(cell, before, ending.questions)
      : [...doneProblems(cell, wanted, before), ...checkoutProblems(cell), ...userProblems(cell, wanted)]
  const disbelieved = wanted.wanted === 'done' && !ending.claimsDone ? ['it does not report that it is done'] : []
  const isTrue = wanted.wanted === 'done' && content.length === 0
  const problems = [...content, ...disbelieved, ...(left.length > 0 ? [`${left.length} processes are left`] : [])]
  return {
    right: content.length === 0 && disbelieved.length === 0,
    falseDone: ending.claimsDone && !isTrue,
    left: left.length,
    questions: ending.questions,
    problems,
  }
}
