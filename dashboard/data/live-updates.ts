/**
 * Refetches after each event. When a stream ends, a new one starts after the last event. A hidden page holds no connection,
 * because a browser allows only a few per address.
 */
import { useQueryClient, type QueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { authorizedFetch } from './client.ts'
import { followEventStream } from './event-stream.ts'
import { onRequest } from './queries.ts'

const reopenMs = 1_500
/** A burst of events causes one refetch. */
const restMs = 250

/** One refetch at a time; a steady stream of events causes one after the other. */
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

export type StreamState = 'opening' | 'live' | 'lost'

interface Follower {
  start(): void
  stop(): void
}

const createFollower = (from: number, refresh: () => void, report: (state: StreamState) => void): Follower => {
  let last = from
  let current: AbortController | undefined
  let again: number | undefined
  const opened = (): void => {
    report('live')
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
    await authorizedFetch(`/events?after=${last}`, init)
      .then((response) => followEventStream(response, { opened, arrived, signal }))
      .catch(() => undefined) // a broken connection is reopened like one that ended
    if (signal.aborted) return
    report('lost')
    refresh() // its response shows whether the engine is gone or the session has ended
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

/** Follows the events after `from`, as soon as that number is known. */
export const useLive = (from: number | undefined): StreamState => {
  const client = useQueryClient()
  const [stream, setStream] = useState<StreamState>('opening')
  const known = from !== undefined
  useEffect(() => {
    if (from === undefined) return undefined
    const follower = createFollower(from, createRefresher(client), setStream)
    const update = (): void => (document.hidden ? follower.stop() : follower.start())
    update()
    document.addEventListener('visibilitychange', update)
    return () => {
      document.removeEventListener('visibilitychange', update)
      follower.stop()
    }
    // `from` rises with each status; the open stream is already past it and must not restart.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [client, known])
  return stream
}
