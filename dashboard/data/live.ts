/**
 * The stream of events as the reason to look again. When a stream ends, a new one starts after the last event. A
 * hidden page holds no connection, because a browser allows only a few per address.
 */
import { useQueryClient, type QueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ask } from './client.ts'
import { readEvents } from './event-stream.ts'
import { onRequest } from './queries.ts'

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
      await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== onRequest })
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
  let current: AbortController | undefined
  let again: number | undefined
  const opened = (): void => {
    tell('live')
    refresh()
  }
  const arrived = (seq: number): void => {
    last = Math.max(last, seq)
    refresh()
  }
  const open = async (): Promise<void> => {
    const left = new AbortController()
    current = left
    const { signal } = left
    const init = { headers: { accept: 'text/event-stream' }, signal }
    await ask(`/events?after=${last}`, init)
      .then((answer) => readEvents(answer, { opened, arrived, signal }))
      .catch(() => undefined) // broken off, which is an end like any other
    if (signal.aborted) return
    tell('lost')
    refresh() // whether it is gone or has forgotten us is what the next answer tells
    again = window.setTimeout(() => void open(), reopenMs)
  }
  const stop = (): void => {
    window.clearTimeout(again)
    current?.abort()
  }
  return {
    start: () => {
      stop()
      void open()
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
