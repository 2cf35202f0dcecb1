/** Commands that change: retry, cancel, pause, resume, restore, clean, stop, init. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Goal, Task } from '../../api/contract.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { listSnapshots, restoreSnapshot } from '../../workspace/snapshot.ts'
import type { Snapshot } from '../../workspace/contract.ts'
import { repositoryName } from '../../workspace/remote.ts'
import { awaitEngineEnd, connectKnown, engineIdentity, findEngine, placeOf, type Client } from '../client.ts'
import { line, printJson, type Io } from '../io.ts'
import { safe } from '../render.ts'

export interface ChangeOptions {
  json?: boolean
}

/** Goals are g-…, tasks t-…; anything else is told what to give. */
const kindOf = (id: string): 'goals' | 'tasks' => {
  if (/^g-[a-z0-9]+$/.test(id)) return 'goals'
  if (/^t-[a-z0-9]+$/.test(id)) return 'tasks'
  throw new AppError('USAGE', `"${id}" is neither a goal (g-…) nor a task (t-…); "unstuck status" shows their ids`)
}

const shown = (io: Io, changed: Goal | Task, options: ChangeOptions): void => {
  if (options.json === true) printJson(io, changed)
  else line(io, `${changed.id} "${safe(changed.title)}" is now ${'place' in changed ? changed.place : changed.state}`)
}

const change = async (io: Io, id: string, verb: string, options: ChangeOptions): Promise<number> => {
  const kind = kindOf(id)
  const client = await connectKnown(io)
  shown(io, await client.post<Goal | Task>(`/${kind}/${id}/${verb}`), options)
  return exitCodes.ok
}

export const retry = (io: Io, id: string, options: ChangeOptions): Promise<number> => change(io, id, 'retry', options)
export const cancel = (io: Io, id: string, options: ChangeOptions): Promise<number> => change(io, id, 'cancel', options)

export const pause = (io: Io, id: string, options: ChangeOptions): Promise<number> => {
  if (kindOf(id) !== 'goals')
    throw new AppError('USAGE', `only a goal (g-…) can be paused, "${id}" is a task; use "unstuck cancel ${id}"`)
  return change(io, id, 'pause', options)
}

export const resume = async (io: Io, id: string | undefined, options: ChangeOptions): Promise<number> => {
  if (id !== undefined && kindOf(id) !== 'goals')
    throw new AppError('USAGE', `only a goal (g-…) can be resumed, "${id}" is a task; use "unstuck retry ${id}"`)
  const client = await connectKnown(io)
  for (const goal of await client.post<Goal[]>('/resume', { goal: id ?? null })) shown(io, goal, options)
  return exitCodes.ok
}

const pickSnapshot = (all: Snapshot[], id: string): Snapshot => {
  const found =
    all.find((entry) => entry.id === id) ??
    all.filter((entry) => entry.id.slice(0, entry.id.lastIndexOf('-')) === id).at(-1)
  if (found === undefined)
    throw new AppError('NOT_FOUND', `there is no snapshot ${id}; "unstuck restore" without arguments lists them`)
  return found
}

const showSnapshots = (io: Io, all: Snapshot[], options: ChangeOptions): number => {
  if (options.json === true) printJson(io, all)
  else if (all.length === 0) line(io, 'No snapshot was made yet.')
  else
    for (const entry of all)
      line(
        io,
        `${entry.id}  ${entry.at}  ${entry.reason}${entry.leftOut.length === 0 ? '' : `  (${entry.leftOut.length} file(s) left out)`}`,
      )
  return exitCodes.ok
}

