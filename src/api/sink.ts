/**
 * The response to one follower of the events. It is written directly instead of through a web stream, because the hub needs to
 * know how much is still buffered, and because a thousand followers must be cheap.
 */
import type { ServerResponse } from 'node:http'

export interface SinkLimits {
  /** A follower with more buffered bytes than this is disconnected. */
  maxBehind: number
  /** A follower that has read nothing for so long is disconnected. */
  stallMs: number
  now: () => number
}

export interface Sink {
  /** Writes without waiting; disconnects a follower that is too far behind. */
  push(chunk: Buffer): void
  /** Resolves when the follower has room for more, or is gone. */
  send(chunk: Buffer): Promise<void>
  closed(): boolean
  stalled(): boolean
  onClose(listener: () => void): void
  /** Ends the connection at once. */
  cut(): void
  /** Ends the stream after its last bytes; resolves when it is closed. */
  end(last: Buffer): Promise<void>
}

/** How long a follower may take to read the end of its stream when the engine stops. */
const endMs = 1_000

/** Tracks whether a response is open, and since when its client reads nothing. */
const track = (response: ServerResponse, now: () => number) => {
  // The client may have left while its request was handled: then no `close` follows.
  let open = !response.closed
  let blockedSince: number | undefined
  const closing = new Set<() => void>()
  response.on('drain', () => (blockedSince = undefined))
  response.on('error', () => undefined) // the follower is gone; `close` follows
  response.on('close', () => {
    open = false
    for (const listener of closing) listener()
  })
  return {
    closing,
    isOpen: () => open,
    blockedMs: () => (blockedSince === undefined ? 0 : now() - blockedSince),
    write: (chunk: Buffer): boolean => {
      const free = response.write(chunk)
      if (!free) blockedSince ??= now()
      return free
    },
  }
}

/** Resolves when the response has room for more, or is closed. */
const drained = (response: ServerResponse, closing: Set<() => void>): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      closing.delete(done)
      response.off('drain', done)
      resolve()
    }
    closing.add(done)
    response.on('drain', done)
  })

export const sinkOf = (response: ServerResponse, { maxBehind, stallMs, now }: SinkLimits): Sink => {
  const { closing, isOpen, blockedMs, write } = track(response, now)
  const cut = (): void => void response.destroy()
  return {
    push: (chunk) => {
      if (!isOpen()) return
      if (response.writableLength > maxBehind) cut()
      else write(chunk)
    },
    send: async (chunk) => {
      if (isOpen() && !write(chunk)) await drained(response, closing)
    },
    closed: () => !isOpen(),
    stalled: () => blockedMs() > stallMs,
    onClose: (listener) => void (isOpen() ? closing.add(listener) : listener()),
    cut,
    end: (last) =>
      new Promise((resolve) => {
        if (!isOpen()) return resolve()
        const late = setTimeout(cut, endMs)
        closing.add(() => {
          clearTimeout(late)
          resolve()
        })
        response.end(last)
      }),
  }
}
