/** What the operating system says about this machine and does not change while it runs. */
import { arch, availableParallelism, cpus, machine, release, totalmem, type } from 'node:os'
import { readOrUndefined } from './proc.ts'

export interface HostFacts {
  /** Its name for people, such as `Ubuntu 24.04.1 LTS`. */
  os: string
  kernel: string
  arch: string
  /** Undefined = the system does not report it. */
  cpu: string | undefined
  /** All of it, not what is free. */
  memory: string
}

const gibibyte = 1024 ** 3

/** Linux distributions name themselves in this file; elsewhere the name of the kernel has to do. */
const osName = (): string => {
  const release = readOrUndefined('/etc/os-release') ?? readOrUndefined('/usr/lib/os-release') ?? ''
  return /^PRETTY_NAME="?([^"\n]+)"?$/m.exec(release)?.[1] ?? type()
}

export const hostFacts = (): HostFacts => {
  const model = cpus()[0]?.model.trim()
  return {
    os: osName(),
    kernel: `${type()} ${release()}`,
    arch: machine() || arch(),
    cpu: model === undefined || model === '' ? undefined : `${model} (${availableParallelism()} cores)`,
    memory: `${(totalmem() / gibibyte).toFixed(1)} GiB`,
  }
}
