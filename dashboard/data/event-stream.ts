/** The stream of events, read by hand: what the browser has for it can bring no session with its request. */

export interface EventStream {
  /** The connection stands. */
  opened(): void
  /** The number of an event that arrived. */
  arrived(seq: number): void
  /** Aborts the reading. */
  signal: AbortSignal
}

/** Complete messages are told of; what is left of the text is the beginning of the next one. */
const readMessages = (text: string, arrived: (seq: number) => void): string => {
  const blocks = text.split('\n\n')
  const rest = blocks.pop() ?? ''
  for (const block of blocks) {
    const seq = Number(/^id: (\d+)$/m.exec(block)?.[1])
    if (Number.isFinite(seq)) arrived(seq)
  }
  return rest
}

/** Reads until the stream ends, breaks off or is aborted. */
export const readEvents = async (answer: Response, { opened, arrived, signal }: EventStream): Promise<void> => {
  if (!answer.ok || answer.body === null) return
  opened()
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  while (!signal.aborted) {
    const { done, value } = await reader.read()
    if (done) return
    rest = readMessages(rest + value, arrived)
  }
}
