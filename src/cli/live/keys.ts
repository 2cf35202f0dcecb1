/** Watches for single keys on a terminal. Node itself restores the mode of the terminal when the process ends. */
import { onSuspend } from './suspend.ts'

interface Keys {
  /** q, Ctrl-C or Ctrl-D. */
  quit: () => void
  /** Called before Ctrl-Z suspends this process; `enter` after it has been resumed. */
  leave: () => void
  enter: () => void
}

const quitKeys = new Set(['q', 'Q', '\u0003', '\u0004'])
const suspendKey = '\u001a'

/** Returns a function that stops watching. If the input is not a terminal there are no keys, and Ctrl-C arrives as a signal. */
export const watchKeys = (input: NodeJS.ReadStream, { quit, leave, enter }: Keys): (() => void) => {
  // In raw mode the terminal does not turn Ctrl-C and Ctrl-Z into signals.
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
