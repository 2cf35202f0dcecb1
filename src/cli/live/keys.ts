/** Single keys from a terminal. Node restores the terminal's mode itself when the process ends, however that happens. */
import { onSuspend } from './suspend.ts'

interface Keys {
  /** q, Ctrl-C or Ctrl-D. */
  quit: () => void
  /** Ctrl-Z: before this process stops, and after it was continued. */
  leave: () => void
  enter: () => void
}

const quitKeys = new Set(['q', 'Q', '\u0003', '\u0004'])
const suspendKey = '\u001a'

/** Until the function that is given back is called. Without a terminal as input there are no keys, and Ctrl-C is a signal. */
export const watchKeys = (input: NodeJS.ReadStream, { quit, leave, enter }: Keys): (() => void) => {
  // In raw mode the terminal makes no signals of keys.
  const setRaw = (raw: boolean): void => void (input.isTTY && input.setRawMode(raw))
  const onData = (chunk: Buffer): void => {
    for (const key of chunk.toString()) {
      if (quitKeys.has(key)) quit()
      if (key === suspendKey) process.kill(process.pid, 'SIGTSTP')
    }
  }
  const endSuspend = onSuspend({
    leave: () => {
      leave()
      setRaw(false)
    },
    enter: () => {
      setRaw(true)
      enter()
    },
  })
  setRaw(true)
  if (input.isTTY) input.on('data', onData)
  return () => {
    endSuspend()
    setRaw(false)
    if (!input.isTTY) return
    input.off('data', onData)
    input.pause()
  }
}
