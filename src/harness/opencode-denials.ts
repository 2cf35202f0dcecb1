/**
 * OpenCode's refusals: a failed call of one of its own tools whose error starts with a sentence of the CLI, or a call of the stand-in
 * tool `invalid`, which replaces a tool that the configuration disabled.
 */
import type { Denial, OpenCall } from './driver.ts'
import type { JsonObject } from './json-line.ts'
import { textAt } from './json-line.ts'
import { cut } from './transcript.ts'
import { folderInWords, type Refused } from './remedy-words.ts'

const fileTools = new Set(['edit', 'glob', 'grep', 'list', 'lsp', 'multiedit', 'patch', 'apply_patch', 'read', 'write'])
const ownTools = new Set([...fileTools, 'bash', 'skill', 'task', 'todowrite', 'webfetch', 'websearch', 'codesearch'])

export const opencodePath = (input: JsonObject | undefined): string | undefined =>
  textAt(input, 'filePath') ?? textAt(input, 'path')

/** A permission set to `ask` is refused, because there is no person; the CLI then exits with 0 and without a final event. */
export const permissionRejected = /^The user rejected permission to use this specific tool call\./
const ruled = /^The user has specified a rule which prevents you from using this specific tool call\./
/** The sentence quotes the relevant rules; the last one is of the permission that refused. */
const ruleClass = /"permission":"(\w+)"/g
const system = /^PermissionDenied: FileSystem\.\w+ \((.+?)\)/
const takenAway = /^Model tried to call unavailable tool '([^']+)'\./

const make = (kind: Denial['kind'], call: OpenCall, target: string | undefined, text: string): Denial => ({
  kind,
  tool: call.tool,
  ...(target === undefined ? {} : { target: cut(target) }),
  text: cut(text),
  callId: call.id,
})

const classIn = (text: string): string | undefined => [...text.matchAll(ruleClass)].at(-1)?.[1]

/** A refused file tool hit the directory limit, because the launch always grants the tool itself. */
const kindOf = (call: OpenCall, permission: string | undefined): Denial['kind'] =>
  permission === 'external_directory' || (permission === undefined && fileTools.has(call.tool)) ? 'scope' : 'tool'

/** The refusal in a finished `tool_use` event; undefined when the call succeeded or failed for another reason. */
export const opencodeDenial = (
  call: OpenCall,
  state: JsonObject | undefined,
  input: JsonObject | undefined,
): Denial | undefined => {
  if (call.tool === 'invalid') {
    const text = textAt(input, 'error') ?? ''
    const tool = takenAway.exec(text)?.[1]
    return tool !== undefined && ownTools.has(tool) ? make('tool', { ...call, tool }, undefined, text) : undefined
  }
  if (textAt(state, 'status') !== 'error' || !ownTools.has(call.tool)) return undefined
  const text = textAt(state, 'error') ?? ''
  const target = call.path ?? call.command
  if (permissionRejected.test(text)) return make(kindOf(call, undefined), call, target, text)
  const rule = ruled.exec(text)
  // The quoted rules behind the sentence are only for parsing; people get the sentence.
  if (rule !== null) return make(kindOf(call, classIn(text)), call, target, rule[0])
  const refused = fileTools.has(call.tool) ? system.exec(text) : null
  return refused === null ? undefined : make('filesystem', call, call.path ?? refused[1], text)
}

/** Sentences that name a decision of the user. */
export const opencodeRefusalWords: readonly RegExp[] = [
  /^The user has specified a rule which prevents you/,
  /^Model tried to call unavailable tool /,
]

/** OpenCode names the permission and its pattern on standard error only. */
const requested = /permission requested: (\w+) \((.*)\); auto-rejecting/

export const opencodeRemedy = (refused: Refused, { stderr }: { stderr: readonly string[] }): string => {
  const [, permission, pattern] = stderr.map((line) => requested.exec(line)).findLast((found) => found !== null) ?? []
  const { kind, text, tool } = refused
  const isOutside = kind === 'scope' || permission === 'external_directory'
  const key = isOutside ? 'external_directory' : (permission ?? (tool === 'write' ? 'edit' : tool))
  const dir = kind === 'scope' ? folderInWords(refused) : (pattern ?? '').replace(/\/\*+$/, '')
  const value = isOutside && dir !== '' ? `{ "${dir}/**": "allow" }` : '"allow"'
  const setting = `set "permission": { "${key}": ${value} } in opencode.json`
  // `--auto` allows what would be asked, and nothing that is denied.
  return text.startsWith('The user rejected permission') ? `${setting}, or add --auto` : setting
}
