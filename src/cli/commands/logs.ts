/** `unstuck logs`: what the agent of a run said and did, page after page. */
import { setTimeout as delay } from 'node:timers/promises'
import type { LogView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import type { Reading } from '../engine/reading.ts'
import { json, type JsonOption, type Register } from '../command.ts'
import { line, printJson, type Io } from '../io.ts'
import { safe } from '../render.ts'

const pollMs = 300

interface LogsOptions extends JsonOption {
  follow?: boolean
}

type Cursor = LogView['next']

const addressOf = (run: string, { launch, stdout, stderr }: Cursor): string =>
  `/runs/${encodeURIComponent(run)}/log?launch=${launch}&stdout=${stdout}&stderr=${stderr}`

const showPage = (io: Io, page: LogView, { begins, asJson }: { begins: boolean; asJson: boolean }): void => {
  if (begins && !asJson) line(io, `--- launch ${page.launch} ---`)
  for (const entry of page.lines) {
    if (asJson) printJson(io, { launch: page.launch, ...entry })
    else line(io, `${entry.kind.padEnd(10)} ${safe(entry.text)}`)
  }
}

const showLog = async (io: Io, run: string, options: LogsOptions, { client, live }: Reading): Promise<number> => {
  let cursor: Cursor = { launch: 0, stdout: 0, stderr: 0 }
  let shown = 0
  let ended = false
  const follow = options.follow === true && live
  for (;;) {
    const page = await client.get<LogView>(addressOf(run, cursor))
    const begins = page.lines.length > 0 && page.launch !== shown
    showPage(io, page, { begins, asJson: options.json === true })
    if (begins) shown = page.launch
    const moved = JSON.stringify(page.next) !== JSON.stringify(cursor)
    cursor = page.next
    ended = page.ended
    if (ended || io.signal.aborted || (!moved && !follow)) break
    if (!moved) await delay(pollMs, undefined, { signal: io.signal }).catch(() => undefined) // aborted: the loop ends
  }
  if (options.follow === true && !live && !ended)
    io.error('no engine runs, so nothing new is followed; "unstuck up" starts one\n')
  return exitCodes.ok
}

const logs = async (io: Io, run: string, options: LogsOptions): Promise<number> => {
  const { reading } = await import('../engine/reading.ts')
  return reading(io, (found) => showLog(io, run, options, found))
}

export const register: Register = (program, act) => {
  program
    .command('logs')
    .description('what the agent of a run said and did')
    .argument('<run>', 'a run id (r-…)')
    .option('-f, --follow', 'go on as it grows')
    .option(...json)
    .action((run: string, options: LogsOptions) => act((io) => logs(io, run, options)))
}
