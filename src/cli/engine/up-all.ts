/** The work of `unstuck up --all`: one engine process for every repository of this user. */
import { setTimeout as delay } from 'node:timers/promises'
import { forgetSharedMemory, sharedDirOf, type SharedRepository } from '../../api/shared-place.ts'
import { stateDirOf, unstuckHome } from '../../api/state-dir.ts'
import { AppError } from '../../errors.ts'
import { makeFolder } from '../../platform/make-folder.ts'
import { printLine, type Io } from '../io.ts'
import { createPaint, safe } from '../render.ts'
import type { Client } from './client.ts'
import { engineAt } from './connect.ts'
import { showLogin, keepRunning, type Subject, type UpOptions } from './up.ts'
import { silenceLimits } from './watchdog.ts'

/** What belongs to the engine of one repository. */
const ofOne = { idleExit: '--idle-exit', controlOnly: '--control-only', publicUrl: '--public-url' } as const

const requireNone = (options: UpOptions, database: string | undefined): void => {
  const given = Object.entries(ofOne).find(([name]) => options[name as keyof typeof ofOne] !== undefined)?.[1]
  const option = given ?? (database === undefined ? undefined : '--database-url')
  if (option !== undefined)
    throw new AppError('USAGE', `${option} is for the engine of one repository; leave out ${option} or --all`)
}

const openedWithin = 120_000

/** Waits until each repository is served, or it is known why it is not. */
const untilOpened = async (client: Client): Promise<SharedRepository[]> => {
  const deadline = performance.now() + openedWithin
  for (;;) {
    const all = await client.get<SharedRepository[]>('/repositories')
    if (all.every(({ state }) => state !== 'starting') || performance.now() > deadline) return all
    await delay(100)
  }
}

const repositoryLine = (io: Io, { repository, url, problem }: SharedRepository): string => {
  const paint = createPaint(io.colours)
  if (url !== null) return `${paint.bold(safe(repository))} ${url}`
  return `${paint.bold(safe(repository))} ${paint.warn('not served')}: ${safe(problem?.message ?? 'it is being opened')}`
}

const greet = async (io: Io, client: Client): Promise<void> => {
  const all = await untilOpened(client).catch(() => []) // it has just ended; its restart is reported
  for (const each of all) printLine(io, repositoryLine(io, each))
  if (all.length === 0)
    printLine(io, 'No repository is on the list yet; each one in which you type "unstuck run" joins.')
  const served = all.find(({ url }) => url !== null)
  const engine = served && (await engineAt(stateDirOf(io.environment, served.id)))
  if (engine !== undefined) await showLogin(io, engine.client)
}

export const upAllCommand = async (io: Io, options: UpOptions, database: string | undefined): Promise<number> => {
  requireNone(options, database)
  const stateDir = sharedDirOf(io.environment)
  const home = unstuckHome(io.environment)
  makeFolder(home, 0o700)
  const subject: Subject = {
    ...{ name: 'all repositories', stateDir, cwd: home, requireHere: () => undefined },
    find: async () => (await engineAt(stateDir))?.client,
    greet: (client) => greet(io, client),
  }
  const args = ['--all', ...(options.allowHiddenCallers === true ? ['--allow-hidden-callers'] : [])]
  return keepRunning(io, subject, { args, limits: silenceLimits, prepare: () => forgetSharedMemory(stateDir) })
}
