/** Shared by the drivers with rules for single tools: for which refused calls a rule may be added at all. */
import { posix } from 'node:path'
import { taskCommandsIn } from '../recovery/command/task-commands.ts'
import type { Denial, Permitted } from './driver.ts'
import { knownHarnesses } from './names.ts'

/** Folders that decide what the next agent may do, or what git does. No rule allows edits there. */
const guarded = new Set<string>(['.git', '.unstuck', ...knownHarnesses.map((name) => `.${name}`)])

export const isPlainEdit = (target: string | undefined, { workspace }: Permitted): boolean => {
  if (target === undefined) return false
  const parts = posix.relative(workspace, posix.resolve(workspace, target)).split('/')
  return parts[0] !== '..' && parts[0] !== '' && !parts.some((part) => guarded.has(part))
}

/** The task's commands in a refused line; some CLIs report the line as a list of parts. */
const commandsIn = (target: string, own: readonly string[]): string[] | undefined => {
  const whole = taskCommandsIn(target, own)
  if (whole !== undefined) return whole
  const parts = target.split(', ').map((part) => taskCommandsIn(part, own))
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined
}

interface Tools {
  shell: string
  edits: readonly string[]
  /** The rule for an edit inside the workspace; undefined when it cannot be expressed. */
  editRule(tool: string, workspace: string): string | undefined
  /** The rules for a command; empty when they cannot express it. */
  ruleOf(command: string): string[]
}

/** Returns a driver's `toolRules`. Rules that the launch already has are left out, because they would change nothing. */
export const toolRulesOf =
  ({ shell, edits, editRule, ruleOf }: Tools) =>
  ({ tool, target }: Pick<Denial, 'tool' | 'target'>, permitted: Permitted): string[] | undefined => {
    if (edits.includes(tool)) {
      const rule = isPlainEdit(target, permitted) ? editRule(tool, permitted.workspace) : undefined
      return rule === undefined ? undefined : [rule]
    }
    const commands = tool === shell && target !== undefined ? commandsIn(target, permitted.taskCommands) : undefined
    if (commands === undefined || commands.some((command) => ruleOf(command).length === 0)) return undefined
    const given = new Set(permitted.launchCommands.flatMap(ruleOf))
    const rules = [...new Set(commands.flatMap(ruleOf))].filter((rule) => !given.has(rule))
    return rules.length === 0 ? undefined : rules
  }

/** The single commands of a line without their redirections, because each needs a rule of its own. */
export const commandParts = (line: string): string[] => [
  ...new Set(
    line
      .split(/&&|\|\||[;|\n]/)
      .map((part) => part.replace(/\d?>>?\s*\S+/g, '').trim())
      .filter((part) => part !== ''),
  ),
]

/** Returns a driver's `grantRules`: rules for exactly the call that a person allows; empty when not all of the call can be expressed. */
export const grantRulesOf =
  ({ shell, edits, ruleOf }: Pick<Tools, 'shell' | 'edits' | 'ruleOf'>) =>
  ({ tool, target }: Pick<Denial, 'tool' | 'target'>): string[] => {
    if (tool === shell) {
      const rules = commandParts(target ?? '').map(ruleOf)
      return rules.some((rule) => rule.length === 0) ? [] : rules.flat()
    }
    // A refused edit is in one of the guarded folders, so it is never allowed.
    return edits.includes(tool) || !/^\w+$/.test(tool) ? [] : [tool]
  }
