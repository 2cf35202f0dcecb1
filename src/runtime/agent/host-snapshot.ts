/**
 * What is known about this machine: its system and the tools on the PATH. Taken once in 24 hours, or when a stable fact has changed, and kept
 * in the state folder. The file in the owner's checkout is an export of it, and never read back.
 */
import { basename, join } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../../errors.ts'
import type { HostFacts } from '../../platform/host-facts.ts'
import { digestOf } from '../../recovery/signature.ts'
import type { Context } from '../core/context.ts'
import { readStateFile } from '../core/files.ts'
import { printed, toolAt, toolsOn, versionsOf, type FoundTool } from './host-tools.ts'

const lifeMs = 24 * 3_600_000
const neofetchMs = 8_000
const unameMs = 4_000
const longestOutput = 6_000
const longestFact = 200

const fact = z.string().max(longestFact)
const time = z.iso.datetime()

export const hostSnapshotSchema = z.strictObject({
  schemaVersion: z.literal(1),
  collectedAt: time,
  expiresAt: time,
  /** Of what changes only with the machine: neither free memory nor uptime. */
  fingerprint: z.string(),
  host: z.strictObject({
    os: fact,
    kernel: fact,
    arch: fact,
    shell: fact.exactOptional(),
    terminal: fact.exactOptional(),
    cpu: fact.exactOptional(),
    memory: fact,
  }),
  /** Versions by tool; a tool that is missing here is not on the PATH, or names no version. */
  tools: z.record(z.string(), fact),
  neofetch: z.strictObject({
    available: z.boolean(),
    checkedAt: time,
    output: z.string().max(longestOutput).exactOptional(),
    info: z.record(z.string(), z.string()),
    /** Why there is no output. */
    message: z.string().exactOptional(),
  }),
})
export type HostSnapshot = z.output<typeof hostSnapshotSchema>

export interface HostContext {
  /** It was taken just now. */
  refreshed: boolean
  snapshot: HostSnapshot
}

type Given = Parameters<typeof toolAt>[0] & Pick<Context, 'log'>

interface Found {
  facts: HostFacts
  shell: string
  tools: FoundTool[]
  neofetch: FoundTool | undefined
  fingerprint: string
}

/** What is quick to find out. A tool that was updated, added or removed changes the fingerprint. */
const find = (given: Given): Found => {
  const facts = given.ports.host.facts()
  const tools = toolsOn(given)
  const shell = basename(given.environment['SHELL'] ?? '')
  const [neofetch] = toolAt(given, 'neofetch')
  const stamps = [...tools, ...(neofetch === undefined ? [] : [neofetch])].map(({ name, stamp }) => `${name} ${stamp}`)
  return { facts, shell, tools, neofetch, fingerprint: digestOf(JSON.stringify([facts, shell, stamps])) }
}

// Built from its code point, because a control character in a source file is invisible in review.
const escape = String.fromCharCode(27)
const sequences = new RegExp(`${escape}\\[[0-9;?]*[A-Za-z]`, 'g')

const plainText = (text: string): string =>
  text
    .replaceAll(sequences, '')
    .replaceAll(/[^\P{Cc}\n]/gu, '')
    .trim()

/** Lines such as `Kernel: 6.8.0`; other lines are the title or a picture. */
const infoIn = (output: string): Record<string, string> =>
  Object.fromEntries(
    output.split('\n').flatMap((line) => {
      const [, name, value] = /^\s*([A-Z][\w ]{0,30}): (.+)$/.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value.trim().slice(0, longestFact)]]
    }),
  )

const askNeofetch = async (given: Given, { neofetch }: Found): Promise<HostSnapshot['neofetch']> => {
  const none = (message: string): HostSnapshot['neofetch'] => ({
    ...{ available: false, checkedAt: given.clock.now().toISOString(), info: {}, message },
  })
  if (neofetch === undefined) return none('neofetch is not on the PATH; the system itself is asked instead')
  const output = plainText(await printed(given, neofetch.path, ['--stdout'], neofetchMs)).slice(0, longestOutput)
  if (output === '') return none(`${neofetch.path} printed nothing within ${neofetchMs / 1000} s`)
  return { available: true, checkedAt: given.clock.now().toISOString(), output, info: infoIn(output) }
}

