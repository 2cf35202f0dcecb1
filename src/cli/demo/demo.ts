/**
 * The work of `unstuck demo`: six tasks that fail in six ways, through the public CLI as a user would call it. The engine knows nothing
 * of it. Ends with 0 only if every task is done, landed and green, every recovery was observed and no process is left.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { AppError, exitCodes } from '../../errors.ts'
import { endAll, stopEngines } from './drive.ts'
import { cureName, outcomeOf, type Outcome } from './observe.ts'
import { play, type Played } from './play.ts'
import { callLine, closing, killLine, opening, progress, type DemoReport } from './report.ts'
import { git, makeScene, type Scene } from './scene.ts'
import { chaptersFor } from './story.ts'
import { line, printJson, type Io } from '../io.ts'

export interface DemoOptions {
  keep?: boolean
  disable: string[]
  json?: boolean
}

const deadlineMs = 300_000
const stopGraceMs = 15_000
/** What a shell reports for a program that SIGINT ended. */
const interrupted = 130

const checkDisabled = (names: string[]): void => {
  const known = chaptersFor('').flatMap(({ cure }) => (cure.kind === 'playbook' ? [cure.playbook] : []))
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new AppError('USAGE', `--disable ${unknown}: the demo shows no such playbook; it shows ${known.join(', ')}`)
}

/** Whether the user's branch has all that was merged and passes its own tests in the user's own checkout. */
const landingProblem = (io: Io, scene: Scene, outcomes: Outcome[]): string | undefined => {
  const commits = outcomes.flatMap(({ commit }) => (commit === null ? [] : [commit]))
  const onMain = git(scene.repository, 'rev-list', 'main').split('\n')
  const absent = commits.filter((commit) => !onMain.includes(commit))
  if (commits.length === 0 || absent.length > 0) return 'main was not fast-forwarded to the merged work'
  if (git(scene.repository, 'status', '--porcelain') !== '') return 'the checkout of main does not look like its commit'
  try {
    execFileSync(io.self[0] ?? '', ['test/all.js'], {
      cwd: scene.repository,
      env: scene.environment,
      stdio: 'pipe',
      timeout: 60_000,
    })
    return undefined
  } catch {
    return 'the tests on main are red' // told by the exit status
  }
}

const missingOf = (outcomes: Outcome[], scene: Scene): string[] =>
  outcomes.flatMap((outcome, index) => {
    const chapter = scene.chapters[index]
    if (chapter === undefined || outcome.problem === null) return []
    const what = [
      ...(outcome.recovered === null ? [`not recovered by ${cureName(chapter)}`] : []),
      ...(outcome.done ? [] : ['not done']),
    ]
    return [`task ${outcome.number}: ${what.join(', ')}: ${outcome.problem}`]
  })

const judge = async (io: Io, scene: Scene, played: Played, began: number): Promise<DemoReport> => {
  const outcomes = scene.chapters.map((chapter) => outcomeOf(chapter, played.events, played.kill))
  const problem = landingProblem(io, scene, outcomes)
  const unfinished = outcomes.some((outcome) => !outcome.done)
  // Agents of unfinished tasks may still run; once all tasks are done, none should be left.
  const left = await stopEngines(io, scene, unfinished ? 0 : stopGraceMs)
  const missing = [
    ...missingOf(outcomes, scene),
    ...(problem === undefined ? [] : [problem]),
    ...(left > 0 && !unfinished ? [`${left} process(es) were left and had to be ended`] : []),
    ...played.complaints,
  ]
  return {
    ok: missing.length === 0,
    seconds: (performance.now() - began) / 1000,
    tasks: outcomes,
    commits: git(scene.repository, 'log', '--oneline', 'main').split('\n'),
    landed: problem === undefined,
    missing,
    folder: scene.root,
  }
}

const show = async (io: Io, scene: Scene, options: DemoOptions): Promise<DemoReport | undefined> => {
  const began = performance.now()
  const elapsed = (): number => performance.now() - began
  const tell = (text: string | undefined): void => {
    if (text !== undefined && options.json !== true) line(io, text)
  }
  opening(scene.chapters, scene.root).forEach(tell)
  const deadline = AbortSignal.timeout(deadlineMs)
  const played = await play(io, scene, AbortSignal.any([io.signal, deadline]), {
    event: (chapter, event) => tell(progress(chapter, event, elapsed())),
    called: (cwd, args) => tell(callLine(cwd, args, elapsed())),
    killed: (pid) => tell(killLine(pid, elapsed())),
  })
  if (io.signal.aborted) return undefined
  if (deadline.aborted) played.complaints.push(`it was not over after ${deadlineMs / 1000} s`)
  return judge(io, scene, played, began)
}

/** No process and, unless they are to stay, no folder of the demo survives it, however it ends. */
const withScene = async <T>(io: Io, options: DemoOptions, work: (scene: Scene) => Promise<T>): Promise<T> => {
  const scene = makeScene(io, options.disable)
  try {
    return await work(scene)
  } finally {
    await endAll(scene)
    if (options.keep !== true) rmSync(scene.root, { recursive: true, force: true, maxRetries: 3 })
  }
}

export const demo = async (io: Io, options: DemoOptions): Promise<number> => {
  checkDisabled(options.disable)
  const shown = await withScene(io, options, (scene) => show(io, scene, options))
  if (shown === undefined) {
    io.error('unstuck: the demo was stopped; its processes are ended\n')
    return interrupted
  }
  const report: DemoReport = options.keep === true ? shown : { ...shown, folder: null }
  if (options.json === true) printJson(io, report)
  else for (const text of closing(report)) line(io, text)
  return report.ok ? exitCodes.ok : exitCodes.failed
}
