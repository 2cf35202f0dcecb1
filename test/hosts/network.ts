/**
 * Hosts on one machine: a network namespace each, joined by a bridge that lives in the first one, and a host name each. Needs
 * root, and `ip` of iproute2. Names carry the pid, so that a run never meets what another one left.
 */
import { execFileSync, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'

export interface Host {
  name: string
  address: string
  /** Starts a program on this host. */
  start(argv: string[], options: SpawnOptions): ChildProcess
  /** Takes its cable out, or plugs it in again. */
  link(state: 'down' | 'up'): void
}

const ip = (...args: string[]): void => {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

const namespaceOf = (name: string): string => `ust-${process.pid}-${name}`

const hostOf = (name: string, address: string): Host => ({
  name,
  address,
  start: (argv, options) =>
    spawn(
      'ip',
      [
        'netns',
        'exec',
        namespaceOf(name),
        'unshare',
        '--uts',
        'sh',
        '-c',
        `hostname ${name} && exec "$@"`,
        'sh',
        ...argv,
      ],
      options,
    ),
  link: (state) => ip('-n', namespaceOf(name), 'link', 'set', 'eth0', state),
})

/** The first host is the one with the services; the others reach it and each other. */
export const openNetwork = (names: string[]): { hosts: Host[]; close: () => void } => {
  if (process.getuid?.() !== 0)
    throw new Error('hosts in network namespaces need root; run this suite as root, with ip of iproute2')
  const [first = ''] = names
  for (const name of names) {
    ip('netns', 'add', namespaceOf(name))
    ip('-n', namespaceOf(name), 'link', 'set', 'lo', 'up')
  }
  ip('-n', namespaceOf(first), 'link', 'add', 'br0', 'type', 'bridge')
  ip('-n', namespaceOf(first), 'addr', 'add', '10.77.0.1/24', 'dev', 'br0')
  ip('-n', namespaceOf(first), 'link', 'set', 'br0', 'up')
  for (const [index, name] of names.slice(1).entries()) {
    const port = `port${index}`
    ip(
      '-n',
      namespaceOf(first),
      'link',
      'add',
      port,
      'type',
      'veth',
      'peer',
      'name',
      'eth0',
      'netns',
      namespaceOf(name),
    )
    ip('-n', namespaceOf(first), 'link', 'set', port, 'master', 'br0')
    ip('-n', namespaceOf(first), 'link', 'set', port, 'up')
    ip('-n', namespaceOf(name), 'addr', 'add', `10.77.0.${index + 2}/24`, 'dev', 'eth0')
    ip('-n', namespaceOf(name), 'link', 'set', 'eth0', 'up')
  }
  return {
    hosts: names.map((name, index) => hostOf(name, `10.77.0.${index + 1}`)),
    close: () => {
      for (const name of names) ip('netns', 'del', namespaceOf(name))
    },
  }
}