interface Uname {
  kernel?: string
  arch?: string
}

/** `Linux 6.8.0 x86_64 GNU/Linux`. */
const askUname = async (given: Given): Promise<Uname> => {
  const [uname] = toolAt(given, 'uname')
  const text = uname === undefined ? '' : plainText(await printed(given, uname.path, ['-srmo'], unameMs))
  const [system, release, arch] = text.split(' ')
  return system === undefined || release === undefined || arch === undefined
    ? {}
    : { kernel: `${system} ${release}`, arch }
}

const asFact = (text: string): string => text.slice(0, longestFact)

const optional = <K extends string>(name: K, text: string | undefined): { [N in K]?: string } =>
  (text === undefined || text === '' ? {} : { [name]: asFact(text) }) as { [N in K]?: string }

/** neofetch wins where it names something that does not change by the minute, as free memory does. */
const hostOf = ({ facts, shell }: Found, info: Record<string, string>, uname: Uname): HostSnapshot['host'] => ({
  os: asFact(info['OS'] ?? facts.os),
  kernel: asFact(info['Kernel'] ?? uname.kernel ?? facts.kernel),
  arch: asFact(uname.arch ?? facts.arch),
  ...optional('shell', info['Shell'] ?? shell),
  ...optional('terminal', info['Terminal']),
  ...optional('cpu', info['CPU'] ?? facts.cpu),
  memory: asFact(facts.memory),
})

const take = async (given: Given, found: Found): Promise<HostSnapshot> => {
  const [neofetch, tools] = await Promise.all([askNeofetch(given, found), versionsOf(given, found.tools)])
  const uname = neofetch.available ? {} : await askUname(given)
  const now = given.clock.now()
  return {
    schemaVersion: 1,
    collectedAt: now.toISOString(),
    expiresAt: new Date(now.getTime() + lifeMs).toISOString(),
    fingerprint: found.fingerprint,
    host: hostOf(found, neofetch.info, uname),
    tools,
    neofetch,
  }
}

const fileIn = (stateDir: string): string => join(stateDir, 'host-snapshot.json')

/** One of another version is taken again. */
const read = (given: Given): HostSnapshot | undefined =>
  hostSnapshotSchema.safeParse(readStateFile(given, fileIn(given.stateDir))).data

/** A snapshot from the future was taken before the clock was set back: its age is unknown. */
const isCurrent = (snapshot: HostSnapshot, fingerprint: string, now: Date): boolean =>
  snapshot.fingerprint === fingerprint &&
  new Date(snapshot.collectedAt) <= now &&
  now < new Date(snapshot.expiresAt) &&
  new Date(snapshot.expiresAt).getTime() - new Date(snapshot.collectedAt).getTime() <= lifeMs

/** In one step, under a name of this process: another one may write at the same time. A place that cannot be written costs only the next call. */
const store = ({ ports: { files }, stateDir, log }: Given, snapshot: HostSnapshot): void => {
  const path = fileIn(stateDir)
  const next = `${path}.${process.pid}.new`
  try {
    files.rmSync(next, { force: true })
    files.writeFileSync(next, `${JSON.stringify(snapshot, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
    files.renameSync(next, path)
  } catch (error) {
    log.warn({ path, error: messageOf(error) }, 'the snapshot of this machine could not be stored')
  }
}

/** The snapshot that an engine is taking, by its signal to stop, so that callers at the same time share one. */
const taking = new WeakMap<AbortSignal, Promise<HostSnapshot>>()

/** The snapshot of this machine, taken again if there is none, if it has expired or cannot be read, or if a stable fact has changed. */
export const hostContext = async (given: Given): Promise<HostContext> => {
  const found = find(given)
  const known = read(given)
  if (known !== undefined && isCurrent(known, found.fingerprint, given.clock.now()))
    return { refreshed: false, snapshot: known }
  const { stopping } = given
  const work =
    taking.get(stopping) ??
    take(given, found)
      .then((snapshot) => {
        // Programs that were ended because the engine stops have named nothing.
        if (!stopping.aborted) store(given, snapshot)
        return snapshot
      })
      .finally(() => taking.delete(stopping))
  taking.set(stopping, work)
  return { refreshed: true, snapshot: await work }
}
