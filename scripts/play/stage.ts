/**
 * A scratch folder for `npm run play` and `npm run dev`: the repository of `unstuck demo` with scripted agents, and a home of its own.
 * Every process that is started there has the folder's name as TMPDIR, which agents, checks, shims and the store inherit.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyEdit } from '../../sim/agents/scripted-work.ts'
import { endProcesses } from '../../src/cli/demo/drive.ts'
import { agentProgram, makeRepository, stageEnvironment, type Stage } from '../../src/cli/demo/folders.ts'
import { checkCommand, repositoryFiles } from '../../src/cli/demo/story.ts'
import { createIo, type Io } from '../../src/cli/io.ts'
import { AppError, errorTable } from '../../src/errors.ts'
import { nobodyAccount } from '../../src/store/server/account.ts'
import { topOf } from '../../src/store/server/places.ts'
import { repositoryRoot } from '../root.ts'
import { scenarios, type Scenario } from './scenarios.ts'

export interface Scratch extends Stage {
  root: string
  repository: string
  /** Of all scenarios. */
  taskFile: string
}

/** The process of a script, as the commands see it that it calls. */
export const scriptIo = (): Io => ({
  ...createIo('development', process.env),
  self: [process.execPath, join(repositoryRoot, 'bin', 'unstuck.js')],
})

/** The same, typed in the repository of the stage. */
export const ioIn = (io: Io, { environment, places: [cwd = ''] }: Stage): Io => ({ ...io, cwd, environment })

const harnessName = ({ agent }: Scenario, index: number): string => `${agent}-${index + 1}`

const harnessOf = (scenario: Scenario, name: string, root: string) => {
  const file = (kind: string, edits: Scenario['edits']): string => {
    const path = join(root, `${name}-${kind}.json`)
    writeFileSync(path, JSON.stringify({ edits, text: `Done: ${scenario.title}.` }))
    return path
  }
  const answer = file('answer', scenario.edits)
  const memory = join(root, `${name}-memory`)
  const flags = {
    steady: () => [answer],
    overloaded: () => [answer, memory],
    hang: () => ['--answer', answer],
    failing: () => ['--answer', answer],
    hasty: () => ['--answer', answer, '--first', file('first', scenario.first ?? [])],
  }[scenario.agent]()
  const once = scenario.always === true || !flags.includes('--answer') ? [] : ['--once', memory]
  return { driver: scenario.driver, command: [process.execPath, agentProgram(scenario.agent), ...flags, ...once] }
}

const configOf = (root: string) => ({
  harness: Object.fromEntries(
    scenarios.map((scenario, index) => {
      const name = harnessName(scenario, index)
      return [name, harnessOf(scenario, name, root)]
    }),
  ),
  maxParallel: 3,
  verify: { commands: [checkCommand] },
  // Long enough for an agent on a busy machine, and short enough to watch.
  stall: { silenceSeconds: 10 },
  retry: { transientBaseSeconds: 2 },
  // The question comes while a person is still looking.
  requeue: { inPlaceLimit: 0, reworkDepth: 0 },
})

const tasksOf = () =>
  scenarios.map((scenario, index) => ({
    ...{ id: String(index + 1), title: scenario.title, instructions: `${scenario.title}, with a test.` },
    harness: harnessName(scenario, index),
  }))

const fill = ({ root, repository, taskFile }: Scratch): void => {
  for (const edit of repositoryFiles) applyEdit(repository, edit)
  mkdirSync(join(repository, '.unstuck'))
  writeFileSync(join(repository, '.unstuck', 'config.json'), `${JSON.stringify(configOf(root), null, 2)}\n`)
  writeFileSync(taskFile, JSON.stringify({ version: 1, goal: 'Convert more units', tasks: tasksOf() }))
  makeRepository(repository)
}

/** Without `repository` it is a new one, with the scenarios. */
const makeScratch = (io: Io, prefix: string, repository: string | undefined): Scratch => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), prefix)))
  const mark = ['TMPDIR', join(root, 'tmp')] as const
  const place = repository ?? join(root, 'repository')
  for (const folder of [mark[1], place]) mkdirSync(folder, { recursive: true })
  const scratch: Scratch = {
    ...{ root, repository: place, places: [place], taskFile: join(root, 'tasks.json') },
    ...{ mark, environment: stageEnvironment(io, root, mark) },
  }
  if (repository === undefined) fill(scratch)
  return scratch
}

const remove = ({ root, environment }: Scratch): void => {
  // Root's server has its data outside of the home.
  if (process.getuid?.() === 0)
    rmSync(topOf(environment.UNSTUCK_HOME ?? '', nobodyAccount), { recursive: true, force: true })
  rmSync(root, { recursive: true, force: true, maxRetries: 3 })
}

export interface ScratchOptions {
  prefix: string
  repository?: string | undefined
}

/** Ends all processes of the scratch folder and removes it, however `work` ends. An operational error is reported as the CLI does. */
export const withScratch = async (
  io: Io,
  { prefix, repository }: ScratchOptions,
  work: (scratch: Scratch) => Promise<void>,
): Promise<void> => {
  const scratch = makeScratch(io, prefix, repository)
  try {
    await work(scratch)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    io.error(`${error.message}\n`)
    process.exitCode = errorTable[error.code].exit
  } finally {
    await endProcesses(scratch)
    remove(scratch)
  }
}
