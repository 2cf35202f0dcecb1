/**
 * Gemini's refusals: failed results of its own tools, recognized by `error.type` and, where that is too general, by the CLI's sentence
 * at the very start. The output of a shell command is reported as a success and is never examined.
 */
import { shellQuoted } from '../recovery/command/replacement.ts'
import type { Denial, OpenCall } from './driver.ts'
import type { JsonObject } from './json-line.ts'
import { objectAt, textAt } from './json-line.ts'
import { cut, firstLine } from './transcript.ts'
import { doubleQuoted, folderInWords, orAllowDir, type Refused } from './remedy-words.ts'
import { commandParts } from './tool-rules.ts'

const fileTools = new Set([
  'glob',
  'grep_search',
  'list_directory',
  'read_file',
  'read_many_files',
  'replace',
  'search_file_content',
  'write_file',
])
/** Tools that need the approval of the mode or a rule. Without it the CLI does not declare them to the model. */
const guardedTools = new Set(['replace', 'run_shell_command', 'save_memory', 'web_fetch', 'write_file'])

export const geminiPath = (input: JsonObject | undefined): string | undefined =>
  textAt(input, 'file_path') ?? textAt(input, 'dir_path') ?? textAt(input, 'absolute_path') ?? textAt(input, 'path')

const outside =
  /^Path (?:not in workspace|validation failed): Attempted path "(.+?)" resolves outside the allowed workspace directories: /
/** Sentence of the search tools. */
const outsideSearch =
  /^Search path \("(.+?)"\) resolves outside the (?:allowed workspace directories|tool's root directory)/
/** Sentences of versions before 0.37. */
const outsideBefore = /^(?:File path|Path) must be within (?:one of )?the workspace directories/
const outsideShell = /^Directory '(.+?)' is not within any of the registered workspace directories/
const planMode = /^Access denied: plan path \((.+?)\) must be within the designated plans directory/
const missing = /^Tool "([^"]+)" not found\./
const system =
  /^(?:Error reading file .+?: )?(?:EACCES: permission denied|EPERM: operation not permitted|EROFS: read-only file system), \w+ '(.+?)'/
const unwritable = /^Permission denied writing to file: (.+?) \((?:EACCES|EPERM|EROFS)\)/

interface Refusal {
  kind: Denial['kind']
  target?: string | undefined
}

const ofFile = (call: OpenCall, text: string): Refusal | undefined => {
  const scope = outside.exec(text) ?? outsideSearch.exec(text)
  if (scope !== null) return { kind: 'scope', target: scope[1] }
  if (outsideBefore.test(text)) return { kind: 'scope', target: call.path }
  const plan = planMode.exec(text)
  if (plan !== null) return { kind: 'tool', target: plan[1] }
  const refused = unwritable.exec(text) ?? system.exec(text)
  return refused === null ? undefined : { kind: 'filesystem', target: call.path ?? refused[1] }
}

const refusalOf = (call: OpenCall, type: string | undefined, text: string): Refusal | undefined => {
  if (type === 'policy_violation') return { kind: 'tool', target: call.command ?? call.path }
  if (type === 'tool_not_registered')
    return guardedTools.has(missing.exec(text)?.[1] ?? '')
      ? { kind: 'tool', target: call.command ?? call.path }
      : undefined
  if (call.tool === 'run_shell_command') {
    // Only the check of its folder is the CLI's own; any other text of a failed shell call may be the command's output.
    const scope = type === 'invalid_tool_params' ? (outside.exec(text) ?? outsideShell.exec(text)) : null
    return scope === null ? undefined : { kind: 'scope', target: scope[1] }
  }
  if (!fileTools.has(call.tool)) return undefined
  return ofFile(call, text) ?? (type === 'permission_denied' ? { kind: 'filesystem', target: call.path } : undefined)
}

/** The refusal in a `tool_result` event; undefined when the tool failed for another reason. */
export const geminiDenial = (call: OpenCall | undefined, event: JsonObject): Denial | undefined => {
  if (call === undefined || textAt(event, 'status') !== 'error') return undefined
  const error = objectAt(event, 'error')
  const text = cut(firstLine(textAt(error, 'message') ?? textAt(event, 'output') ?? ''))
  const refusal = refusalOf(call, textAt(error, 'type'), text)
  if (refusal === undefined) return undefined
  const { kind, target } = refusal
  return { kind, tool: call.tool, ...(target === undefined ? {} : { target: cut(target) }), text, callId: call.id }
}

/** Sentences that name a decision of the user. */
export const geminiRefusalWords: readonly RegExp[] = [/^Access denied: plan path /, /denied by policy/i]

export const geminiRemedy = (refused: Refused): string => {
  const { kind, tool, target } = refused
  if (kind === 'scope') return orAllowDir(`--include-directories ${shellQuoted(folderInWords(refused))}`, refused)
  if (tool !== 'run_shell_command') return 'add --approval-mode auto_edit'
  if (target === undefined) return 'add --approval-mode yolo'
  const rules = commandParts(target).map((part) => `--allowed-tools ${doubleQuoted(`run_shell_command(${part})`)}`)
  return `add ${rules.join(' ')}`
}
