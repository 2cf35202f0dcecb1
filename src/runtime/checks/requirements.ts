/** The runtime versions that the project requires, with the versions found on the PATH of the checks. */
import { join } from 'node:path'
import { commandEnvironment } from '../../process/environment.ts'
import type { ToolRequirement } from '../../recovery/probes/measurement.ts'
import { requirementFiles, versionCommands, versionIn } from '../../recovery/probes/requirements.ts'
import type { Files } from '../core/files.ts'
import type { ProbeRequest } from './check-request.ts'

/** The text of a regular file, else ''. A pipe that an agent created would block the engine for ever. */
export const textOrEmpty = (files: Files, path: string): string => {
  try {
    return files.statSync(path).isFile() ? files.readFileSync(path, 'utf8') : ''
  } catch {
    return '' // not there, or not for this user
  }
}

const versionMs = 10_000

/** The version that the tool reports; null = not installed; undefined = it reported none. */
const versionOf = async (request: ProbeRequest, tool: string): Promise<string | null | undefined> => {
  const { workspace, environment, extraNames, marker, keepAliveMs, signal } = request
  const found = await request.ports.processes.runCommand(request.folder(tool), {
    argv: versionCommands[tool] ?? [tool, '--version'],
    cwd: workspace,
    environment: commandEnvironment(workspace, environment, extraNames),
    timeoutMs: versionMs,
    graceMs: 1_000,
    ...{ marker, keepAliveMs, signal },
  })
  if (found.spawnError !== undefined) return null
  return found.exitCode === 0 ? versionIn(`${found.stdout}\n${found.stderr}`) : undefined
}

export const requirementsOf = async (request: ProbeRequest): Promise<ToolRequirement[]> => {
  const wanted = Object.entries(requirementFiles).flatMap(([file, read]) =>
    read(textOrEmpty(request.ports.files, join(request.workspace, file))).map((one) => ({ ...one, file })),
  )
  const versions = new Map<string, string | null | undefined>()
  for (const { tool } of wanted) if (!versions.has(tool)) versions.set(tool, await versionOf(request, tool))
  return wanted.flatMap((one) => {
    const found = versions.get(one.tool)
    return found === undefined ? [] : [{ ...one, found }]
  })
}
