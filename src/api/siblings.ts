/**
 * The repositories of this user, as the pages of one of them show them: what waits in those that this process serves, and where the pages of the
 * others are. Each stays an origin of its own in the browser (docs/decisions/052-one-engine-for-all.md).
 */
import { join } from 'node:path'
import { goalEnded } from '../domain/goal.ts'
import { AppError } from '../errors.ts'
import { livenessOf, type ProcessIdentity } from '../platform/process.ts'
import { readRegularTextSync } from '../platform/regular-file.ts'
import type { Context } from '../runtime/core/context.ts'
import type { Engine } from '../runtime/engine/engine.ts'
import { listEscalations } from '../store/escalation.ts'
import { listUnendedGoals } from '../store/goal.ts'
import type { HandlerCall } from './call.ts'
import { listedAt, listedRepositories, placeName, type Listed } from './listed-repository.ts'
import type { Logins } from './logins.ts'
import type { SharedRepository } from './shared-place.ts'

/** `stopped`: no engine serves it. */
export type SiblingState = SharedRepository['state'] | 'stopped'

export interface Sibling extends Omit<SharedRepository, 'state'> {
  state: SiblingState
  /** Null = this process does not know. */
  counts: { goals: number; questions: number; running: number } | null
}

interface Working {
  context: Context
  engine: Engine
}

/** Of goals that have not ended, questions and agents; null while its store does not respond. */
export const countsOf = async ({ context: { db }, engine }: Working): Promise<Sibling['counts']> => {
  try {
    const [goals, questions] = await Promise.all([listUnendedGoals(db), listEscalations(db, { pendingOnly: true })])
    const open = goals.filter(({ state }) => !goalEnded(state))
    return { goals: open.length, questions: questions.length, running: engine.running() }
  } catch {
    return null
  }
}

/** Of the engine that serves the repository; null = there is none. */
const engineUrlIn = (stateDir: string): string | null => {
  try {
    const text = readRegularTextSync(join(stateDir, 'engine.json'))
    const { url, identity } = JSON.parse(text) as { url: string; identity: ProcessIdentity }
    return livenessOf(identity) === 'alive' ? url : null
  } catch {
    return null // no engine has written it, or it is being written anew
  }
}

const elsewhere = (listed: Listed): Sibling => {
  const url = engineUrlIn(listed.stateDir)
  const state = url === null ? ('stopped' as const) : ('own' as const)
  return { id: listed.id, repository: placeName(listed), state, url, problem: null, counts: null }
}

/** As an engine of one repository sees them. */
export const siblingsOfOne = (here: Working) => async (): Promise<Sibling[]> => {
  const { repository, environment, stateDir } = here.context
  const others = listedRepositories(environment).filter(({ id }) => id !== repository.id)
  const own = { ...elsewhere(listedAt(stateDir)), state: 'served' as const, counts: await countsOf(here) }
  return [own, ...others.map(elsewhere)]
}

interface SiblingParts {
  context: Context
  logins: Logins
  siblings: () => Promise<Sibling[]>
}

export const siblingHandlers = ({ context, logins, siblings }: SiblingParts) => ({
  listRepositories: async () =>
    (await siblings()).map((each) => ({ ...each, isHere: each.id === context.repository.id })),
  visitRepository: async ({ id, bearer }: HandlerCall<'visitRepository'>) => {
    const found = (await siblings()).find((each) => each.id === id)
    if (found === undefined)
      throw new AppError('NOT_FOUND', `no repository "${id}" is on the list; "unstuck repos" shows all of them`)
    if (found.url === null)
      throw new AppError(
        'ENGINE_UNAVAILABLE',
        found.problem?.message ?? `no engine serves ${found.repository}; start one: run "unstuck up" there`,
      )
    // Another process does not know this login.
    const code = found.state === 'served' ? logins.issueFor(bearer) : undefined
    return { url: code === undefined ? found.url : `${found.url}/#login=${code.code}` }
  },
})
