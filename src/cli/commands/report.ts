/** `unstuck report`: what landed, recovered, waits and was spent; from the store itself where no engine runs. */
import type { ReportView } from '../../api/contract.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { json, type JsonOption, type Register } from '../command.ts'
import { line, printJson, type Io } from '../io.ts'
import { createPaint, reportLines } from '../render.ts'

interface ReportOptions extends JsonOption {
  since: string
}

const spanSeconds: Record<string, number> = { d: 86_400, h: 3_600, m: 60 }

/** Starts with `7d`, `12h`, `30m`, or an ISO time. */
const sinceOf = (text: string, now: Date): Date => {
  const match = /^(\d+)([dhm])$/.exec(text)
  const ago = Number(match?.[1]) * (spanSeconds[match?.[2] ?? ''] ?? 0) * 1000
  const at = match === null ? new Date(text) : new Date(now.getTime() - ago)
  if (Number.isNaN(at.getTime()))
    throw new AppError(
      'USAGE',
      `--since ${JSON.stringify(text)}: give a span such as 12h, 30m or 7d, or a time such as 2026-11-21T08:00:00Z`,
    )
  return at
}

const read = async (io: Io, since: Date): Promise<ReportView> => {
  const { findEngine } = await import('../engine/connect.ts')
  const { placeOf } = await import('../engine/place.ts')
  const place = await placeOf(io)
  const client = await findEngine(place)
  if (client !== undefined) return client.get<ReportView>(`/report?since=${encodeURIComponent(since.toISOString())}`)
  const { withStore } = await import('../engine/offline.ts')
  const { reportView } = await import('../../runtime/people/views.ts')
  const { findBranches } = await import('../../runtime/landing/goal-branch.ts')
  const { realPorts } = await import('../../runtime/core/ports.ts')
  return withStore(io, place, ({ db, repository }) =>
    reportView(db, since, findBranches({ repository, ports: realPorts })),
  )
}

const report = async (io: Io, options: ReportOptions): Promise<number> => {
  const view = await read(io, sinceOf(options.since, new Date()))
  if (options.json === true) printJson(io, view)
  else for (const text of reportLines(createPaint(io.colours), view)) line(io, text)
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('report')
    .description('what landed, recovered, waits and was spent')
    .option('--since <span>', '12h, 30m, 7d or a time', '12h')
    .option(...json)
    .action((options: ReportOptions) => act((io) => report(io, options)))
}
