/** Reads single keys and lines from the terminal. */
import { createInterface } from 'node:readline'
import type { ReadStream } from 'node:tty'

export interface Prompt {
  /** The next key; undefined if the signal aborts first. */
  key(signal: AbortSignal): Promise<string | undefined>
  /** A line after a prompt; undefined if the person closes the input or the signal aborts first. */
  line(prompt: string, signal: AbortSignal): Promise<string | undefined>
}

/** Keys typed before the question appeared arrive at once; within this time they are discarded, because they do not answer it. */
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
    let typed: string | undefined
    reader.on('close', () => {
      signal.removeEventListener('abort', leave)
      resolve(typed)
    })
    reader.question(prompt, (text) => {
      typed = text
      reader.close()
    })
    if (signal.aborted) leave()
  })

export const promptOf = (input: ReadStream): Prompt => ({
  key: (signal) => nextKey(input, signal),
  line: (prompt, signal) => nextLine(input, prompt, signal),
})
