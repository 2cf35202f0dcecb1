/** `unstuck report`: summarises what landed, was recovered, waits and was spent; reads the store directly if no engine is running. */
import type { ReportView } from '../../api/contract.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'
import { printLine, printJson, type Io } from '../io.ts'
import { createPaint, reportLines } from '../render.ts'

interface ReportOptions extends JsonOption {
  all?: boolean
  since: string
}

const spanSeconds: Record<string, number> = { d: 86_400, h: 3_600, m: 60 }

/** Parses `7d`, `12h`, `30m` or an ISO time into the start of the report. */
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

const report = async (io: Io, options: ReportOptions): Promise<number> => {
  const path = `/report?since=${encodeURIComponent(sinceOf(options.since, new Date()).toISOString())}`
  if (options.all === true) {
    const { showAll } = await import('../repositories/show-all.ts')
    await showAll<ReportView>(io, { path, json: options.json === true, lines: reportLines })
    return exitCodes.ok
  }
  const { readOnly } = await import('../engine/read-only.ts')
  const view = await readOnly(io, ({ client }) => client.get<ReportView>(path))
  if (options.json === true) printJson(io, view)
  else for (const text of reportLines(createPaint(io.colours), view)) printLine(io, text)
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('report')
    .description('summarise what landed, what was recovered, what waits for you and what was spent')
    .option('--all', 'report on all your repositories')
    .option('--since <span>', 'start of the report: a span such as 12h, 30m or 7d, or a time', '12h')
    .option(...jsonOption)
    .action((options: ReportOptions) => act((io) => report(io, options)))
}
