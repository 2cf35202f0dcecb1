/** Probes of the machine: room on its disks, memory, ports, the way to the registry, open files. */
import type { Failure, Probe } from './reading.ts'

const amount = (megabytes: number): string =>
  megabytes < 1024 ? `${Math.max(0, Math.floor(megabytes))} MB` : `${Math.floor(megabytes / 1024)} GB`

/** With less than this a build or an install does not get far. */
const leastFreeMb = 64
const leastInodes = 256

export const disk: Probe<'disk'> = {
  id: 'disk',
  looksAt:
    'free space and free inodes of the file systems that hold the workspace, the temporary folder and the home folder',
  concludes: 'environment, where one of them has less than 64 MB or 256 inodes left',
  asksFor: ['disk_full', 'corrupted_install', 'runtime_error', 'unknown'],
  ask: () => ({ probe: 'disk' }),
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
    // About other failures a disk with room has nothing to say.
    if (label !== 'disk_full') return undefined
    const rooms = places.map(({ name, freeMb }) => `${amount(freeMb)} for ${name}`)
    return { points: 'neither', text: `there is room by now: ${rooms.join(', ')}` }
  },
}

const wasKilled = ({ signal, exitCode }: Failure): boolean => signal === 'SIGKILL' || exitCode === 137

export const memory: Probe<'memory'> = {
  id: 'memory',
  looksAt: "the kernel's count of processes ended for want of memory, before and after the check; free memory",
  concludes: 'environment, where the kernel ended one while the check ran',
  asksFor: ['out_of_memory', 'test_failure', 'runtime_error', 'compile_error', 'unknown'],
  ask: (failure) => (failure.label === 'out_of_memory' || wasKilled(failure) ? { probe: 'memory' } : undefined),
  conclude: ({ killed, freeMb }) => {
    const free = freeMb === undefined ? '' : `; ${amount(freeMb)} of memory are free`
    return killed > 0
      ? { points: 'environment', text: `the kernel ended ${killed} process(es) for want of memory meanwhile${free}` }
      : { points: 'neither', text: `the kernel ended no process for want of memory meanwhile${free}` }
  },
}

const speaksOfPort = /EADDRINUSE|ECONNREFUSED|in use|refused|\bbind\b|\bport\b/i
const loopback = /localhost|127\.0\.0\.\d+|\[?::1\b|0\.0\.0\.0/i

/** A port as tools name it: "port 3000", else the number behind the last colon of an address. */
const portIn = (line: string): number | undefined => {
  const named = /\bport[:= ]{1,3}(\d{2,5})\b/i.exec(line)?.[1]
  const addressed = [...line.matchAll(/(?::|', )(\d{2,5})(?![\d:]*\d)/g)].at(-1)?.[1]
  const found = Number(named ?? addressed ?? 0)
  return found > 0 && found < 65_536 ? found : undefined
}

const maxLine = 500

const spoken = ({ evidence, lines }: Failure, about: RegExp): string[] =>
  [evidence, ...lines].map((line) => line.slice(0, maxLine)).filter((line) => about.test(line))

export const port: Probe<'port'> = {
  id: 'port',
  looksAt: 'which process listens on the port that the output names',
  concludes:
    'environment, where another process has the port that the check wants, or nobody listens on the one of this machine that it asked',
  asksFor: ['port_in_use', 'service_unavailable'],
  ask: (failure) => {
    const lines = spoken(failure, speaksOfPort).filter((line) => failure.label === 'port_in_use' || loopback.test(line))
    const found = lines.map(portIn).find((number) => number !== undefined)
    return found === undefined ? undefined : { probe: 'port', port: found }
  },
  conclude: ({ port: number, owner }, label) => {
    const waits = label === 'service_unavailable'
    if (owner === null)
      return waits
        ? { points: 'environment', text: `nobody listens on port ${number} of this machine` }
        : { points: 'neither', text: `nobody listens on port ${number} any more` }
    const who =
      owner.pid === undefined
        ? "a process of another user's"
        : `${owner.program ?? 'a program'} (pid ${owner.pid}${owner.of === undefined ? ', not started by Unstuck' : `, started by ${owner.of}`})`
    return waits
      ? { points: 'neither', text: `${who} listens on port ${number}` }
      : { points: 'environment', text: `port ${number} is taken by ${who}` }
  },
}

const hostName =
  /(?:[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\.){1,8}[a-z][a-z0-9-]{1,30}|localhost|\d{1,3}(?:\.\d{1,3}){3}/gi
const maxHosts = 50

export const network: Probe<'network'> = {
  id: 'network',
  looksAt:
    "whether the registry or proxy of the owner's configuration resolves and takes a connection (nothing is sent; a host that only the output names is never asked)",
  concludes: 'environment, where it does not',
  asksFor: ['network_unreachable', 'network_transient'],
  ask: (failure) => {
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
    return answers.length === 0 ? undefined : { points: 'neither', text: `${answers.join(', ')} answers by now` }
  },
}

/** What a shell gives by default, and what test runners with watchers and sockets get along with. */
const lowFileLimit = 4096

export const files: Probe<'files'> = {
  id: 'files',
  looksAt: 'how many files a process may have open',
  concludes: `environment, where fewer than ${lowFileLimit} are allowed`,
  asksFor: ['resource_limit'],
  ask: ({ evidence }) => (/EMFILE|ENFILE|open files/i.test(evidence) ? { probe: 'files' } : undefined),
  conclude: ({ soft, hard }) => {
    const most = `a process may have ${soft} files open (${hard === Infinity ? 'no hard limit' : `hard limit ${hard}`})`
    return soft < lowFileLimit
      ? { points: 'environment', text: most }
      : { points: 'neither', text: `${most}, which is plenty` }
  },
}
