/**
 * PostgreSQL's protocol over a socket that blocks: what is asked is answered before the call returns. Statements that need not know each
 * other's answers are queued and go in one piece, because the way to the server and back costs more than most of them.
 */
import { readSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { once } from 'node:events'

export interface Column {
  name: string
  read: (text: string) => unknown
}

/** One execution. Its rows are there when it was exchanged. */
export interface Asked {
  columns: Column[]
  rows: object[]
  /** What the server says it did, for instance `COMMIT`. */
  done: string
}

export interface Wire {
  /** Throws what the server says against the text. */
  prepare(name: string, text: string): Column[]
  queue(name: string, values: readonly unknown[], columns: Column[]): Asked
  /** Ends the transaction of statements that stand alone, or the effect of an error. */
  queueSync(): void
  /** Sends what is queued, and throws the first error of it after every answer was read. */
  exchange(): void
  /** Statements without values, whose rows nobody reads. */
  script(text: string): void
  close(): void
}

/** `2026-01-01 00:00:08.123+00`: the session's time zone is UTC. */
const dateOf = (text: string): Date => {
  if (text.length < 22 || !text.endsWith('+00')) return new Date(text)
  const part = (from: number, to: number): number => Number(text.slice(from, to))
  const milliseconds = Math.floor(Number(`0${text.slice(19, -3)}`) * 1000 + 1e-6)
  return new Date(
    Date.UTC(part(0, 4), part(5, 7) - 1, part(8, 10), part(11, 13), part(14, 16), part(17, 19)) + milliseconds,
  )
}

const readers: Record<number, (text: string) => unknown> = {
  16: (text) => text === 't',
  20: Number,
  21: Number,
  23: Number,
  114: (text) => JSON.parse(text) as unknown,
  700: Number,
  701: Number,
  1184: dateOf,
  3802: (text) => JSON.parse(text) as unknown,
}

const wireText = (value: unknown): string | null => {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return value
  if (value instanceof Date) return value.toISOString()
  return JSON.stringify(value)
}

const beyondAscii = /[\u0080-\u00ff]/

const rowOf = (bytes: Buffer, from: number, to: number, columns: Column[]): object => {
  const row: Record<string, unknown> = {}
  // A piece of one string costs less than a string of its own.
  const whole = bytes.toString('latin1', from, to)
  const isPlain = !beyondAscii.test(whole)
  let at = 2
  for (const { name, read } of columns) {
    const length = bytes.readInt32BE(from + at)
    at += 4
    if (length < 0) row[name] = null
    else if (isPlain) row[name] = read(whole.slice(at, at + length))
    else row[name] = read(bytes.toString('utf8', from + at, from + at + length))
    at += Math.max(0, length)
  }
  return row
}

const columnsOf = (body: Buffer): Column[] => {
  const columns: Column[] = []
  let at = 2
  for (let left = body.readInt16BE(0); left > 0; left -= 1) {
    const end = body.indexOf(0, at)
    const oid = body.readInt32BE(end + 7)
    columns.push({ name: body.toString('utf8', at, end), read: readers[oid] ?? ((text) => text) })
    at = end + 19
  }
  return columns
}

const errorOf = (body: Buffer): Error => {
  const fields: Record<string, string> = {}
  for (let at = 0; at < body.length && body[at] !== 0;) {
    const end = body.indexOf(0, at + 1)
    fields[String.fromCharCode(body[at] as number)] = body.toString('utf8', at + 1, end)
    at = end + 1
  }
  return Object.assign(new Error(fields['M'] ?? 'the store failed'), { code: fields['C'] })
}

const letter = (type: string): number => type.charCodeAt(0)

const types = {
  ...{
    authentication: letter('R'),
    columns: letter('T'),
    noColumns: letter('n'),
    done: letter('C'),
    empty: letter('I'),
  },
  ...{ error: letter('E'), ready: letter('Z'), row: letter('D') },
}

/** Each ends the answer to one thing that was asked. */
const endings = new Set([types.done, types.empty, types.columns, types.noColumns])

/** What is to be sent, in one buffer that only grows. */
const createOutput = () => {
  let bytes = Buffer.allocUnsafe(1 << 16)
  let length = 0
  const room = (more: number): void => {
    if (length + more <= bytes.length) return
    const larger = Buffer.allocUnsafe(2 * (length + more))
    bytes.copy(larger, 0, 0, length)
    bytes = larger
  }
  const message = (type: string, ...parts: (string | Buffer)[]): void => {
    const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part)))
    room(body.length + 5)
    if (type !== '') bytes[length++] = letter(type)
    length = bytes.writeInt32BE(body.length + 4, length)
    length += body.copy(bytes, length)
  }
  /** Binds values, all as text, to a prepared statement and executes it, with answers as text. */
  const execution = (name: string, values: readonly unknown[]): void => {
    const texts = values.map(wireText)
    // Three bytes are the most that UTF-8 needs for a unit of a string.
    room(64 + name.length + texts.reduce((sum, text) => sum + 4 + 3 * (text?.length ?? 0), 0))
    const begin = length
    bytes[begin] = letter('B')
    bytes[begin + 5] = 0
    length = begin + 6
    length += bytes.write(`${name}\0`, length, 'latin1')
    length = bytes.writeInt16BE(0, length)
    length = bytes.writeInt16BE(texts.length, length)
    for (const text of texts) {
      const size = text === null ? 0 : bytes.write(text, length + 4)
      bytes.writeInt32BE(text === null ? -1 : size, length)
      length += 4 + size
    }
    length = bytes.writeInt16BE(0, length)
    bytes.writeInt32BE(length - begin - 1, begin + 1)
    length += bytes.write('E\0\0\0\u0009\0\0\0\0\0', length, 'latin1')
  }
  const send = (fd: number): void => {
    for (let at = 0; at < length;) at += writeSync(fd, bytes, at, length - at)
    length = 0
  }
  return { message, execution, send }
}

