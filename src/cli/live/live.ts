/**
 * What `run` shows on a terminal while it works: one block, redrawn in place, from the first moment until the goal has
 * ended. Everything that the command prints meanwhile scrolls above it. Elsewhere nothing is shown and nothing asked.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ActivityView, GoalView } from '../../api/contract.ts'
import type { JsonOption } from '../command.ts'
import type { Client } from '../engine/client.ts'
import type { Io } from '../io.ts'
import { createPaint } from '../render.ts'
import { createBlock, type Block } from './block.ts'
import { frame, type LiveView } from './frame.ts'
import { onSuspend } from './suspend.ts'
import type { Terminal } from './terminal.ts'
import { elapsedText } from './elapsed.ts'
import { cut } from '../width.ts'

const everyMs = 1_000
/** Tasks whose activity is asked for: more do not fit a terminal. */
const watchedRuns = 12

export interface Live {
  /** As the given one, but what is printed goes above the block. */
  io: Io
  /** What this command does before there is a goal to show. */
  say(text: string): void
  /** Shows this goal from now on. `client` gives the engine that answers now. */
  watch(goalId: string, client: () => Client): void
  close(): void
}

const activitiesOf = async (client: Client, goal: GoalView): Promise<Map<string, ActivityView>> => {
  const runs = goal.tasks.flatMap(({ place, run }) => (place === 'running' && run !== null ? [run.id] : []))
  const asked = runs.slice(0, watchedRuns).map(async (id): Promise<[string, ActivityView]> => {
    return [id, await client.get<ActivityView>(`/runs/${id}/activity`)]
  })
  return new Map(await Promise.all(asked))
}

/** The newest picture; while no engine answers, the last one with that remark. */
const nextView = async (client: Client, id: string, before: LiveView | undefined): Promise<LiveView | undefined> => {
  try {
    const goal = await client.get<GoalView>(`/goals/${id}`)
    return { goal, activities: await activitiesOf(client, goal), silent: false }
  } catch {
    return before === undefined ? undefined : { ...before, silent: true }
  }
}

/** Draws every second, after a change of size and after a suspension, until the signal. */
const keepDrawn = (terminal: Terminal, block: Block, draw: () => void, signal: AbortSignal): void => {
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
  let said = ''
  let view: LiveView | undefined
  const lines = (now: Date): string[] => {
    const [columns, rows] = [terminal.columns(), terminal.rows()]
    if (view !== undefined) return frame(view, { columns, rows, now, paint })
    const elapsed = now.getTime() - Date.parse(began) < everyMs ? '' : `  ${elapsedText(began, now)}`
    return said === '' ? [] : [cut(`${said} …${elapsed}`, columns)]
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
      // It may go elsewhere, so it is not part of what the block prints.
      error: (text) => {
        block.clear()
        io.error(text)
        draw()
      },
    },
    say: (text) => {
      said = text
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

/** Lines of JSON, a pipe and a dumb terminal get no block. */
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
