/** One view of every repository, below the name of each: `status --all`, `inbox --all` and `report --all`. */
import { AppError } from '../../errors.ts'
import { printJson, printLine, type Io } from '../io.ts'
import { createPaint, safe, type Paint } from '../render.ts'
import { readEach, type Reading } from './read-each.ts'

interface Shown<T> {
  path: string
  json: boolean
  /** None = there is nothing to say of this repository. */
  lines: (paint: Paint, view: T, isEngineGone: boolean) => string[]
}

/** One line, with the reason and the next step. */
export const problemLine = (paint: Paint, { id, repository, problem }: Reading<unknown>): string =>
  `${paint.bold(safe(repository))} ${paint.dim(`[${id}]`)} ${paint.bad('cannot be read')}: ${safe(problem?.message ?? '')}`

export const nothingYet = 'Nothing has been run in any repository yet. Try: unstuck run "<what you want done>"'

/** Returns what could be read. */
export const showAll = async <T>(io: Io, { path, json, lines }: Shown<T>): Promise<T[]> => {
  const readings = await readEach(io, async (client, isEngineGone) => ({
    view: await client.get<T>(path),
    isEngineGone,
  }))
  if (json)
    printJson(
      io,
      readings.map((each) => ({ ...each, view: each.view?.view ?? null })),
    )
  else if (readings.length === 0) printLine(io, nothingYet)
  else showReadings(io, readings, lines)
  return readings.flatMap(({ view }) => (view === null ? [] : [view.view]))
}

const showReadings = <T>(
  io: Io,
  readings: Reading<{ view: T; isEngineGone: boolean }>[],
  lines: Shown<T>['lines'],
): void => {
  const paint = createPaint(io.colours)
  for (const reading of readings) {
    const { view, repository, id } = reading
    if (view === null) {
      printLine(io, problemLine(paint, reading))
      continue
    }
    const texts = lines(paint, view.view, view.isEngineGone)
    if (texts.length === 0) continue
    printLine(io, `${paint.bold(safe(repository))} ${paint.dim(`[${id}]`)}`)
    for (const text of texts) printLine(io, text === '' ? '' : `  ${text}`)
    printLine(io)
  }
}

/** Throws USAGE for an option that only one repository can have. */
export const refuseWithAll = (option: string, isGiven: boolean): void => {
  if (isGiven) throw new AppError('USAGE', `${option} shows one repository; leave out --all or ${option}`)
}
