/** Single keys and lines of the person at this terminal. */
import { createInterface } from 'node:readline'
import type { ReadStream } from 'node:tty'

export interface Keys {
  /** The next key; undefined when the signal ends the wait. */
  key(signal: AbortSignal): Promise<string | undefined>
  /** A line after a prompt; undefined when the person or the signal ends the wait. */
  line(prompt: string, signal: AbortSignal): Promise<string | undefined>
}

/** What was typed while a command worked comes at once, and was no answer to a question that was not there yet. */
const typedAheadMs = 150

const nextKey = (input: ReadStream, signal: AbortSignal): Promise<string | undefined> =>
  new Promise((resolve) => {
    const begun = performance.now()
    const end = (key: string | undefined): void => {
      input.off('data', take)
      signal.removeEventListener('abort', leave)
      input.setRawMode(false)
      input.pause()
      resolve(key)
    }
    const leave = (): void => end(undefined)
    const take = (chunk: Buffer): void => {
      if (performance.now() - begun < typedAheadMs) return
      end(chunk.toString('utf8').slice(0, 1))
    }
    signal.addEventListener('abort', leave)
    input.setRawMode(true)
    input.on('data', take)
    input.resume()
    if (signal.aborted) leave()
  })

const nextLine = (input: ReadStream, prompt: string, signal: AbortSignal): Promise<string | undefined> =>
  new Promise((resolve) => {
    const reader = createInterface({ input, output: process.stdout })
    const leave = (): void => reader.close()
    signal.addEventListener('abort', leave)
    let said: string | undefined
    reader.on('close', () => {
      signal.removeEventListener('abort', leave)
      resolve(said)
    })
    reader.question(prompt, (text) => {
      said = text
      reader.close()
    })
    if (signal.aborted) leave()
  })

export const keysOf = (input: ReadStream): Keys => ({
  key: (signal) => nextKey(input, signal),
  line: (prompt, signal) => nextLine(input, prompt, signal),
})
