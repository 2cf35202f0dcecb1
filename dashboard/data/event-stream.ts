/** Reads the stream of events with fetch, because EventSource cannot send the session in a header. */

export interface EventStream {
  /** The engine accepted the connection. */
  opened(): void
  /** Called with the number of each event. */
  arrived(seq: number): void
  /** Aborts the reading. */
  signal: AbortSignal
}

/** Reports complete messages and returns the rest of the text, which is the start of the next message. */
const readMessages = (text: string, arrived: (seq: number) => void): string => {
  const blocks = text.split('\n\n')
  const rest = blocks.pop() ?? ''
  for (const block of blocks) {
    const seq = Number(/^id: (\d+)$/m.exec(block)?.[1])
    if (Number.isFinite(seq)) arrived(seq)
  }
  return rest
}

/** Reads until the stream ends or is aborted; throws when the connection breaks. */
export const followEventStream = async (
  response: Response,
  { opened, arrived, signal }: EventStream,
): Promise<void> => {
  if (!response.ok || response.body === null) return
  opened()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  while (!signal.aborted) {
    const { done, value } = await reader.read()
    if (done) return
    rest = readMessages(rest + value, arrived)
  }
}
