/**
 * Which facts about the machine matter to a task: those of the programs that its checks name, and those that a failure made important. The
 * key of a fact is its place in the snapshot of the machine, such as `tools.node`. Pure.
 */
import { callsIn, lastSegment } from './check/shell-calls.ts'
import type { Label } from './diagnosis/labels.ts'

interface Family {
  programs: ReadonlySet<string>
  keys: readonly string[]
}

const family = (programs: string, ...keys: string[]): Family => ({ programs: new Set(programs.split(' ')), keys })

const families: readonly Family[] = [
  family(
    'node npm npx pnpm pnpx yarn bun bunx deno corepack tsc tsx vitest jest mocha eslint oxlint prettier turbo vite webpack playwright',
    ...['tools.node', 'host.os', 'host.shell'],
  ),
  family('npm npx', 'tools.npm'),
  family('pnpm pnpx', 'tools.pnpm'),
  family('yarn', 'tools.yarn'),
  family('bun bunx', 'tools.bun'),
  family('deno', 'tools.deno'),
  family('python python3 pip pip3 pytest tox nox ruff mypy poetry pipenv uv uvx', 'tools.python', 'host.os'),
  family('uv uvx', 'tools.uv'),
  family('go gofmt golangci-lint', 'tools.go', 'host.arch'),
  family('cargo rustc rustup clippy-driver', 'tools.cargo', 'host.arch'),
  family('java javac mvn mvnw gradle gradlew', 'tools.java', 'host.memory'),
  family('make gmake cmake ninja gcc g++ cc c++ clang clang++', 'tools.make', 'host.arch', 'host.cpu'),
  family('docker docker-compose', 'tools.docker', 'host.os', 'host.kernel'),
  family('podman podman-compose', 'tools.podman', 'host.os', 'host.kernel'),
  family('git', 'tools.git'),
  family(
    'qemu-system-x86_64 qemu-system-aarch64 qemu-system-riscv64 qemu-riscv64 qemu-img riscv64-linux-gnu-gcc riscv64-unknown-elf-gcc',
    ...['tools.qemu', 'host.cpu', 'host.memory', 'host.arch', 'host.kernel'],
  ),
  family('claude', 'host.shell', 'host.terminal'),
]

/** The keys of the programs that these command lines name, each once. */
export const keysOfCommands = (commands: readonly string[]): string[] => {
  const words = commands.flatMap((line) => callsIn(line)).flatMap((call) => call.words.map(lastSegment))
  const named = families.filter(({ programs }) => words.some((word) => programs.has(word)))
  return [...new Set(named.flatMap(({ keys }) => keys))]
}

const ofLabel: Partial<Record<Label, readonly string[]>> = {
  command_not_found: ['host.os', 'host.shell'],
  runtime_version: ['host.os', 'host.arch'],
  permission_denied: ['host.os'],
  out_of_memory: ['host.memory', 'host.cpu'],
  resource_limit: ['host.memory', 'host.os'],
  timeout: ['host.cpu', 'host.memory'],
  service_unavailable: ['host.os', 'host.kernel'],
}

/** The keys that a failure with this label, of this command, makes important. */
export const keysOfFailure = (label: string, command: string | null): string[] => {
  const own: readonly string[] = Object.entries(ofLabel).find(([name]) => name === label)?.[1] ?? []
  return [...new Set([...own, ...keysOfCommands(command === null ? [] : [command])])]
}
