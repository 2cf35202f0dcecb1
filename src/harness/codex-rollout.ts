/**
 * Codex prints some refusals without their path: a refused patch always, a blocked command where the sandbox could not tell it
 * (`path=unknown`). The record of the session ("rollout", `$CODEX_HOME/sessions/Y/M/D/rollout-<time>-<thread>.jsonl`) has each call
 * with its answer. It only names what a printed refusal concerned; nothing in it is a refusal by itself. Measured on 0.169.0.
 */
import { join, resolve, sep } from 'node:path'
import type { Denial, RefusalSource, Transcript } from './driver.ts'
import { folderIn } from './cli-login.ts'
import { objectAt, parseLine, textAt } from './json-line.ts'
import { cut } from './transcript.ts'

/** A longer record is not read: the refusal stays without a path, and the person is told so. */
const mostBytes = 16 * 1024 * 1024

/** The log line and the record of one refusal are written within milliseconds of each other; a loaded machine takes longer. */
const apartMs = 3_000

const dayMs = 86_400_000

/** A thread's id is a UUID of version 7, which begins with its time. The folders are named by the day in local time. */
const daysOf = (thread: string): string[] => {
  const began = Number.parseInt(thread.replaceAll('-', '').slice(0, 12), 16)
  if (!Number.isFinite(began)) return []
  return [0, -dayMs, dayMs].map((shift) => new Date(began + shift).toISOString().slice(0, 10).replaceAll('-', sep))
}

const recordOf = (thread: string, { environment, files }: RefusalSource): string | undefined => {
  const sessions = join(folderIn(environment, 'CODEX_HOME', join(environment['HOME'] ?? '', '.codex')), 'sessions')
  for (const day of daysOf(thread)) {
    const folder = join(sessions, day)
    if (!files.existsSync(folder)) continue
    const name = files.readdirSync(folder).find((entry) => entry.endsWith(`-${thread}.jsonl`))
    const bytes = name === undefined ? 'none' : files.readOwnBytes(join(folder, name), mostBytes)
    if (bytes instanceof Uint8Array) return Buffer.from(bytes).toString('utf8')
  }
  return undefined
}

/** Files that a patch adds, changes, deletes or moves to. */
const patchHeader = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm

/** The absolute path in a line with which a program reports a refusal of the system: in quotes or before the reason. */
const systemRefusals = (reasons: string): RegExp[] => [
  new RegExp(`['"‘“\`](/[^'"’”\`\n]+)['"’”\`]: (?:${reasons})`, 'i'),
  new RegExp(`(?:${reasons}), \\w+ '(/[^'\n]+)'`, 'i'),
  new RegExp(`(?:^|[\\s:])(/[^\\s:'"]+): (?:${reasons})`, 'i'),
  new RegExp(`(?:${reasons}): '(/[^'\n]+)'`, 'i'),
]

/** Everything outside of the sandbox's writable folders is read-only, so only that reason is one of scope. */
const formsOf: Partial<Record<Denial['kind'], RegExp[]>> = {
  scope: systemRefusals('Read-only file system'),
  filesystem: systemRefusals('Permission denied|Operation not permitted'),
}

const pathsIn = ({ tool, input, output }: RefusedCall, kind: Denial['kind']): string[] => {
  if (tool === 'apply_patch')
    return output.startsWith('patch rejected') ? [...input.matchAll(patchHeader)].flatMap(([, path]) => path ?? []) : []
  return output.split('\n').flatMap((line) => {
    const path = formsOf[kind]?.map((form) => form.exec(cut(line))?.[1]).find((found) => found !== undefined)
    return path ?? []
  })
}

interface RefusedCall {
  tool: string
  input: string
  output: string
  at: number
}

const callsIn = (text: string): RefusedCall[] => {
  const begun = new Map<string, Pick<RefusedCall, 'tool' | 'input'>>()
  return text.split('\n').flatMap((line) => {
    const parsed = parseLine(line)
    const item = objectAt(parsed, 'payload')
    const id = textAt(item, 'call_id')
    if (id === undefined) return []
    const kind = textAt(item, 'type') ?? ''
    if (kind === 'custom_tool_call' || kind === 'function_call')
      begun.set(id, { tool: textAt(item, 'name') ?? '', input: textAt(item, 'input') ?? '' })
    const call = kind.endsWith('_call_output') ? begun.get(id) : undefined
    if (call === undefined) return []
    return [{ ...call, output: textAt(item, 'output') ?? '', at: Date.parse(textAt(parsed, 'timestamp') ?? '') }]
  })
}

/** Codex logs an equal refusal once, so every later call of that tool may be meant as well. */
const named = (denial: Denial, calls: readonly RefusedCall[], workspace: string): Denial[] => {
  const since = Date.parse(denial.at ?? '') - apartMs
  const outside = calls
    .filter(({ tool, at }) => tool === denial.tool && at >= since)
    .flatMap((call) => pathsIn(call, denial.kind))
    .map((path) => resolve(workspace, path))
    // Of a patch as a whole, only the paths outside of the workspace were the reason.
    .filter((path) => denial.kind !== 'scope' || !path.startsWith(workspace + sep))
  const paths = [...new Set(outside)]
  if (paths.length > 0) return paths.map((target) => ({ ...denial, target: cut(target) }))
  // Without a path no folder's mode can be to blame, so the sandbox refused the command itself.
  return [denial.kind === 'filesystem' ? { ...denial, kind: 'tool' } : denial]
}

/** A tool that is refused by its name, such as any patch of a read-only sandbox, is about no path. */
const lacksPath = ({ kind, target }: Denial): boolean => kind !== 'tool' && target === undefined

/** The transcript with the paths of its refusals that were printed without one, as far as the session's record tells them. */
export const withCodexPaths = (transcript: Transcript, source: RefusalSource): Transcript => {
  const { denials, sessionId } = transcript
  if (sessionId === undefined || !denials.some(lacksPath)) return transcript
  const calls = callsIn(recordOf(sessionId, source) ?? '')
  return {
    ...transcript,
    denials: denials.flatMap((denial) => (lacksPath(denial) ? named(denial, calls, source.workspace) : [denial])),
  }
}
