/** Probes of the machine: disk space, memory, ports, the connection to the package registry, open files. */
import type { ProbedFailure, Probe } from './measurement.ts'

const amount = (megabytes: number): string =>
  megabytes < 1024 ? `${Math.max(0, Math.floor(megabytes))} MB` : `${Math.floor(megabytes / 1024)} GB`

/** With less than this, a build or an install is likely to fail. */
const leastFreeMb = 64
const leastInodes = 256

export const disk: Probe<'disk'> = {
  id: 'disk',
  inspects:
    'free space and free inodes of the file systems that hold the workspace, the temporary folder and the home folder',
  concludes: 'environment, if one of them has less than 64 MB or 256 inodes left',
  labels: ['disk_full', 'corrupted_install', 'runtime_error', 'unknown'],
  requestFor: () => ({ probe: 'disk' }),
  conclude: ({ places }, label) => {
    const noRoom = places.find(({ freeMb }) => freeMb < leastFreeMb)
    if (noRoom !== undefined) {
      const { name, path, freeMb, totalMb } = noRoom
      return { points: 'environment', text: `${name} (${path}) has ${amount(freeMb)} of ${amount(totalMb)} free` }
    }
    const noInode = places.find(({ inodes, freeInodes }) => inodes > 0 && freeInodes < leastInodes)
    if (noInode !== undefined) {
      const { name, path, freeInodes, inodes } = noInode
      return { points: 'environment', text: `${name} (${path}) has ${freeInodes} of ${inodes} inodes free` }
    }
    // Free space says nothing about other failures.
    if (label !== 'disk_full') return undefined
    const rooms = places.map(({ name, freeMb }) => `${amount(freeMb)} for ${name}`)
    return { points: 'neither', text: `there is free space now: ${rooms.join(', ')}` }
  },
}

const wasKilled = ({ signal, exitCode }: ProbedFailure): boolean => signal === 'SIGKILL' || exitCode === 137

export const memory: Probe<'memory'> = {
  id: 'memory',
  inspects: "the kernel's count of processes ended by the OOM killer, before and after the check; free memory",
  concludes: 'environment, if the OOM killer ended a process while the check ran',
  labels: ['out_of_memory', 'test_failure', 'runtime_error', 'compile_error', 'unknown'],
  requestFor: (failure) => (failure.label === 'out_of_memory' || wasKilled(failure) ? { probe: 'memory' } : undefined),
  conclude: ({ killed, freeMb }) => {
    const free = freeMb === undefined ? '' : `; ${amount(freeMb)} of memory are free`
    return killed > 0
      ? {
          points: 'environment',
          text: `the kernel ran out of memory and ended ${killed} process(es) during the check${free}`,
        }
      : { points: 'neither', text: `the kernel ended no process during the check because of memory${free}` }
  },
}

const speaksOfPort = /EADDRINUSE|ECONNREFUSED|in use|refused|\bbind\b|\bport\b/i
const loopback = /localhost|127\.0\.0\.\d+|\[?::1\b|0\.0\.0\.0/i

/** The port that a line names: "port 3000", else the number after the last colon of an address. */
const portIn = (line: string): number | undefined => {
  const named = /\bport[:= ]{1,3}(\d{2,5})\b/i.exec(line)?.[1]
  const addressed = [...line.matchAll(/(?::|', )(\d{2,5})(?![\d:]*\d)/g)].at(-1)?.[1]
  const found = Number(named ?? addressed ?? 0)
  return found > 0 && found < 65_536 ? found : undefined
}

const maxLine = 500

const spoken = ({ evidence, lines }: ProbedFailure, about: RegExp): string[] =>
  [evidence, ...lines].map((line) => line.slice(0, maxLine)).filter((line) => about.test(line))

export const port: Probe<'port'> = {
  id: 'port',
  inspects: 'which process listens on the port that the output names',
  concludes:
    'environment, if another process uses the port that the check needs, or if no process listens on the local port that the check connects to',
  labels: ['port_in_use', 'service_unavailable'],
  requestFor: (failure) => {
    const lines = spoken(failure, speaksOfPort).filter((line) => failure.label === 'port_in_use' || loopback.test(line))
    const found = lines.map(portIn).find((number) => number !== undefined)
    return found === undefined ? undefined : { probe: 'port', port: found }
  },
  conclude: ({ port: number, owner }, label) => {
    const waits = label === 'service_unavailable'
    if (owner === null)
      return waits
        ? { points: 'environment', text: `no process listens on port ${number} of this machine` }
        : { points: 'neither', text: `no process listens on port ${number} any more` }
    const who =
      owner.pid === undefined
        ? 'a process of another user'
        : `${owner.program ?? 'a program'} (pid ${owner.pid}${owner.of === undefined ? ', not started by Unstuck' : `, started by ${owner.of}`})`
    return waits
      ? { points: 'neither', text: `${who} listens on port ${number}` }
      : { points: 'environment', text: `port ${number} is in use by ${who}` }
  },
}

const hostName =
  /(?:[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\.){1,8}[a-z][a-z0-9-]{1,30}|localhost|\d{1,3}(?:\.\d{1,3}){3}/gi
const maxHosts = 50

export const network: Probe<'network'> = {
  id: 'network',
  inspects:
    "whether the name of the owner's configured registry or proxy resolves, and whether it accepts a connection (nothing is sent; a host that only the output names is never contacted)",
  concludes: 'environment, if it does not',
  labels: ['network_unreachable', 'network_transient'],
  requestFor: (failure) => {
    const lines = spoken(failure, /\./).slice(0, 400)
    const hosts = new Set(lines.flatMap((line) => line.toLowerCase().match(hostName) ?? []))
    return { probe: 'network', hosts: [...hosts].slice(0, maxHosts) }
  },
  conclude: ({ targets }) => {
    const away = targets.find(({ trouble }) => trouble !== undefined)
    if (away !== undefined)
      return {
        points: 'environment',
        text: `${away.host}:${away.port} (${away.from}) cannot be reached: ${away.trouble}`,
      }
    const answers = targets.map(({ host, port: number, from }) => `${host}:${number} (${from})`)
    return answers.length === 0 ? undefined : { points: 'neither', text: `${answers.join(', ')} responds now` }
  },
}

/** Below this limit, test runners with many watchers and sockets may fail. */
const lowFileLimit = 4096

export const files: Probe<'files'> = {
  id: 'files',
  inspects: 'how many files a process may have open',
  concludes: `environment, if fewer than ${lowFileLimit} are allowed`,
  labels: ['resource_limit'],
  requestFor: ({ evidence }) => (/EMFILE|ENFILE|open files/i.test(evidence) ? { probe: 'files' } : undefined),
  conclude: ({ soft, hard }) => {
    const most = `a process may have ${soft} files open (${hard === Infinity ? 'no hard limit' : `hard limit ${hard}`})`
    return soft < lowFileLimit
      ? { points: 'environment', text: most }
      : { points: 'neither', text: `${most}, which is enough` }
  },
}
