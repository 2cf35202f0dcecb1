/**
 * Where a notification may be sent: https, or http to this machine. Addresses that lead to the machine's own services in a cloud
 * (link-local, metadata) are refused, literally and after the name was resolved, because the owner's configuration lies in a
 * repository that others may have written.
 */
import { lookup as resolveName, type LookupAddress } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { ipv4Within } from './ipv4-within.ts'

const forbidden = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  forbidden.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  ['::', 128],
  // Metadata services of AWS and Google among the unique local addresses; the others are private as 10.0.0.0/8 is, and allowed.
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  forbidden.addSubnet(network, prefix, 'ipv6')
// Metadata services outside of the link-local range: Alibaba, Oracle, Azure.
for (const address of ['100.100.100.200', '192.0.0.192', '168.63.129.16']) forbidden.addAddress(address, 'ipv4')

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

export const isForbiddenAddress = (address: string): boolean =>
  isIP(address) === 0 ||
  forbidden.check(address, familyOf(address)) ||
  ipv4Within(address).some((inner) => forbidden.check(inner, 'ipv4'))

const isLoopback = (address: string): boolean => isIP(address) !== 0 && loopback.check(address, familyOf(address))

const metadataHosts = /^(?:metadata|instance-data)(?:\.|$)|\.(?:metadata\.internal|google\.internal|ec2\.internal)$/

/** The host without the brackets of an IPv6 address and without the final dot of a full name. */
export const hostOf = (url: URL): string =>
  url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()

const isThisMachine = (host: string): boolean => host === 'localhost' || isLoopback(host)

const refusalOf = (url: URL): string | undefined => {
  const host = hostOf(url)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it begins with neither https:// nor http://'
  if (url.protocol === 'http:' && !isThisMachine(host)) return 'it is not encrypted; http:// is only for this machine'
  if (url.username !== '' || url.password !== '') return 'it contains a user or a password'
  if ((isIP(host) !== 0 && isForbiddenAddress(host)) || metadataHosts.test(host))
    return 'its host is a link-local or metadata address'
  return undefined
}

/** Why nothing is sent to this URL; undefined = it is allowed, as far as can be told before its name is resolved. */
export const whyTargetRefused = (text: string): string | undefined => {
  if (text.length > 2_000) return 'it is longer than 2000 characters'
  return URL.canParse(text) ? refusalOf(new URL(text)) : 'it is not a URL'
}

export type ResolveName = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

const systemNames: ResolveName = (host, done) => resolveName(host, { all: true }, done)

/**
 * Resolves the name once, checks every address, and gives the connection exactly these: between a check and a second resolution
 * the name could be pointed elsewhere.
 */
export const checkedLookup =
  (url: URL, resolve: ResolveName = systemNames): LookupFunction =>
  (host, options, callback) =>
    resolve(host, (error, addresses) => {
      const first = addresses?.[0]
      const refused =
        error === null &&
        addresses.some(
          ({ address }) => isForbiddenAddress(address) || (url.protocol === 'http:' && !isLoopback(address)),
        )
      if (error !== null || first === undefined)
        callback(error ?? Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '', 4)
      else if (refused)
        callback(Object.assign(new Error('the host resolves to a forbidden address'), { code: 'EFORBIDDEN' }), '', 4)
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
