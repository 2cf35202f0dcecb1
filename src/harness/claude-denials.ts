/**
 * Claude Code's refusals. A refusal is a sentence of the CLI at the very start of a failed result of one of its own tools (never the
 * output of a command, because a failed command starts with its exit code), or an entry of the final event's
 * `permission_denials`, which also covers sentences that a newer version words differently.
 */
import { posix } from 'node:path'
import { shellQuoted } from '../recovery/command/replacement.ts'
import type { Denial, OpenCall } from './driver.ts'
import { objectAt, textAt } from './json-line.ts'
import type { JsonObject } from './json-line.ts'
import { cut, firstLine } from './transcript.ts'
import { doubleQuoted, folderInWords, orAllowDir, type Refused } from './remedy-words.ts'
import { commandParts } from './tool-rules.ts'

interface Rule {
  starts: RegExp
  kind: Denial['kind'] | 'path' | 'disabled'
}

/** `path`: a path outside the working directory is a scope refusal; inside it the permission mode refused the tool. */
const rules: Rule[] = [
  {
    starts: /^Claude requested permissions to (?:write to|read from|edit) (.+?), but you haven't granted it yet\./,
    kind: 'path',
  },
  { starts: /^Claude requested permissions to use (.+?), but you haven't granted it yet\./, kind: 'tool' },
  { starts: /^[\w ]{1,60}? (?:to|in) '(.+?)' was blocked\. For security, Claude Code may only /, kind: 'path' },
  {
    starts: /^This Bash command contains multiple operations\. The following parts? requires? approval: (.+)/,
    kind: 'tool',
  },
  { starts: /^This command requires approval/, kind: 'tool' },
  // Since 2.1.330, for a shell command that changes files: the mode refused it, whatever the path.
  {
    starts: /^[^\n]{1,1000}? needs approval\. The path is inside the working directories for this session \('/,
    kind: 'tool',
  },
  // Wording of earlier versions.
  { starts: /^Access blocked\b(?! by (?:\w+ ){0,3}policy\b)/, kind: 'path' },
  { starts: /^Permission to use \w+ (?:with .+ )?has been denied/, kind: 'tool' },
  { starts: /^Cannot write to (.+?) while in plan mode\./, kind: 'tool' },
  // From `--disallowedTools` and `--tools`. An unknown tool name is no refusal. Without a target, because no rule allows the call.
  {
    starts: /^(?:<tool_use_error>)?Error: No such tool available: \w+\. \w+ exists but is not enabled in this context/,
    kind: 'disabled',
  },
  { starts: /^Dangerous rm operation detected: /, kind: 'safety' },
]

const system =
  /^(?:<tool_use_error>)?(?:Error calling tool \(\w+\): )?(?:EACCES: permission denied|EPERM: operation not permitted|EROFS: read-only file system), \w+ '(.+?)'/

const shellTools = new Set(['Bash'])
/** Results of other tools (MCP servers, the web, subagents) are not the CLI's own text. */
const fileTools = new Set(['Read', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit', 'Glob', 'Grep', 'LS'])

export const claudePath = (input: JsonObject | undefined): string | undefined =>
  textAt(input, 'file_path') ?? textAt(input, 'path') ?? textAt(input, 'notebook_path')

const isOutside = (path: string, cwd: string | undefined): boolean => {
  if (cwd === undefined) return true
  const relative = posix.relative(cwd, posix.resolve(cwd, path))
  return relative === '..' || relative.startsWith('../')
}

const kindOf = (kind: Rule['kind'], path: string | undefined, cwd: string | undefined): Denial['kind'] => {
  if (kind === 'disabled') return 'tool'
  if (kind !== 'path') return kind
  return path !== undefined && isOutside(path, cwd) ? 'scope' : 'tool'
}

const make = (kind: Denial['kind'], call: OpenCall, target: string | undefined, text: string): Denial => ({
  kind,
  tool: call.tool,
  ...(target === undefined ? {} : { target: cut(target) }),
  text: cut(text),
  callId: call.id,
})

/** The refusal in a failed tool result; undefined when the tool failed for another reason. */
export const claudeDenial = (
  call: OpenCall | undefined,
  content: string,
  cwd: string | undefined,
): Denial | undefined => {
  if (call === undefined || !(shellTools.has(call.tool) || fileTools.has(call.tool))) return undefined
  const text = cut(firstLine(content))
  for (const rule of rules) {
    const match = rule.starts.exec(text)
    if (match === null) continue
    const target = rule.kind === 'disabled' ? undefined : (call.path ?? match[1] ?? call.command)
    return make(kindOf(rule.kind, target, cwd), call, target, text)
  }
  // "Permission denied" in the result of a shell is the command's output. Only the file tools report the system's error themselves.
  const refused = fileTools.has(call.tool) ? system.exec(text) : null
  return refused === null ? undefined : make('filesystem', call, call.path ?? refused[1], text)
}

/** An entry of the final event's `permission_denials`. */
export const claudeListedDenial = (entry: JsonObject, cwd: string | undefined): Denial | undefined => {
  const [id, tool] = [textAt(entry, 'tool_use_id'), textAt(entry, 'tool_name')]
  if (id === undefined || tool === undefined) return undefined
  const input = objectAt(entry, 'tool_input')
  const path = claudePath(input)
  const kind = fileTools.has(tool) ? kindOf('path', path, cwd) : 'tool'
  return make(kind, { id, tool }, path ?? textAt(input, 'command'), `${tool} was not permitted`)
}

const denied = /^Permission to use \w+ (?:with .+ )?has been denied/
const dontAsk = "in don't ask mode"

/** Sentences that name a decision of the user. */
export const claudeRefusalWords: readonly RegExp[] = [
  / while in plan mode\./,
  / because Claude Code is running in don't ask mode/,
  denied,
  / exists but is not enabled in this context/,
]

const edits = new Set(['Edit', 'MultiEdit', 'NotebookEdit', 'Write'])

const toolRemedy = ({ tool, target, text }: Refused): string => {
  if (text.includes('while in plan mode')) return 'choose another mode, such as --permission-mode acceptEdits'
  if (text.includes('is not enabled in this context'))
    return `remove ${tool} from --disallowedTools, or add it to --tools`
  if (denied.test(text) && !text.includes(dontAsk))
    return `remove the rule that denies ${tool} (--disallowedTools, or permissions.deny in the settings)`
  // A redirection in a shell command is refused as a write to its file, whatever the command is.
  if (edits.has(tool) || text.startsWith('Output redirection to ')) return 'add --permission-mode acceptEdits'
  const rules = tool === 'Bash' && target !== undefined ? commandParts(target).map((part) => `Bash(${part}:*)`) : [tool]
  return `add --allowedTools ${rules.map(doubleQuoted).join(' ')}`
}

export const claudeRemedy = (refused: Refused): string =>
  refused.kind === 'scope'
    ? orAllowDir(`--add-dir ${shellQuoted(folderInWords(refused))}`, refused)
    : toolRemedy(refused)
