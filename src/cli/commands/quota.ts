/** `unstuck quota`: what agents used lately, and which accounts are at their limit. */
import type { QuotaView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'
import { printJson, printLine, type Io } from '../io.ts'
import { createPaint, safe } from '../render.ts'
import { countText, durationText, whenText } from '../times.ts'

type Used = QuotaView['harnesses'][number]['lastDay']

const usedText = ({ tokens, costUsd, seconds }: Used): string => {
  if (seconds === 0 && tokens === 0) return 'nothing'
  const cost = costUsd > 0 ? [`$${costUsd.toFixed(2)}`] : []
  const known = tokens > 0 ? [`${tokens.toLocaleString('en-US')} tokens`] : []
  return [...known, ...cost, `${durationText(seconds)} of work`].join(', ')
}

const ceilingLines = ({ hourTokens: { limit, used, until }, at }: QuotaView): string[] => {
  if (limit === null) return []
  const end = until === null ? '' : `; no task starts before ${whenText(until, at)}`
  return [
    `limits.hourTokens: ${used.toLocaleString('en-US')} of ${limit.toLocaleString('en-US')} tokens of this hour used${end}`,
  ]
}

const linesOf = (view: QuotaView): string[] => {
  const { harnesses, limits, waiting, at } = view
  return [
    ...(limits.length === 0 ? ['No account is known to be at its limit.'] : []),
    ...limits.map(
      ({ account, harnesses: names, evidence, until }) =>
        `${safe(names.join(', '))} is at its limit until ${whenText(until, at)}: ${safe(evidence)} [account ${account}]`,
    ),
    ...(waiting === 0
      ? []
      : [
          `${countText(waiting, 'task')} ${waiting === 1 ? 'waits' : 'wait'} for the end of a limit; work on other accounts goes on.`,
        ]),
    ...ceilingLines(view),
    ...(harnesses.length === 0 ? ['Within a day no agent has worked here.'] : []),
    ...harnesses.map(
      ({ harness, lastHour, lastDay }) =>
        `${safe(harness)}: last hour ${usedText(lastHour)}; last 24 hours ${usedText(lastDay)}`,
    ),
  ]
}

const quota = async (io: Io, options: JsonOption): Promise<number> => {
  const { readOnly } = await import('../engine/read-only.ts')
  const view = await readOnly(io, ({ client }) => client.get<QuotaView>('/quota'))
  const paint = createPaint(io.colours)
  if (options.json === true) printJson(io, view)
  else
    for (const line of linesOf(view))
      printLine(io, view.limits.length > 0 && line.includes(' is at its limit ') ? paint.warn(line) : line)
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('quota')
    .description(
      'show what agents used in the last hour and day, which accounts are at their limit and until when, and what waits for that',
    )
    .option(...jsonOption)
    .action((options: JsonOption) => act((io) => quota(io, options)))
}
