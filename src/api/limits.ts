/** Limits per client: connections, the time to send a request, and streams of events. */
import type { ServerOptions } from 'node:http'
import { AppError } from '../errors.ts'
import { fileLimit } from '../platform/machine.ts'

/** Streams of events that may be open: of the owner's token, which all local programs share, and of each login of a browser. */
export const mostStreams = { owner: 256, session: 32 }

/**
 * Far more than a person and their programs need, and few enough to leave file descriptors for agents and the store. Twice the streams of
 * the owner, so that one more gets an answer that says why it is refused.
 */
export const connectionLimit = (ownerStreams = mostStreams.owner): number =>
  Math.min(2 * ownerStreams, Math.floor((fileLimit()?.soft ?? 1024) / 4))

/** In milliseconds from the start of the connection, so a connection that sends nothing is closed too. */
export const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
} satisfies ServerOptions

export interface StreamLimits {
  /** Counts one more stream of a caller and returns the function that releases it. Throws TOO_MANY above the limit. */
  take(caller: string): () => void
}

export const createStreamLimits = (ownerStreams = mostStreams.owner): StreamLimits => {
  const counts = new Map<string, number>()
  return {
    take: (caller) => {
      const most = caller === 'owner' ? ownerStreams : mostStreams.session
      const count = counts.get(caller) ?? 0
      if (count >= most)
        throw new AppError('TOO_MANY', `${most} streams of events are open for this login already; close one of them`)
      counts.set(caller, count + 1)
      return () => {
        const left = (counts.get(caller) ?? 1) - 1
        if (left === 0) counts.delete(caller)
        else counts.set(caller, left)
      }
    },
  }
}
