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

export const sinkOf = (response: ServerResponse, { maxBehind, stallMs, now }: SinkLimits): Sink => {
  let open = true
  let blockedSince: number | undefined
  const closing = new Set<() => void>()
  response.on('drain', () => (blockedSince = undefined))
  response.on('error', () => undefined) // the follower is gone; `close` follows
  response.on('close', () => {
    open = false
    for (const listener of closing) listener()
  })
  const write = (chunk: Buffer): boolean => {
    const free = response.write(chunk)
    if (!free) blockedSince ??= now()
    return free
  }
  const cut = (): void => void response.destroy()
  return {
    push: (chunk) => {
      if (!open) return
      if (response.writableLength > maxBehind) cut()
      else write(chunk)
    },
    send: (chunk) =>
      new Promise((resolve) => {
        if (!open || write(chunk)) return resolve()
        const done = (): void => {
          closing.delete(done)
          response.off('drain', done)
          resolve()
        }
        closing.add(done)
        response.on('drain', done)
      }),
    closed: () => !open,
    stalled: () => blockedSince !== undefined && now() - blockedSince > stallMs,
    onClose: (listener) => void (open ? closing.add(listener) : listener()),
    cut,
    end: (last) =>
      new Promise((resolve) => {
        if (!open) return resolve()
        const late = setTimeout(cut, endMs)
        closing.add(() => {
          clearTimeout(late)
          resolve()
        })
        response.end(last)
      }),
  }
}
