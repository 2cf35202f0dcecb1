/**
 * The stream of events as the reason to look again. The browser reconnects with the number of the last event by itself
 * while it can; where it gives up (the engine answered, but not with a stream) a new stream begins at that number. A page that
 * nobody sees holds no connection: a browser has few for one address.
 */
import { useQueryClient, type QueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

const reopenMs = 1_500
/** So that a burst of events is one look. */
const restMs = 250

/** Looks again after each event, never twice at once, and never starves under a steady stream. */
const createRefresher = (client: QueryClient) => {
  let wanted = false
  let busy = false
  const run = async (): Promise<void> => {
    busy = true
    while (wanted) {
      wanted = false
      await client.invalidateQueries()
      await new Promise((resolve) => setTimeout(resolve, restMs))
    }
    busy = false
  }
  return (): void => {
    wanted = true
    if (!busy) void run()
  }
}

export type Stream = 'opening' | 'live' | 'lost'

interface Follower {
  start(): void
  stop(): void
}

const createFollower = (from: number, refresh: () => void, tell: (state: Stream) => void): Follower => {
  let last = from
  let source: EventSource | undefined
  let again: number | undefined
  const open = (): void => {
    const opened = new EventSource(`/events?after=${last}`)
    source = opened
    opened.addEventListener('open', () => {
      tell('live')
      refresh()
    })
    opened.addEventListener('message', (message) => {
      last = Math.max(last, Number(message.lastEventId) || 0)
      refresh()
    })
    opened.addEventListener('error', () => {
      tell('lost')
      refresh() // whether it is gone or has forgotten us is what the next answer tells
      if (opened.readyState === EventSource.CLOSED) again = window.setTimeout(open, reopenMs)
    })
  }
  const stop = (): void => {
    window.clearTimeout(again)
    source?.close()
    source = undefined
  }
  return {
    start: () => {
      stop()
      open()
    },
    stop,
  }
}

/** Follows the events from a number on, once it is known. */
export const useLive = (from: number | undefined): Stream => {
  const client = useQueryClient()
  const [stream, setStream] = useState<Stream>('opening')
  const known = from !== undefined
  useEffect(() => {
    if (from === undefined) return undefined
    const follower = createFollower(from, createRefresher(client), setStream)
    const look = (): void => (document.hidden ? follower.stop() : follower.start())
    look()
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      follower.stop()
    }
    // Later answers name later events; the stream itself is past them already.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [client, known])
  return stream
}
