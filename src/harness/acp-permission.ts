/**
 * What the bridge answers when an ACP agent asks for leave: the least that works unattended. Work on files inside the
 * workspace and the allowed directories is allowed, and the task's own commands; nothing else, and never for more than
 * this once. It only decides; the agent is the one that keeps to it.
 */
import { realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'

export interface Allowed {
  workspace: string
  dirs: string[]
  commands: string[]
  /** The owner's wish. */
  everything?: boolean
}

/** What is known of the call from all that the agent has said about it. */
export interface AskedCall {
  kind?: string | null | undefined
  title?: string | null | undefined
  rawInput?: unknown
  locations?: readonly { path: string }[] | null | undefined
  content?: readonly unknown[] | null | undefined
}

export interface Decision {
  allowed: boolean
  /** `scope`: a place outside; `tool`: everything else. */
  kind: 'scope' | 'tool'
  target?: string
}

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined

/** The real place of a path that may not be there yet: a link out of the workspace leads out of it. */
const realPlace = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : resolve(realPlace(parent), path.slice(parent.length).replace(/^\/+/, ''))
  }
}

const isInside = (path: string, root: string): boolean => path === root || path.startsWith(root + sep)

/** Every place the call names: its locations, its diffs, and a path in its input. */
export const placesOf = (call: AskedCall): string[] => {
  const diffs = (call.content ?? []).map((part) =>
    fieldOf(part, 'type') === 'diff' ? fieldOf(part, 'path') : undefined,
  )
  const inputs = ['path', 'file_path', 'filePath', 'abs_path'].map((key) => fieldOf(call.rawInput, key))
  const texts = [...(call.locations ?? []).map(({ path }) => path), ...diffs, ...inputs]
  return [...new Set(texts.filter((text) => typeof text === 'string'))]
}

/** The command line that would run; undefined when the agent does not say, or says it as something else than one text. */
export const commandOf = (call: AskedCall): string | undefined => {
  const command = fieldOf(call.rawInput, 'command')
  return typeof command === 'string' ? command : undefined
}

const joins = /[;&|`<>\r\n]|\$\(/

/** As written, or with further arguments; never together with a second command. */
const isTaskCommand = (command: string, commands: string[]): boolean => {
  const line = command.trim()
  return commands.some((own) => {
    const known = own.trim()
    return known !== '' && (line === known || (line.startsWith(`${known} `) && !joins.test(line.slice(known.length))))
  })
}

const decideFiles = (call: AskedCall, allowed: Allowed, mustName: boolean): Decision => {
  const places = placesOf(call)
  const roots = [allowed.workspace, ...allowed.dirs].map(realPlace)
  const outside = places.find((path) => {
    const place = realPlace(resolve(allowed.workspace, path))
    return !roots.some((root) => isInside(place, root))
  })
  if (outside !== undefined) return { allowed: false, kind: 'scope', target: outside }
  const [target] = places
  if (target === undefined) return { allowed: !mustName, kind: 'tool' }
  return { allowed: true, kind: 'tool', target }
}

const looks = new Set(['read', 'search', 'think'])
const changes = new Set(['edit', 'delete', 'move'])

export const decide = (call: AskedCall, allowed: Allowed): Decision => {
  if (allowed.everything === true) return { allowed: true, kind: 'tool' }
  const kind = call.kind ?? 'other'
  if (looks.has(kind)) return decideFiles(call, allowed, false)
  // A change whose place is not told may be anywhere.
  if (changes.has(kind)) return decideFiles(call, allowed, true)
  const command = commandOf(call)
  const target = command ?? call.title ?? undefined
  const named = target === undefined ? {} : { target }
  if (kind === 'execute' && command !== undefined)
    return { allowed: isTaskCommand(command, allowed.commands), kind: 'tool', ...named }
  // Some agents give the command as the title alone: taken as a whole or not at all, for it may be shortened.
  const isTitled =
    kind === 'execute' && allowed.commands.some((own) => own.trim() !== '' && own.trim() === call.title?.trim())
  return { allowed: isTitled, kind: 'tool', ...named }
}

export interface Option {
  optionId: string
  kind: string
}

/** Once and no longer: what is allowed for ever would outlive the run. Undefined: the request is cancelled instead. */
export const optionFor = (decision: Decision, options: readonly Option[]): string | undefined => {
  const order = decision.allowed ? ['allow_once'] : ['reject_once', 'reject_always']
  return order.flatMap((kind) => options.find((option) => option.kind === kind)?.optionId ?? [])[0]
}
