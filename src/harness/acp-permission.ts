/**
 * Decides the permission requests of an ACP agent, with the least permission that works unattended. Allowed are file operations
 * inside the workspace and the allowed directories, and the task's own commands, each for one call only. The bridge cannot enforce
 * a decision; the agent has to comply.
 */
import { realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'

export interface AllowedAccess {
  workspace: string
  dirs: string[]
  commands: string[]
  /** `unrestricted` in the configuration: every request is allowed. */
  everything?: boolean
  /** For a question: every request is refused. Takes precedence. */
  nothing?: boolean
}

/** Everything that the agent has reported about the call. */
export interface RequestedCall {
  kind?: string | null | undefined
  title?: string | null | undefined
  rawInput?: unknown
  locations?: readonly { path: string }[] | null | undefined
  content?: readonly unknown[] | null | undefined
}

export interface PermissionDecision {
  allowed: boolean
  /** `scope`: a path outside; `tool`: everything else. */
  kind: 'scope' | 'tool'
  target?: string
}

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined

/** Real path of a file that may not exist yet, so that a symlink out of the workspace counts as outside. */
const realLocation = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : resolve(realLocation(parent), path.slice(parent.length).replace(/^\/+/, ''))
  }
}

const isInside = (path: string, root: string): boolean => path === root || path.startsWith(root + sep)

/** All paths that the call names: in its locations, its diffs and its input. */
export const pathsOf = (call: RequestedCall): string[] => {
  const diffs = (call.content ?? []).map((part) =>
    fieldOf(part, 'type') === 'diff' ? fieldOf(part, 'path') : undefined,
  )
  const inputs = ['path', 'file_path', 'filePath', 'abs_path'].map((key) => fieldOf(call.rawInput, key))
  const texts = [...(call.locations ?? []).map(({ path }) => path), ...diffs, ...inputs]
  return [...new Set(texts.filter((text) => typeof text === 'string'))]
}

/** The command line that would run; undefined when the agent does not report it as one text. */
export const commandOf = (call: RequestedCall): string | undefined => {
  const command = fieldOf(call.rawInput, 'command')
  return typeof command === 'string' ? command : undefined
}

const joins = /[;&|`<>\r\n]|\$\(/

/** The task's command as written or with further arguments, but not joined with another command. */
const isTaskCommand = (command: string, commands: string[]): boolean => {
  const line = command.trim()
  return commands.some((own) => {
    const known = own.trim()
    return known !== '' && (line === known || (line.startsWith(`${known} `) && !joins.test(line.slice(known.length))))
  })
}

const decideFiles = (call: RequestedCall, allowed: AllowedAccess, mustName: boolean): PermissionDecision => {
  const places = pathsOf(call)
  const roots = [allowed.workspace, ...allowed.dirs].map(realLocation)
  const outside = places.find((path) => {
    const place = realLocation(resolve(allowed.workspace, path))
    return !roots.some((root) => isInside(place, root))
  })
  if (outside !== undefined) return { allowed: false, kind: 'scope', target: outside }
  const [target] = places
  if (target === undefined) return { allowed: !mustName, kind: 'tool' }
  return { allowed: true, kind: 'tool', target }
}

const readKinds = new Set(['read', 'search', 'think'])
const changeKinds = new Set(['edit', 'delete', 'move'])

export const decidePermission = (call: RequestedCall, allowed: AllowedAccess): PermissionDecision => {
  if (allowed.nothing === true) return { allowed: false, kind: 'tool' }
  if (allowed.everything === true) return { allowed: true, kind: 'tool' }
  const kind = call.kind ?? 'other'
  if (readKinds.has(kind)) return decideFiles(call, allowed, false)
  // A change without a path could be anywhere.
  if (changeKinds.has(kind)) return decideFiles(call, allowed, true)
  const command = commandOf(call)
  const target = command ?? call.title ?? undefined
  const named = target === undefined ? {} : { target }
  if (kind === 'execute' && command !== undefined)
    return { allowed: isTaskCommand(command, allowed.commands), kind: 'tool', ...named }
  // Some agents give the command only as the title, which may be shortened, so it must match completely.
  const isTitled =
    kind === 'execute' && allowed.commands.some((own) => own.trim() !== '' && own.trim() === call.title?.trim())
  return { allowed: isTitled, kind: 'tool', ...named }
}

export interface PermissionOption {
  optionId: string
  kind: string
}

/** Only `allow_once`: a permanent permission would outlive the run. Undefined: the request is cancelled. */
export const permissionOptionFor = (
  decision: PermissionDecision,
  options: readonly PermissionOption[],
): string | undefined => {
  const order = decision.allowed ? ['allow_once'] : ['reject_once', 'reject_always']
  return order.flatMap((kind) => options.find((option) => option.kind === kind)?.optionId ?? [])[0]
}
