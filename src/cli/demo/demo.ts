/**
 * The work of `unstuck demo`: runs six tasks that fail in six ways through the public CLI, as a user would. The engine has no
 * special case for the demo. Exits with 0 only if every task is done and landed with green tests, every recovery was
 * observed, and no process is left running.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { AppError, exitCodes } from '../../errors.ts'
import { endProcesses, stopEngines } from './drive.ts'
import { cureName, demoOutcome, type DemoOutcome } from './observe.ts'
import { playDemo, type Played } from './play.ts'
import { callLine, closingLines, killLine, openingLines, progressLine, type DemoReport } from './demo-report.ts'
import { demoGit, makeDemoFolders, type DemoFolders } from './folders.ts'
import { chaptersFor } from './story.ts'
import { printLine, printJson, type Io } from '../io.ts'
import { countText } from '../times.ts'

export interface DemoOptions {
  keep?: boolean
  disable: string[]
  json?: boolean
}

const deadlineMs = 300_000
/** Time for agents to exit after the engines have stopped. */
const agentExitMs = 15_000
/** The status that a shell reports for a program ended by SIGINT. */
const interrupted = 130

const checkDisabled = (names: string[]): void => {
  const known = chaptersFor('').flatMap(({ cure }) => (cure.kind === 'playbook' ? [cure.playbook] : []))
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new AppError(
      'USAGE',
      `--disable ${unknown}: the demo does not use this playbook; it uses ${known.join(', ')}`,
    )
}

/** The reason why the work has not landed properly; undefined if main has every merged commit, the checkout is clean and its tests pass. */
const landingProblem = (io: Io, scene: DemoFolders, outcomes: DemoOutcome[]): string | undefined => {
  const commits = outcomes.flatMap(({ commit }) => (commit === null ? [] : [commit]))
  const onMain = demoGit(scene.repository, 'rev-list', 'main').split('\n')
  const absent = commits.filter((commit) => !onMain.includes(commit))
  if (commits.length === 0 || absent.length > 0) return 'main was not fast-forwarded to the merged work'
  if (demoGit(scene.repository, 'status', '--porcelain') !== '') return 'the checkout of main differs from its commit'
  try {
    execFileSync(io.self[0] ?? '', ['test/all.js'], {
      cwd: scene.repository,
      env: scene.environment,
      stdio: 'pipe',
      timeout: 60_000,
    })
    return undefined
  } catch {
    return 'the tests on main fail' // the program throws for any exit status but 0
  }
}

const missingOf = (outcomes: DemoOutcome[], scene: DemoFolders): string[] =>
  outcomes.flatMap((outcome, index) => {
    const chapter = scene.chapters[index]
    if (chapter === undefined || outcome.problem === null) return []
    const what = [
      ...(outcome.recovered === null ? [`not recovered by ${cureName(chapter)}`] : []),
      ...(outcome.done ? [] : ['not done']),
    ]
    return [`task ${outcome.number}: ${what.join(', ')}: ${outcome.problem}`]
  })

const judge = async (io: Io, scene: DemoFolders, played: Played, began: number): Promise<DemoReport> => {
  const outcomes = scene.chapters.map((chapter) => demoOutcome(chapter, played.events, played.kill))
  const problem = landingProblem(io, scene, outcomes)
  const unfinished = outcomes.some((outcome) => !outcome.done)
  // Agents of unfinished tasks may still be running. When all tasks are done, none should be.
  const left = await stopEngines(io, scene, unfinished ? 0 : agentExitMs)
  const missing = [
    ...missingOf(outcomes, scene),
    ...(problem === undefined ? [] : [problem]),
    ...(left > 0 && !unfinished ? [`${countText(left, 'process', 'processes')} kept running and had to be ended`] : []),
    ...played.complaints,
  ]
  return {
    ok: missing.length === 0,
    seconds: (performance.now() - began) / 1000,
    tasks: outcomes,
    commits: demoGit(scene.repository, 'log', '--oneline', 'main').split('\n'),
    landed: problem === undefined,
    missing,
    folder: scene.root,
  }
}

const show = async (io: Io, scene: DemoFolders, options: DemoOptions): Promise<DemoReport | undefined> => {
  const began = performance.now()
  const elapsed = (): number => performance.now() - began
  const print = (text: string | undefined): void => {
    if (text !== undefined && options.json !== true) printLine(io, text)
  }
  openingLines(scene.chapters, scene.root).forEach(print)
  const deadline = AbortSignal.timeout(deadlineMs)
  const played = await playDemo(io, scene, AbortSignal.any([io.signal, deadline]), {
    event: (chapter, event) => print(progressLine(chapter, event, elapsed())),
    called: (cwd, args) => print(callLine(cwd, args, elapsed())),
    killed: (pid) => print(killLine(pid, elapsed())),
  })
  if (io.signal.aborted) return undefined
  if (deadline.aborted) played.complaints.push(`the demo was not finished after ${deadlineMs / 1000} s`)
  return judge(io, scene, played, began)
}

/** Ends all processes of the demo and, without --keep, removes its folders, however the demo ends. */
const withScene = async <T>(io: Io, options: DemoOptions, work: (scene: DemoFolders) => Promise<T>): Promise<T> => {
  const scene = makeDemoFolders(io, options.disable)
  try {
    return await work(scene)
  } finally {
    await endProcesses(scene)
    if (options.keep !== true) rmSync(scene.root, { recursive: true, force: true, maxRetries: 3 })
  }
}

export const demoCommand = async (io: Io, options: DemoOptions): Promise<number> => {
  checkDisabled(options.disable)
  const shown = await withScene(io, options, (scene) => show(io, scene, options))
  if (shown === undefined) {
    io.error('unstuck: the demo was stopped, and its processes have ended\n')
    return interrupted
  }
  const report: DemoReport = options.keep === true ? shown : { ...shown, folder: null }
  if (options.json === true) printJson(io, report)
  else for (const text of closingLines(report)) printLine(io, text)
  return report.ok ? exitCodes.ok : exitCodes.failed
}
