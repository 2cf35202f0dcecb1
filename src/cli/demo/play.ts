/**
 * Plays the demo: runs two goals through the public CLI, and meanwhile kills the engine and lets the waiting agents continue.
 * Returns the events as printed; observe.ts judges them.
 */
import { writeFileSync, readFileSync } from 'node:fs'
import { startTimeOf } from '../../platform/process.ts'
import type { Io } from '../io.ts'
import { callCli, killEngine, waitForFile } from './drive.ts'
import { taskIdOf, type EngineKill, type Observation } from './observe.ts'
import type { DemoFolders } from './folders.ts'
import { signalFiles, type Chapter } from './story.ts'

export interface Played {
  events: Observation[]
  kill: EngineKill | undefined
  /** Standard error of the CLI calls that failed. */
  complaints: string[]
}

export interface DemoListener {
  event(chapter: Chapter | undefined, event: Observation): void
  killed(pid: number): void
  called(cwd: string, args: string[]): void
}

interface Stage {
  signal: AbortSignal
  played: Played
  listener: DemoListener
}

const chapterNumbered = (scene: DemoFolders, number: number): Chapter => {
  const found = scene.chapters.find((chapter) => chapter.number === number)
  if (found === undefined) throw new Error(`the demo has no task ${number}`)
  return found
}

const release = (scene: DemoFolders, name: string): void => writeFileSync(scene.signal(name), '')

const playGoal = async (
  io: Io,
  scene: DemoFolders,
  place: Chapter['place'],
  stage: Stage & { onLine(event: Observation): void },
): Promise<void> => {
  const cwd = place === 'repository' ? scene.repository : scene.folder
  const args = ['run', scene.taskFile(place), place === 'repository' ? '--merge' : '--direct', '--json']
  stage.listener.called(cwd, args)
  const ended = await callCli(io, scene, { cwd, args, signal: stage.signal, onLine: stage.onLine })
  if (ended.code !== 0)
    stage.played.complaints.push(
      `"unstuck run" in the ${place} exited with ${ended.code}${ended.stderr === '' ? '' : `: ${ended.stderr.trim()}`}`,
    )
}

const createOnLine =
  (scene: DemoFolders, played: Played, listener: DemoListener) =>
  (event: Observation): void => {
    if (event.taskId === undefined) return // the last line of the CLI is the result, not an event
    played.events.push(event)
    const chapter = scene.chapters.find(
      (candidate) => event.taskId !== null && taskIdOf(played.events, candidate) === event.taskId,
    )
    listener.event(chapter, event)
    // When task 1 has ended, whatever its outcome, the agent that waits for its merge may continue.
    if (chapter?.number === 1 && (event.type === 'task.done' || event.type === 'task.escalated'))
      release(scene, signalFiles.secondGo)
    if (chapter === chapterNumbered(scene, 4) && event.type === 'run.reattached' && played.kill !== undefined) {
      played.kill.agentSurvived = startTimeOf(played.kill.agentPid) !== undefined
      release(scene, signalFiles.victimGo)
    }
  }

/** Kills the engine as soon as both waiting agents are in the middle of their work. */
const killInTheMiddle = async (io: Io, scene: DemoFolders, stage: Stage): Promise<void> => {
  for (const name of [signalFiles.victimBegan, signalFiles.secondBegan]) {
    if (!(await waitForFile(scene.signal(name), stage.signal))) return
  }
  const agentPid = Number(readFileSync(scene.signal(signalFiles.victimBegan), 'utf8'))
  const at = Date.now()
  const pid = await killEngine(io, scene)
  if (pid === undefined) return
  stage.played.kill = { pid, at, agentPid, agentSurvived: false }
  stage.listener.killed(pid)
}

export const playDemo = async (
  io: Io,
  scene: DemoFolders,
  signal: AbortSignal,
  listener: DemoListener,
): Promise<Played> => {
  const played: Played = { events: [], kill: undefined, complaints: [] }
  const finished = new AbortController()
  const either = AbortSignal.any([signal, finished.signal])
  const onLine = createOnLine(scene, played, listener)
  await playGoal(io, scene, 'folder', { signal, played, listener, onLine })
  const killing = killInTheMiddle(io, scene, { signal: either, played, listener })
  await playGoal(io, scene, 'repository', { signal, played, listener, onLine })
  finished.abort()
  await killing
  return played
}
