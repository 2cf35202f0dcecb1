/** The work of `unstuck repos`. */
import { resolve } from 'node:path'
import type { StatusView } from '../../api/contract.ts'
import { forgetRepository, nameInId } from '../../api/known-repository.ts'
import { listedRepositories, placeName, type Listed } from '../../api/listed-repository.ts'
import { checkStateDir } from '../../api/state-dir.ts'
import { goalEnded } from '../../domain/goal.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { engineIdentity } from '../engine/connect.ts'
import { printJson, printLine, type Io } from '../io.ts'
import { refuseRuns } from '../person-here.ts'
import { createPaint, safe, type Paint } from '../render.ts'
import { countText } from '../times.ts'
import { readEach, type Reading } from './read-each.ts'
import { nothingYet, problemLine } from './show-all.ts'

interface Counts {
  /** That have not ended. */
  goals: number
  questions: number
}

const repositoryLine = (paint: Paint, reading: Reading<Counts>): string => {
  const { id, repository, engine, view } = reading
  if (view === null) return problemLine(paint, reading)
  const { goals, questions } = view
  const asks = questions === 0 ? '' : `, ${paint.warn(countText(questions, 'question'))}`
  const state = engine === 'running' ? paint.good('engine running') : 'no engine running'
  return `${paint.bold(safe(repository))} ${paint.dim(`[${id}]`)} ${state}, ${countText(goals, 'open goal')}${asks}`
}

const list = async (io: Io, json: boolean): Promise<number> => {
  const readings = await readEach<Counts>(io, async (client) => {
    const { goals, escalations } = await client.get<StatusView>('/status?ended=0')
    return { goals: goals.filter(({ state }) => !goalEnded(state)).length, questions: escalations.length }
  })
  const flat = ({ view, ...reading }: Reading<Counts>) => ({
    ...reading,
    ...(view ?? { goals: null, questions: null }),
  })
  if (json) printJson(io, readings.map(flat))
  else if (readings.length === 0) printLine(io, nothingYet)
  else for (const reading of readings) printLine(io, repositoryLine(createPaint(io.colours), reading))
  return exitCodes.ok
}

/** By its id, its folder or URL, or the name at the start of its id. */
const chosen = (io: Io, name: string): Listed => {
  const all = listedRepositories(io.environment)
  const path = resolve(io.cwd, name)
  const exact = all.find((known) => known.id === name || placeName(known) === name || placeName(known) === path)
  const found = exact === undefined ? all.filter(({ id }) => nameInId(id) === name) : [exact]
  const [known] = found
  if (known === undefined)
    throw new AppError('NOT_FOUND', `no repository "${name}" is on the list; "unstuck repos" shows all of them`)
  if (found.length > 1)
    throw new AppError(
      'USAGE',
      `"${name}" means ${found.length} repositories; give one of: ${found.map(({ id }) => id).join(', ')}`,
    )
  return known
}

const forget = async (io: Io, name: string | undefined): Promise<number> => {
  if (name === undefined)
    throw new AppError(
      'USAGE',
      'say which repository to forget, by its id, folder or name: unstuck repos forget <repository>',
    )
  await refuseRuns(io, 'unstuck repos forget')
  const known = chosen(io, name)
  const engine = engineIdentity(known.stateDir)
  if (engine !== undefined)
    throw new AppError(
      'ENGINE_RUNNING',
      `the engine of ${placeName(known)} is running (pid ${engine.pid}); stop it first: run "unstuck stop" there`,
    )
  checkStateDir(known.stateDir)
  forgetRepository(known.stateDir)
  printLine(
    io,
    `${safe(placeName(known))} is off the list. Its goals and snapshots stay in ${known.stateDir}; the next "unstuck run" or "unstuck up" in it lists it again.`,
  )
  return exitCodes.ok
}

export const reposCommand = (io: Io, [action, name]: (string | undefined)[], json: boolean): Promise<number> =>
  action === 'forget' ? forget(io, name) : list(io, json)
