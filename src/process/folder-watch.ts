/** Waits for a change in a folder: by the system's notifications where available, and by polling in any case. */
import { type FSWatcher, watch } from 'node:fs'

const pollMs = 50

export interface FolderWatch {
  /** Resolves at the next change, after the poll interval, or when the signal aborts. Never rejects. */
  nextChange(): Promise<void>
  close(): void
}

const watchFolder = (dir: string, onChange: () => void): FSWatcher | undefined => {
  try {
    const watcher = watch(dir, { persistent: false }, onChange)
    watcher.on('error', () => watcher.close()) // the folder is gone or the system is out of watches: polling remains
    return watcher
  } catch {
    return undefined // the same, reported at once
  }
}

export const createFolderWatch = (dir: string, signal?: AbortSignal): FolderWatch => {
  let changed = false
  let resolveNext = (): void => {}
  const onChange = (): void => {
    changed = true
    resolveNext()
  }
  const watcher = watchFolder(dir, onChange)
  signal?.addEventListener('abort', onChange)
  return {
    async nextChange() {
      if (!changed) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, pollMs)
          resolveNext = () => {
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