/** Reads whole messages: `each` is given their type and where they stand, and says whether it was the last one. */
const createInput = (fd: number) => {
  let bytes = Buffer.allocUnsafe(1 << 18)
  let filled = 0
  const more = (needed: number): void => {
    if (needed > bytes.length) {
      const larger = Buffer.allocUnsafe(2 * needed)
      bytes.copy(larger, 0, 0, filled)
      bytes = larger
    }
    const read = readSync(fd, bytes, filled, bytes.length - filled, null)
    if (read === 0) throw new Error('the server of the simulation ended')
    filled += read
  }
  return (each: (type: number, bytes: Buffer, from: number, to: number) => boolean): void => {
    let at = 0
    for (let isLast = false; !isLast;) {
      while (filled < at + 5) more(at + 5)
      const end = at + 1 + bytes.readInt32BE(at + 1)
      while (filled < end) more(end)
      isLast = each(bytes[at] as number, bytes, at + 5, end)
      at = end
    }
    // Nothing comes unasked in between: the next answer begins at the front again.
    bytes.copyWithin(0, at, filled)
    filled -= at
  }
}

/** The blocking descriptor of a new connection, which Node's own loop never reads. */
const connect = async (path: string): Promise<{ fd: number; socket: Socket }> => {
  const socket = new Socket()
  socket.pause()
  socket.connect(path)
  await once(socket, 'connect')
  const { _handle: handle } = socket as unknown as { _handle: { fd: number; setBlocking(on: boolean): number } }
  if (handle.setBlocking(true) !== 0) throw new Error('the connection to the server cannot be made to block')
  return { fd: handle.fd, socket }
}

/** Where the server is in step again, whatever came before. */
const sync = undefined
type Expected = Asked | typeof sync

/** Reads the answers to all that is expected, and gives the first error of them. */
const createAnswers = (fd: number) => {
  const readMessages = createInput(fd)
  return (expected: readonly Expected[]): Error | undefined => {
    let failure: Error | undefined
    let at = 0
    readMessages((type, bytes, from, to) => {
      const asked = expected[at]
      if (type === types.row) asked?.rows.push(rowOf(bytes, from, to, asked.columns))
      else if (type === types.error) {
        failure ??= errorOf(bytes.subarray(from, to))
        const next = expected.indexOf(sync, at)
        at = next < 0 ? expected.length : next
      } else if (type === types.ready) at += 1
      else if (type === types.authentication && bytes.readInt32BE(from) !== 0)
        throw new Error('the server of the simulation asks for a password')
      else if (asked !== sync && endings.has(type)) {
        if (type === types.done) asked.done = bytes.toString('latin1', from, to - 1)
        if (type === types.columns) asked.columns = columnsOf(bytes.subarray(from, to))
        at += 1
      }
      return at >= expected.length
    })
    return failure
  }
}

/** Of the protocol. */
const version = Buffer.from([0, 3, 0, 0])

export const openWire = async (path: string, user: string, database: string): Promise<Wire> => {
  const { fd, socket } = await connect(path)
  const output = createOutput()
  const readAnswers = createAnswers(fd)
  let queued: Expected[] = []
  const exchange = (): void => {
    const expected = queued
    queued = []
    const isInStep = expected.at(-1) === sync
    if (!isInStep) output.message('H')
    output.send(fd)
    const failure = readAnswers(expected)
    if (failure === undefined) return
    if (!isInStep) {
      output.message('S')
      output.send(fd)
      readAnswers([sync])
    }
    throw failure
  }
  const queueSync = (): void => {
    output.message('S')
    queued.push(sync)
  }
  output.message('', version, 'user', user, 'database', database, Buffer.alloc(1))
  queued.push(sync)
  exchange()
  return {
    exchange,
    queueSync,
    script: (text) => {
      output.message('Q', text)
      queued.push(sync)
      exchange()
    },
    close: () => void socket.destroy(),
    queue: (name, values, columns) => {
      const asked = { columns, rows: [], done: '' }
      output.execution(name, values)
      queued.push(asked)
      return asked
    },
    prepare: (name, text) => {
      const described: Asked = { columns: [], rows: [], done: '' }
      output.message('P', name, text, Buffer.alloc(2))
      output.message('D', `S${name}`)
      queued.push(described)
      queueSync()
      exchange()
      return described.columns
    },
  }
}
