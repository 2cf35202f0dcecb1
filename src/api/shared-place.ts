/**
 * The folder of the shared engine, the one process that serves several repositories of a user: its address, its port and logins, and what has
 * to outlive a crash of it. Imports nothing that is slow to load, because every command looks here for that engine.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { readRegularTextSync } from '../platform/regular-file.ts'
import type { Problem } from './listed-repository.ts'
import { replaceStateFile, unstuckHome } from './state-dir.ts'

type Environment = Record<string, string | undefined>

export const sharedDirOf = (environment: Environment): string => join(unstuckHome(environment), 'all-repositories')

/**
 * `own`: an engine of its own serves it. `detached`: a person stopped it. `broken`: it cannot be opened now, and is tried again. `set aside`: it
 * has crashed the process too often.
 */
export type SharedState = 'starting' | 'served' | 'own' | 'detached' | 'broken' | 'set aside'

/** One repository as the shared engine sees it. */
export interface SharedRepository {
  id: string
  /** Its folder or URL. */
  repository: string
  state: SharedState
  /** Null = it is not served. */
  url: string | null
  /** Null = there is none. */
  problem: Problem | null
}

const detachedName = 'detached.json'
const crashesName = 'crashes.json'
const openingName = 'opening.json'

const readOr = <T>(dir: string, name: string, shape: z.ZodType<T>, otherwise: T): T => {
  try {
    return shape.safeParse(JSON.parse(readRegularTextSync(join(dir, name)))).data ?? otherwise
  } catch {
    return otherwise // absent or damaged: it is written anew
  }
}

const ids = z.array(z.string())
const crashShape = z.array(z.object({ id: z.string(), at: z.number() }))
type Crash = z.infer<typeof crashShape>[number]

/** Crashes count for as long as the restarts of an engine do. */
const crashWindowMs = 15 * 60 * 1000
/** Fewer than the restarts of the process, so that one repository cannot use them up. */
const mostCrashes = 3

/** What the shared engine remembers of its repositories over a crash. `now`: the time of day in milliseconds. */
export const openSharedMemory = (dir: string, now: () => number) => {
  const crashes = (): Crash[] =>
    readOr(dir, crashesName, crashShape, []).filter(({ at }) => Math.abs(now() - at) < crashWindowMs)
  const addCrash = (id: string): void =>
    replaceStateFile(dir, crashesName, JSON.stringify([...crashes(), { id, at: now() }]))
  const detached = (): string[] => readOr(dir, detachedName, ids, [])
  const setDetached = (id: string, isDetached: boolean): void => {
    const others = detached().filter((each) => each !== id)
    replaceStateFile(dir, detachedName, JSON.stringify(isDetached ? [...others, id] : others))
  }
  const opening = new Set<string>()
  const saveOpening = (): void => replaceStateFile(dir, openingName, JSON.stringify([...opening]))
  return {
    addCrash,
    hasCrashes: (): boolean => crashes().length > 0,
    isSetAside: (id: string): boolean => crashes().filter((crash) => crash.id === id).length >= mostCrashes,
    isDetached: (id: string): boolean => detached().includes(id),
    setDetached,
    /** Repositories that were being opened when the process before this one ended: each may be why. */
    countInterrupted: (): void => {
      for (const id of readOr(dir, openingName, ids, [])) addCrash(id)
      saveOpening()
    },
    beginOpening: (id: string): void => {
      opening.add(id)
      saveOpening()
    },
    endOpening: (id: string): void => {
      opening.delete(id)
      saveOpening()
    },
  }
}

/** A person starts the shared engine anew, with all repositories. */
export const forgetSharedMemory = (dir: string): void => {
  for (const name of [detachedName, crashesName, openingName])
    if (existsSync(join(dir, name))) rmSync(join(dir, name), { force: true })
}
