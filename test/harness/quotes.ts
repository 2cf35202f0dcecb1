/** Puts words into the mouth of the model and of its tools, in recordings of the real CLIs. */
import type { Cli, Line } from './replay.ts'

/** Replaces the text of the model and the output of tools in one event, and nothing that the CLI itself says. */
const replaceWords = (value: unknown, phrase: string): unknown => {
  if (Array.isArray(value)) return value.map((member) => replaceWords(member, phrase))
  if (typeof value !== 'object' || value === null) return value
  const object = value as Record<string, unknown>
  const words: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(object)) words[key] = replaceWords(member, phrase)
  if (object['type'] === 'text' || object['type'] === 'agent_message') words['text'] = phrase
  if (object['type'] === 'tool_result')
    words['content'] = object['is_error'] === true ? `Exit code 7\n${phrase}` : phrase
  if (object['type'] === 'command_execution') words['aggregated_output'] = phrase
  if (object['type'] === 'result') words['result'] = phrase
  if ('tool_use_result' in object) words['tool_use_result'] = phrase
  if (object['type'] === 'message' && object['role'] === 'assistant') words['content'] = phrase
  if (object['status'] === 'completed' || object['status'] === 'success') words['output'] = phrase
  return words
}

export const withPhrase = (lines: Line[], phrase: string): Line[] =>
  lines.map((line) =>
    line.text.startsWith('{') ? { ...line, text: JSON.stringify(replaceWords(JSON.parse(line.text), phrase)) } : line,
  )

/** Recordings in which the model speaks or a tool prints, and that end well. */
export const talkative: [Cli, string][] = [
  ['claude', 'happy'],
  ['claude', 'shell-nonzero'],
  ['claude', 'fs-perm-shell'],
  ['claude', 'huge-output'],
  ['claude', 'context-midway'],
  ['codex', 'happy'],
  ['codex', 'shell-fails-plain'],
  ['codex', 'scope-shell-write-slow'],
  ['codex', 'no-user-namespaces'],
  ['codex', 'loop-50'],
  ['gemini', 'happy'],
  ['gemini', 'shell-nonzero'],
  ['gemini', 'fs-perm-shell'],
  ['gemini', 'scope-write'],
  ['gemini', 'loop-50'],
  ['opencode', 'happy'],
  ['opencode', 'shell-nonzero'],
  ['opencode', 'fs-perm-shell'],
  ['opencode', 'scope-write-deny'],
  ['opencode', 'loop-50'],
]