/** Snapshots live in the shadow repository, which needs no engine and no store. */
export const restore = async (
  io: Io,
  id: string | undefined,
  options: ChangeOptions & { into?: string },
): Promise<number> => {
  const place = await placeOf(io)
  if (!existsSync(join(place.stateDir, 'shadow.git'))) {
    throw new AppError(
      'NOT_FOUND',
      `nothing was ever run for ${repositoryName(place.repository)}, so there is no snapshot`,
    )
  }
  const { openShadow } = await import('../../workspace/shadow.ts')
  const shadow = await openShadow(place.stateDir, place.repository)
  const all = await listSnapshots(shadow)
  if (id === undefined) return showSnapshots(io, all, options)
  if (options.into === undefined)
    throw new AppError('USAGE', `say where to put it: unstuck restore ${id} --into <new folder>`)
  const snapshot = pickSnapshot(all, id)
  const into = resolve(io.cwd, options.into)
  const { files } = await restoreSnapshot(shadow, { id: snapshot.id, into })
  if (options.json === true) printJson(io, { id: snapshot.id, into, files })
  else line(io, `${files} file(s) of ${snapshot.id} are in ${into}`)
  for (const left of snapshot.leftOut) io.error(`left out because of its size: ${left.path} (${left.bytes} bytes)\n`)
  return exitCodes.ok
}

export const clean = async (io: Io, options: ChangeOptions & { dryRun?: boolean }): Promise<number> => {
  const client = await connectKnown(io)
  const removed = await client.post<{ kind: string; id: string; reason: string }[]>('/clean', {
    dryRun: options.dryRun ?? false,
  })
  if (options.json === true) printJson(io, removed)
  else if (removed.length === 0) line(io, 'Nothing to remove.')
  else
    for (const entry of removed)
      line(io, `${options.dryRun === true ? 'would remove' : 'removed'} ${entry.kind} ${entry.id}: ${entry.reason}`)
  return exitCodes.ok
}

/** Waits as long as the runs take; a signal meanwhile is the wish to stop at once. */
const drained = async (io: Io, client: Client, identity: ReturnType<typeof engineIdentity>): Promise<void> => {
  const { running } = await client.post<{ running: number }>('/drain')
  line(
    io,
    `The engine takes no new work; ${running} run(s) go on to their end. Ctrl-C or "unstuck stop" stops it at once.`,
  )
  while (!io.signal.aborted && !(await awaitEngineEnd(identity, 500)));
  if (io.signal.aborted) await client.post('/shutdown').catch(() => undefined) // it may just have ended
}

export const stop = async (io: Io, options: { drain?: boolean } = {}): Promise<number> => {
  const place = await placeOf(io)
  const client = await findEngine(place)
  if (client === undefined) {
    line(io, `No engine runs for ${repositoryName(place.repository)}.`)
    return exitCodes.ok
  }
  const identity = engineIdentity(place)
  if (options.drain === true) await drained(io, client, identity)
  else await client.post('/shutdown')
  // Until it has let go of the store another one could not start.
  if (!(await awaitEngineEnd(identity)))
    throw new AppError(
      'ENGINE_UNAVAILABLE',
      `the engine (pid ${identity?.pid}) was asked to stop and still runs; see engine.log in ${place.stateDir}`,
    )
  line(
    io,
    options.drain === true && !io.signal.aborted
      ? 'The engine has stopped; nothing is at work.'
      : 'The engine has stopped. Agents that are at work end by themselves unless it is started again soon.',
  )
  return exitCodes.ok
}

const starterConfig = `${JSON.stringify({ maxParallel: 2, autoMerge: false, verify: { timeoutSeconds: 600 } }, null, 2)}\n`

/** Writes a first configuration; never over an existing one. */
export const init = async (io: Io): Promise<number> => {
  const { repository } = await placeOf(io)
  const path = join(repository.root, '.unstuck', 'config.json')
  if (existsSync(path)) {
    line(io, `${path} exists already and stays as it is.`)
    return exitCodes.ok
  }
  mkdirSync(join(repository.root, '.unstuck'), { recursive: true })
  writeFileSync(path, starterConfig, { flag: 'wx' })
  line(io, `Wrote ${path}. All keys: docs/config.md. Next: unstuck run "<what you want done>"`)
  return exitCodes.ok
}
