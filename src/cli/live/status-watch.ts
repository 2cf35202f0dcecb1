/** The work of `unstuck status --watch`: redraws the status in place on a terminal, and prints it after each change on a pipe. */
import { setTimeout as delay } from 'node:timers/promises'
import type { StatusView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import type { Client } from '../engine/client.ts'
import { findEngine } from '../engine/connect.ts'
import { homeOf } from '../engine/home.ts'
import { readOnly } from '../engine/read-only.ts'
import { printLine, printJson, type Io } from '../io.ts'
import { createPaint, statusLines } from '../render.ts'
import { createBlock } from './block.ts'
import type { Terminal } from './terminal.ts'
import { cutToWidth, wrapPainted } from '../width.ts'
import { onSuspend } from './suspend.ts'

/** Watches for single keys on a terminal. Node itself restores the mode of the terminal when the process ends. */
interface Keys {
  /** q, Ctrl-C or Ctrl-D. */
  quit: () => void
  /** Called before Ctrl-Z suspends this process; `enter` after it has been resumed. */
  leave: () => void
  enter: () => void
}

const quitKeys = new Set(['q', 'Q', '\u0003', '\u0004'])
const suspendKey = '\u001a'

/** Returns a function that stops watching. If the input is not a terminal there are no keys, and Ctrl-C arrives as a signal. */
const watchKeys = (input: NodeJS.ReadStream, { quit, leave, enter }: Keys): (() => void) => {
  // In raw mode the terminal does not turn Ctrl-C and Ctrl-Z into signals.
  const setRaw = (raw: boolean): void => void (input.isTTY && input.setRawMode(raw))
  const onData = (chunk: Buffer): void => {
    for (const key of chunk.toString()) {
      if (quitKeys.has(key)) quit()
      if (key === suspendKey) process.kill(process.pid, 'SIGTSTP')
    }
  }
  const endSuspend = onSuspend({
    leave: () => {
      leave()
      setRaw(false)
    },
    enter: () => {
      setRaw(true)
      enter()
    },
  })
  setRaw(true)
  if (input.isTTY) input.on('data', onData)
  return () => {
    endSuspend()
    setRaw(false)
    if (!input.isTTY) return
    input.off('data', onData)
    input.pause()
  }
}

const everyMs = 1_000

interface Watch {
  io: Io
  path: string
  signal: AbortSignal
  show: (view: StatusView) => void
  /** Called when the engine is not responding. */
  miss: () => void
}

/** Two views with the same key differ only in the time that has passed. */
const keyOf = (view: StatusView): string => {
  const passing = new Set(['heartbeatAt', 'inSeconds', 'lastEvent'])
  return JSON.stringify({ ...view, at: undefined }, (key, value: unknown) => (passing.has(key) ? undefined : value))
}

/** The current status, and the client of the engine if one is running. No engine is started: watching must not undo `unstuck stop`. */
const readFirst = (io: Io, path: string): Promise<{ view: StatusView; client: Client | undefined }> =>
  readOnly(io, async ({ client, live }) => ({
    view: await client.get<StatusView>(path),
    client: live ? client : undefined,
  }))

/** Polls the status until the signal aborts. */
const pollStatus = async ({ io, path, signal, show, miss }: Watch, first: Client | undefined): Promise<void> => {
  const home = await homeOf(io)
  let client = first
  while (!signal.aborted) {
    const view: StatusView | undefined = await client?.get<StatusView>(path).catch(() => undefined) // the engine may be restarting
    if (view === undefined) {
      miss()
      client = await findEngine(home).catch(() => undefined) // as above
    } else show(view)
    await delay(everyMs, undefined, { signal }).catch(() => undefined) // aborted: the loop ends
  }
}

const endColours = '\u001b[0m'

/** The lines that fit the terminal, and the footer. Long lines are wrapped instead of cut, because they contain commands to copy. Pure. */
export const fit = (texts: readonly string[], footer: string, size: { columns: number; rows: number }): string[] => {
  const lines = texts.flatMap((text) => text.split('\n')).flatMap((text) => wrapPainted(text, size.columns))
  const room = Math.max(1, size.rows - 2)
  const left = lines.length - room
  const more = cutToWidth(`… and ${left + 1} more lines: unstuck status`, size.columns)
  const last = lines.some((text) => text.includes('\u001b')) ? `${endColours}${more}` : more
  const shown = left > 0 ? [...lines.slice(0, room - 1), last] : lines
  return [...shown, ...(footer === '' ? [] : [cutToWidth(footer, size.columns)])]
}

const watchOnTerminal = async (io: Io, terminal: Terminal, path: string): Promise<number> => {
  const [block, paint] = [createBlock(terminal), createPaint(io.colours)]
  const left = new AbortController()
  const signal = AbortSignal.any([io.signal, left.signal])
  let view: StatusView | undefined
  let note = 'q quits'
  const draw = (): void => {
    const size = { columns: terminal.columns(), rows: terminal.rows() }
    if (!signal.aborted)
      block.draw(fit(view === undefined ? ['reading the store …'] : statusLines(paint, view), note, size))
  }
  const endKeys = watchKeys(process.stdin, { quit: () => left.abort(), leave: () => block.clear(), enter: draw })
  const endResize = terminal.onResize(draw)
  try {
    draw()
    const show = (next: StatusView): void => {
      ;[view, note] = [next, 'q quits']
      draw()
    }
    const miss = (): void => {
      note = 'No engine is running, so no work is in progress; "unstuck up" starts one. q quits'
      draw()
    }
    const first = await Promise.race([readFirst(io, path), aborted(signal)])
    if (first !== undefined) {
      show(first.view)
      await pollStatus({ io, path, signal, show, miss }, first.client)
    }
    return exitCodes.ok
  } finally {
    endResize()
    endKeys()
    // The last view stays on the terminal, without the footer.
    if (view === undefined) block.clear()
    else block.draw(fit(statusLines(paint, view), '', { columns: terminal.columns(), rows: terminal.rows() }))
  }
}

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })

const watchAsLines = async (io: Io, path: string, asJson: boolean): Promise<number> => {
  let key: string | undefined
  const show = (view: StatusView): void => {
    const next = keyOf(view)
    if (next === key) return
    if (asJson) printJson(io, view)
    else
      for (const text of [...(key === undefined ? [] : ['']), ...statusLines(createPaint(io.colours), view)])
        printLine(io, text)
    key = next
  }
  const { view, client } = await readFirst(io, path)
  show(view)
  await pollStatus({ io, path, signal: io.signal, show, miss: () => undefined }, client)
  return exitCodes.ok
}

export const watchStatus = (io: Io, path: string, asJson: boolean): Promise<number> =>
  io.terminal === undefined || asJson ? watchAsLines(io, path, asJson) : watchOnTerminal(io, io.terminal, path)
