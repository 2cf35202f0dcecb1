/**
 * Creates the folders of the demo below one temporary folder: a git repository, a plain folder, a folder outside of both, a
 * state folder, and the files that configure the fault agents as harnesses.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { applyEdit } from '../../../sim/agents/scripted-work.ts'
import { AppError, messageOf } from '../../errors.ts'
import type { Io } from '../io.ts'
import { chaptersFor, checkCommand, folderFiles, repositoryFiles, type Chapter } from './story.ts'
import { defined } from '../../domain/defined.ts'

/** Environment variable that marks every process of the demo with the demo's folder, so that all can be found at the end. */
const markName = 'DEMO_FOLDER'

/** What drive.ts needs to start programs in a scratch folder and to end all of them. */
export interface Stage {
  environment: Record<string, string>
  /** Variable and value that every process of the stage has in its environment, and no other process has. */
  mark: readonly [name: string, value: string]
  /** The folders in which engines run. */
  places: readonly string[]
}

export interface DemoFolders extends Stage {
  root: string
  repository: string
  folder: string
  chapters: Chapter[]
  signal(name: string): string
  taskFile(place: Chapter['place']): string
}

/** The user's own settings of Unstuck and git would change the course of the demo. */
const foreign = /^(UNSTUCK_(?!LOG$)|GIT_|FAILED_TASK_)/

/** The user's environment for a stage below `root`, with a home of its own. */
export const stageEnvironment = (
  io: Pick<Io, 'environment' | 'self'>,
  root: string,
  [markName, mark]: Stage['mark'],
): Record<string, string> => {
  const kept = Object.entries(io.environment).flatMap(([name, value]) =>
    value === undefined || foreign.test(name) ? [] : [[name, value] as const],
  )
  const environment = Object.fromEntries(kept)
  // The checks call `node`, which must be this Node even if the machine has another one or none.
  const path = [dirname(io.self[0] ?? ''), environment.PATH ?? ''].join(delimiter)
  return { ...environment, PATH: path, UNSTUCK_HOME: join(root, 'state'), [markName]: mark }
}

export const demoGit = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'core.hooksPath=/dev/null', '-c', 'commit.gpgSign=false', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

/** The agents have the extension of this file: TypeScript in a checkout, JavaScript in the package. */
export const agentProgram = (name: string): string =>
  fileURLToPath(new URL(`../../../sim/agents/${name}${extname(import.meta.url)}`, import.meta.url))

const drivers = { steady: 'command', overloaded: 'claude', fenced: 'claude', untrusting: 'codex' } as const

const harnessName = (chapter: Chapter): string => `${chapter.agent}-${chapter.number}`

const harnessOf = (scene: DemoFolders, node: string, chapter: Chapter) => {
  const answer = join(scene.root, `answer-${chapter.number}.json`)
  writeFileSync(answer, JSON.stringify({ edits: chapter.edits, text: `Done: ${chapter.title}.` }))
  const memory = chapter.agent === 'overloaded' ? [join(scene.root, 'memory')] : []
  const began = chapter.began === undefined ? [] : ['--began', scene.signal(chapter.began)]
  const until = chapter.until === undefined ? [] : ['--until', scene.signal(chapter.until)]
  return {
    driver: drivers[chapter.agent],
    command: [node, agentProgram(chapter.agent), answer, ...memory, ...began, ...until],
  }
}

const writeConfig = (scene: DemoFolders, io: Io, place: Chapter['place'], disabled: string[]): void => {
  const own = scene.chapters.filter((chapter) => chapter.place === place)
  const folder = place === 'repository' ? scene.repository : scene.folder
  const config = {
    harness: Object.fromEntries(
      own.map((chapter) => [harnessName(chapter), harnessOf(scene, io.self[0] ?? '', chapter)]),
    ),
    maxParallel: 3,
    verify: { commands: [checkCommand] },
    retry: { transientBaseSeconds: 1 },
    playbooks: { disabled },
    // A chapter that shows the end of recovery must not wait for more starts.
    requeue: { inPlaceLimit: 0, reworkDepth: 0 },
    env: [markName],
  }
  mkdirSync(join(folder, '.unstuck'))
  writeFileSync(join(folder, '.unstuck', 'config.json'), `${JSON.stringify(config, null, 2)}\n`)
}

const writeTasks = (scene: DemoFolders, place: Chapter['place'], goal: string, allowedDirs: string[]): void => {
  const tasks = scene.chapters
    .filter((chapter) => chapter.place === place)
    .map((chapter) => ({
      id: String(chapter.number),
      title: chapter.title,
      instructions: chapter.instructions,
      harness: harnessName(chapter),
      priority: chapter.priority,
      ...defined({ commands: chapter.commands }),
    }))
  writeFileSync(scene.taskFile(place), `${JSON.stringify({ version: 1, goal, allowedDirs, tasks }, null, 2)}\n`)
}

export const makeRepository = (folder: string): void => {
  demoGit(folder, 'init', '--quiet', '--template=')
  demoGit(folder, 'symbolic-ref', 'HEAD', 'refs/heads/main')
  demoGit(folder, 'add', '--all')
  demoGit(
    folder,
    '-c',
    'user.name=Demo',
    '-c',
    'user.email=demo@example.invalid',
    'commit',
    '--quiet',
    '-m',
    'Begin with four units',
  )
}

const checkGit = (): void => {
  try {
    demoGit('/', '--version')
  } catch (error) {
    throw new AppError(
      'GIT_FAILED',
      `git could not be started (${messageOf(error)}); install git, then run the demo again`,
    )
  }
}

const isInRepository = (folder: string): boolean => {
  try {
    demoGit(folder, 'rev-parse', '--git-dir')
    return true
  } catch {
    return false // git exits with an error outside a repository
  }
}

export const makeDemoFolders = (io: Io, disabled: string[]): DemoFolders => {
  checkGit()
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-demo-')))
  try {
    return fill(io, root, disabled)
  } catch (error) {
    rmSync(root, { recursive: true, force: true })
    throw error
  }
}

const fill = (io: Io, root: string, disabled: string[]): DemoFolders => {
  const [repository, folder, outside, signals] = ['repository', 'folder', 'outside', 'signals'].map((name) =>
    join(root, name),
  ) as [string, string, string, string]
  for (const path of [repository, folder, outside, signals]) mkdirSync(path)
  // Otherwise `--direct` would work in the repository around the temporary folder.
  if (isInRepository(root)) {
    throw new AppError(
      'REPOSITORY_STATE',
      `${root} is inside a git repository; set TMPDIR to a folder outside of any repository, then run the demo again`,
    )
  }
  const mark = [markName, root] as const
  const scene: DemoFolders = {
    root,
    repository,
    folder,
    chapters: chaptersFor(outside),
    ...{ environment: stageEnvironment(io, root, mark), mark, places: [repository, folder] },
    signal: (name) => join(signals, name),
    taskFile: (place) => join(root, `${place}.json`),
  }
  for (const edit of repositoryFiles) applyEdit(repository, edit)
  for (const edit of folderFiles) applyEdit(folder, edit)
  writeConfig(scene, io, 'repository', disabled)
  writeConfig(scene, io, 'folder', disabled)
  writeTasks(scene, 'repository', 'Convert more units', [outside])
  writeTasks(scene, 'folder', 'Correct the list', [])
  makeRepository(repository)
  return scene
}
