/**
 * Codex reports most refusals only on standard error, as log lines (`<time> <LEVEL> <module>: …`), for which the launch enables the
 * sandbox's log. A line without that prefix may be the output of any other program and is ignored.
 */
import { shellQuoted } from '../recovery/command/replacement.ts'
import type { Denial } from './driver.ts'
import { cut } from './transcript.ts'
import { folderInWords, type Refused } from './remedy-words.ts'

const logLine = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) {1,2}(?:ERROR|WARN) ([\w:]+): (.*)$/

/** Codex names no path in these: codex-rollout.ts finds it by the time of the line. */
const rejections: { starts: RegExp; kind: Denial['kind']; tool: string }[] = [
  { starts: /^error=patch rejected: writing outside of the project;/, kind: 'scope', tool: 'apply_patch' },
  { starts: /^error=patch rejected: writing is blocked by read-only sandbox;/, kind: 'tool', tool: 'apply_patch' },
  { starts: /^error=approval policy is Never; reject command/, kind: 'tool', tool: 'exec_command' },
]

const violation = /^recorded sandbox violation: resource=filesystem .*\breason=(\w+) path=(.+)$/

/** The refusal in a line of standard error; undefined for any other line. */
export const codexDenial = (line: string): Denial | undefined => {
  const [, at = '', module, message = ''] = logLine.exec(cut(line)) ?? []
  if (module === 'codex_core::tools::router') {
    const rule = rejections.find((candidate) => candidate.starts.test(message))
    const text = message.replace(/^error=/, '')
    return rule === undefined ? undefined : { kind: rule.kind, tool: rule.tool, text, at }
  }
  if (module !== 'codex_sandboxing::violation') return undefined
  const [, reason, target] = violation.exec(message) ?? []
  if (reason === undefined || target === undefined) return undefined
  // The sandbox makes everything outside its writable roots read-only, and `.git` inside them.
  const kind = reason === 'read_only_file_system' ? 'scope' : 'filesystem'
  return { kind, tool: 'exec_command', text: message, ...(target === 'unknown' ? { at } : { target }) }
}

const readOnly = /read-only sandbox/

/** Sentences that name a decision of the user. */
export const codexRefusalWords: readonly RegExp[] = [readOnly]

export const codexRemedy = (refused: Refused): string => {
  if (refused.kind === 'tool' && readOnly.test(refused.text)) return 'add -s workspace-write'
  if (refused.kind === 'scope' || refused.target !== undefined) {
    const folder = shellQuoted(folderInWords(refused))
    return `add -s workspace-write, and for a folder outside --add-dir ${folder} (or unstuck exec --allow-dir ${folder} -- …)`
  }
  return 'choose a wider sandbox, such as -s workspace-write'
}
