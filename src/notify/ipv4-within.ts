/**
 * The IPv4 addresses that an IPv6 address stands for. A translator or tunnel on the way sends the packets there, so an address that
 * is refused as IPv4 has to be refused in each of these forms.
 */
import { isIP } from 'node:net'

/** The sixteen bytes; undefined = no IPv6 address. */
const bytesOf = (address: string): number[] | undefined => {
  // The zone (`%eth0`) names an interface of this machine and is no part of the address.
  const [plain = ''] = address.split('%')
  if (isIP(plain) !== 6) return undefined
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::')
  const words = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16))
  const [first, last] = [words(head), words(tail ?? '')]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0)
  return [...first, ...zeros, ...last].flatMap((word) => [word >> 8, word & 255])
}

interface Form {
  /** The first bytes of such an address. */
  prefix: readonly number[]
  /** The places of the four bytes, one list for each way to embed them. */
  at: readonly (readonly number[])[]
  isInverted?: true
}

const end = [12, 13, 14, 15]
const zeros = (count: number): number[] => Array.from({ length: count }, () => 0)

const forms: readonly Form[] = [
  // IPv4-compatible, IPv4-mapped and IPv4-translated.
  { prefix: zeros(12), at: [end] },
  { prefix: [...zeros(10), 255, 255], at: [end] },
  { prefix: [...zeros(8), 255, 255, 0, 0], at: [end] },
  // NAT64. In a local network the prefix may have any length of RFC 6052, which leaves out byte 8.
  { prefix: [0, 0x64, 0xff, 0x9b, ...zeros(8)], at: [end] },
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 1], at: [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], end] },
  // Teredo: the server, and the client with every bit inverted.
  { prefix: [0x20, 1, 0, 0], at: [[4, 5, 6, 7]] },
  { prefix: [0x20, 1, 0, 0], at: [end], isInverted: true },
  // 6to4.
  { prefix: [0x20, 2], at: [[2, 3, 4, 5]] },
]

/** An address that begins with 0 is left out: it is `::1`, or bytes that another way to embed leaves empty. */
export const ipv4Within = (address: string): string[] => {
  const bytes = bytesOf(address)
  if (bytes === undefined) return []
  return forms
    .filter(({ prefix }) => prefix.every((byte, at) => bytes[at] === byte))
    .flatMap(({ at, isInverted }) =>
      at.map((places) => places.map((place) => (bytes[place] ?? 0) ^ (isInverted ? 255 : 0))),
    )
    .filter(([first]) => first !== 0)
    .map((parts) => parts.join('.'))
}
