/** Parses the wire format of the event stream: chunks of bytes in, complete events out. */
import type { EventView } from '../../api/contract.ts'

/** The events of a stream, in batches as they arrive; an empty batch is a heartbeat. An incomplete event at the end is dropped. */
export const readEventStream = async function* (
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<EventView[], void, undefined> {
  const decoder = new TextDecoder()
  let incomplete = ''
  for await (const chunk of chunks) {
    const blocks = (incomplete + decoder.decode(chunk, { stream: true })).split('\n\n')
    incomplete = blocks.pop() ?? ''
    yield blocks.flatMap((block) => {
      const data = block.split('\n').find((line) => line.startsWith('data: '))
      return data === undefined ? [] : [JSON.parse(data.slice('data: '.length)) as EventView]
    })
  }
}
