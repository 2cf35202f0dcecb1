/**
 * The answer to one follower of the events. Written to straight, not through a web stream: it must be seen how much is
 * not yet taken, and a thousand of them must be cheap.
 */
import type { ServerResponse } from 'node:http'

export interface SinkLimits {
  /** Bytes not yet taken, above which a follower is cut off instead of given more. */
  maxBehind: number
  /** Cut off when it took nothing for so long. */
  stallMs: number
  now: () => number
}

export interface Sink {
  /** Writes without waiting; cuts off a follower that is too far behind. */
  push(chunk: Buffer): void
  /** Resolves when the follower may be given more, or is gone. */
  send(chunk: Buffer): Promise<void>
  closed(): boolean
  stalled(): boolean
  onClose(listener: () => void): void
  /** Ends the connection at once. */
  cut(): void
  /** Ends the stream in order; resolves when it is closed. */
  end(last: Buffer): Promise<void>
}

/** How long a follower may take to read the end of its stream when the engine stops. */
const endMs = 1_000

/** What is known of a response that is written to: whether it is open, and since when it takes nothing. */
const track = (response: ServerResponse, now: () => number) => {
  // It may have left while its request was looked at: then no `close` follows.
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

/** Resolves when the response takes more, or is closed. */
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
