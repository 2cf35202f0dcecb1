/** One cell: one fault under one form, in a folder of its own that is removed at the end. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { FaultCase } from './faults.ts'
import type { BenchCell, FormResult, Form } from './forms.ts'
import { beganFile, goFile, launchesFile } from './job.ts'
import { judge, processesOf, type Judgement } from './oracle.ts'
import { gitIn, projectFiles, writeFiles } from './project.ts'

export interface CellOutcome extends Judgement {
  fault: string
  form: string
  seconds: number
  launches: number
  said: string
}

/** Without the tools of this checkout, as on a user's machine. */
const ownPath = (): string => {
  const node = join(process.execPath, '..')
  const rest = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  return [node, ...rest].join(delimiter)
}

const environment = (folder: string, cache: string): NodeJS.ProcessEnv => ({
  ...{ PATH: ownPath(), HOME: join(folder, 'home'), LANG: 'C.UTF-8' },
  ...{ UNSTUCK_HOME: join(folder, 'unstuck'), XDG_CACHE_HOME: cache, npm_config_cache: join(folder, 'npm') },
  ...{ GIT_CONFIG_NOSYSTEM: '1' },
})

const identity = '[user]\n\tname = A User\n\temail = user@localhost\n'

interface Opening {
  name: string
  cache: string
  scene: Pick<FaultCase, 'prepare' | 'spoil'>
}

/** A folder with the user's repository, home and caches; its agent and tasks are still to be set. */
export const openCell = ({ name, cache, scene }: Opening): BenchCell => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-autonomy-')))
  const [project, memory] = [join(folder, 'project'), join(folder, 'memory')]
  mkdirSync(memory)
  writeFiles(join(folder, 'home'), { '.gitconfig': identity })
  writeFiles(project, projectFiles)
  scene.prepare?.({ project, memory })
  gitIn(project, 'init', '-q', '-b', 'main')
  gitIn(project, 'add', '-A')
  gitIn(project, 'commit', '-q', '-m', 'Start')
  scene.spoil?.({ project, memory })
  return { folder, project, memory, name, tasks: [], agent: [], env: environment(folder, cache) }
}

const makeCell = (wanted: FaultCase, cache: string): BenchCell => {
  const cell = openCell({ name: wanted.name, cache, scene: wanted })
  const [jobs, program] = [join(cell.folder, 'jobs.json'), join(import.meta.dirname, 'agent.ts')]
  writeFiles(cell.folder, { 'jobs.json': JSON.stringify(wanted.jobs) })
  return { ...cell, tasks: wanted.tasks, agent: [process.execPath, program, '--jobs', jobs, '--memory', cell.memory] }
}

/** The user, who works at the same time as the agent. */
export const accompany = (cell: BenchCell, wanted: Pick<FaultCase, 'meanwhile'>): (() => void) => {
  const timer = setInterval(() => {
    if (wanted.meanwhile === undefined || !existsSync(join(cell.memory, beganFile))) return
    if (existsSync(join(cell.memory, goFile))) return
    wanted.meanwhile(cell)
    writeFileSync(join(cell.memory, goFile), '')
  }, 100)
  return () => clearInterval(timer)
}

export const launchesOf = ({ memory }: BenchCell): number =>
  readdirSync(memory)
    .filter((name) => name.endsWith(launchesFile))
    .reduce((sum, name) => sum + readFileSync(join(memory, name), 'utf8').trim().split('\n').length, 0)

const endAll = (folder: string): void => {
  for (const pid of processesOf(folder)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has ended in between.
    }
  }
}

export const closeCell = (cell: BenchCell, keep: boolean): void => {
  endAll(cell.folder)
  if (!keep) rmSync(cell.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

export interface CellChoice {
  form: Form
  formName: string
  wanted: FaultCase
  cache: string
  seconds: number
  /** Keep the folder of a cell with a wrong result. */
  keep: boolean
}

export const runCell = async ({ form, formName, wanted, cache, seconds, keep }: CellChoice): Promise<CellOutcome> => {
  const cell = makeCell(wanted, cache)
  const base = gitIn(cell.project, 'rev-parse', 'main')
  const leave = accompany(cell, wanted)
  const began = performance.now()
  let right = false
  try {
    const ending: FormResult = await form(cell, seconds)
    const took = (performance.now() - began) / 1000
    const judgement = await judge(cell, wanted, { base }, ending)
    right = judgement.right && judgement.left === 0 && !judgement.falseDone
    const said = right ? '' : `${ending.said}${keep ? `\n(kept in ${cell.folder})` : ''}`
    return { ...judgement, fault: wanted.name, form: formName, seconds: took, launches: launchesOf(cell), said }
  } finally {
    leave()
    closeCell(cell, keep && !right)
  }
}
