/** Waiting for something to change in a folder: told by the system where it can, by a poll in any case. */
import { type FSWatcher, watch } from 'node:fs'

const pollMs = 50

export interface Wake {
  /** Resolves at the next change, after the poll interval, or when the signal aborts. Never rejects. */
  next(): Promise<void>
  close(): void
}

const watchFolder = (dir: string, onChange: () => void): FSWatcher | undefined => {
  try {
    const watcher = watch(dir, { persistent: false }, onChange)
    watcher.on('error', () => watcher.close()) // the folder is gone or the system's watches ran out: the poll remains
    return watcher
  } catch {
    return undefined // the same, known at once
  }
}

export const createWake = (dir: string, signal?: AbortSignal): Wake => {
  let changed = false
  let ring = (): void => {}
  const onChange = (): void => {
    changed = true
    ring()
  }
  const watcher = watchFolder(dir, onChange)
  signal?.addEventListener('abort', onChange)
  return {
    async next() {
      if (!changed) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, pollMs)
          ring = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      changed = signal?.aborted === true
    },
    close() {
      watcher?.close()
      signal?.removeEventListener('abort', onChange)
    },
  }
}
