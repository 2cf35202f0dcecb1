/**
 * The live view of `run` and `landGoalCommand` on a terminal: one block, redrawn in status until the goal has ended. Other output of the
 * command scrolls above the block. Without a terminal nothing is shown, and the engine is not polled for it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ActivityView, GoalView } from '../../api/contract.ts'
import type { JsonOption } from '../command-options.ts'
import type { Client } from '../engine/client.ts'
import type { Io } from '../io.ts'
import { createPaint } from '../render.ts'
import { createBlock, type TerminalBlock } from './block.ts'
import { frame, type LiveView } from './frame.ts'
import { onSuspend } from './suspend.ts'
import type { Terminal } from './terminal.ts'
import { elapsedText } from './elapsed.ts'
import { cutToWidth } from '../width.ts'

const everyMs = 1_000
/** Most runs whose activity is polled: more do not fit on a terminal. */
const maxWatchedRuns = 12

export interface Live {
  /** The given Io, but its output is printed above the block. */
  io: Io
  /** Shows what the command is doing, until there is a goal to show. */
  say(text: string): void
  /** Shows this goal from now on. `client` returns the client of the current engine. */
  watch(goalId: string, client: () => Client): void
  close(): void
}

const activitiesOf = async (client: Client, goal: GoalView): Promise<Map<string, ActivityView>> => {
  const runs = goal.tasks.flatMap(({ status, run }) => (status === 'running' && run !== null ? [run.id] : []))
  const activities = runs.slice(0, maxWatchedRuns).map(async (id): Promise<[string, ActivityView]> => {
    return [id, await client.get<ActivityView>(`/runs/${id}/activity`)]
  })
  return new Map(await Promise.all(activities))
}

/** The current view of the goal; while the engine is not responding, the previous view marked as silent. */
const nextView = async (client: Client, id: string, before: LiveView | undefined): Promise<LiveView | undefined> => {
  try {
    const goal = await client.get<GoalView>(`/goals/${id}`)
    return { goal, activities: await activitiesOf(client, goal), silent: false }
  } catch {
    return before === undefined ? undefined : { ...before, silent: true }
  }
}

/** Draws every second, after a resize and after a suspension, until the signal aborts. */
const keepDrawn = (terminal: Terminal, block: TerminalBlock, draw: () => void, signal: AbortSignal): void => {
  const timer = setInterval(draw, everyMs)
  const endResize = terminal.onResize(draw)
  const endSuspend = onSuspend({ leave: () => block.clear(), enter: draw })
  signal.addEventListener('abort', () => {
    clearInterval(timer)
    endResize()
    endSuspend()
  })
}

const openOn = (io: Io, terminal: Terminal): Live => {
  const block = createBlock(terminal)
  const paint = createPaint(io.colours)
  const ended = new AbortController()
  const began = new Date().toISOString()
  let status = ''
  let view: LiveView | undefined
  const lines = (now: Date): string[] => {
    const [columns, rows] = [terminal.columns(), terminal.rows()]
    if (view !== undefined) return frame(view, { columns, rows, now, paint })
    const elapsed = now.getTime() - Date.parse(began) < everyMs ? '' : `  ${elapsedText(began, now)}`
    return status === '' ? [] : [cutToWidth(`${status} …${elapsed}`, columns)]
  }
  const draw = (): void => {
    if (!ended.signal.aborted) block.draw(lines(new Date()))
  }
  const poll = async (id: string, client: () => Client): Promise<void> => {
    while (!ended.signal.aborted && !io.signal.aborted) {
      view = await nextView(client(), id, view)
      draw()
      await delay(everyMs, undefined, { signal: ended.signal }).catch(() => undefined) // aborted: the loop ends
    }
  }
  keepDrawn(terminal, block, draw, ended.signal)
  return {
    io: {
      ...io,
      out: (text) => (ended.signal.aborted ? io.out(text) : block.print(text)),
      // Standard error may be redirected, so it is not printed through the block, which writes to standard output.
      error: (text) => {
        block.clear()
        io.error(text)
        draw()
      },
    },
    say: (text) => {
      status = text
      draw()
    },
    watch: (id, client) => void poll(id, client),
    close: () => {
      ended.abort()
      block.clear()
    },
  }
}

const nothing: Omit<Live, 'io'> = { say: () => undefined, watch: () => undefined, close: () => undefined }

/** JSON output, a pipe and a dumb terminal get no block. */
export const withLive = async <T>(
  io: Io,
  { json = false }: JsonOption,
  work: (live: Live) => Promise<T>,
): Promise<T> => {
  if (io.terminal === undefined || json) return work({ ...nothing, io })
  const live = openOn(io, io.terminal)
  try {
    live.say('starting')
    return await work(live)
  } finally {
    live.close()
  }
}
