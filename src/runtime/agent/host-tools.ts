/** Which developer tools are on the PATH of agents and checks, and in which versions. */
import { delimiter, dirname, join } from 'node:path'
import { allowedEnvironment, outerFolders } from '../../process/environment.ts'
import type { Context } from '../core/context.ts'
import { readIfFile, type Files } from '../core/files.ts'
import { findProgram } from '../core/find-program.ts'
import { isInside } from './observe-denial.ts'

/** Programs by which a tool is found, in order, and how it is asked for its version where `--version` is not the way. */
const programsOf: Record<string, { programs: readonly string[]; ask?: string }> = {
  node: { programs: ['node'] },
  npm: { programs: ['npm'] },
  pnpm: { programs: ['pnpm'] },
  yarn: { programs: ['yarn'] },
  bun: { programs: ['bun'] },
  deno: { programs: ['deno'] },
  python: { programs: ['python3', 'python'] },
  uv: { programs: ['uv'] },
  go: { programs: ['go'], ask: 'version' },
  cargo: { programs: ['cargo'] },
  java: { programs: ['java'] },
  make: { programs: ['make'] },
  docker: { programs: ['docker'] },
  podman: { programs: ['podman'] },
  git: { programs: ['git'] },
  qemu: { programs: ['qemu-system-x86_64', 'qemu-system-aarch64', 'qemu-system-riscv64'] },
}

export interface FoundTool {
  name: string
  path: string
  /** Changes when another version is installed. */
  stamp: string
}

type Given = Pick<Context, 'ports' | 'environment' | 'config' | 'clock' | 'repository' | 'stateDir' | 'stopping'>

const stampOf = (files: Files, path: string): string => {
  try {
    const target = files.realpathSync(path)
    return `${target} ${files.statSync(target).mtimeMs}`
  } catch {
    return path // removed meanwhile
  }
}

/** Agents can write into the repository and the state folder: no program from there is started here. */
const trustedPath = ({ environment, repository, stateDir }: Given): string =>
  outerFolders(environment['PATH'] ?? '')
    .filter((folder) => !isInside(folder, repository.root) && !isInside(folder, stateDir))
    .join(delimiter)

/** The program on the PATH, and what changes with its version. */
export const toolAt = (given: Given, name: string, programs = [name]): FoundTool[] => {
  const { files } = given.ports
  const path = programs.flatMap((program) => findProgram(files, program, trustedPath(given)) ?? [])[0]
  return path === undefined ? [] : [{ name, path, stamp: stampOf(files, path) }]
}

export const toolsOn = (given: Given): FoundTool[] =>
  Object.entries(programsOf).flatMap(([name, { programs }]) => toolAt(given, name, [...programs]))

/** What the program prints; empty when it takes longer than `limitMs`. */
export const printed = async (given: Given, path: string, args: string[], limitMs: number): Promise<string> => {
  const { ports, environment, config, clock, stateDir, stopping } = given
  const limit = new AbortController()
  const stopTimer = clock.after(limitMs, () => limit.abort())
  try {
    // Corepack stands in for pnpm and yarn, and would download them only to name a version.
    const added = { PATH: trustedPath(given), COREPACK_ENABLE_NETWORK: '0', NO_COLOR: '1' }
    const env = allowedEnvironment(environment, config().env, added)
    // In the state folder no file of a repository decides which version a version manager starts.
    return await ports.processes.printedBy(path, args, {
      ...{ cwd: stateDir, env },
      signal: AbortSignal.any([limit.signal, stopping]),
    })
  } finally {
    stopTimer()
  }
}

const versionMs = 5_000

const versionIn = (text: string): string | undefined => /\d+(?:\.\d+)+(?:-[\w.]+)?/.exec(text.slice(0, 2_000))?.[0]

/** The version in the manifest of a tool that is a package, so that nothing has to be started. */
const packagedVersion = (files: Files, { name, path }: FoundTool): string | undefined => {
  let folder: string
  try {
    folder = dirname(files.realpathSync(path))
  } catch {
    return undefined // removed meanwhile
  }
  for (let level = 0; level < 3; level += 1, folder = dirname(folder)) {
    const text = readIfFile(files, join(folder, 'package.json'))
    if (text === undefined) continue
    try {
      const manifest = JSON.parse(text) as { name?: unknown; version?: unknown } | null
      return manifest?.name === name && typeof manifest.version === 'string' ? versionIn(manifest.version) : undefined
    } catch {
      return undefined // not a manifest; the tool is asked
    }
  }
  return undefined
}

const versionOf = async (given: Given, tool: FoundTool): Promise<string | undefined> =>
  packagedVersion(given.ports.files, tool) ??
  versionIn(await printed(given, tool.path, [programsOf[tool.name]?.ask ?? '--version'], versionMs))

/** The version of each tool that names one. */
export const versionsOf = async (given: Given, tools: readonly FoundTool[]): Promise<Record<string, string>> => {
  const versions = await Promise.all(
    tools.map(async (tool) => {
      const version = await versionOf(given, tool)
      return version === undefined ? [] : [[tool.name, version] as const]
    }),
  )
  return Object.fromEntries(versions.flat())
}
