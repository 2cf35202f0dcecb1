/** What the drivers' rules for single tools have in common: which calls a rule may be added for at all. */
import { posix } from 'node:path'
import { ownCommandsIn } from '../recovery/command/own.ts'
import type { Denial, Permitted } from './driver.ts'
import { knownHarnesses } from './names.ts'

/** Decide what the next agent may do, or what git does: no rule opens them. */
const guarded = new Set<string>(['.git', '.unstuck', ...knownHarnesses.map((name) => `.${name}`)])

export const isPlainEdit = (target: string | undefined, { workspace }: Permitted): boolean => {
  if (target === undefined) return false
  const parts = posix.relative(workspace, posix.resolve(workspace, target)).split('/')
  return parts[0] !== '..' && parts[0] !== '' && !parts.some((part) => guarded.has(part))
}

/** The line as a whole, or as the list of parts that some CLIs make of it. */
const commandsIn = (target: string, own: readonly string[]): string[] | undefined => {
  const whole = ownCommandsIn(target, own)
  if (whole !== undefined) return whole
  const parts = target.split(', ').map((part) => ownCommandsIn(part, own))
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined
}

interface Tools {
  shell: string
  edits: readonly string[]
  /** The rule for an edit inside the workspace; undefined where it cannot be written. */
  editRule(tool: string, workspace: string): string | undefined
  /** A command as this CLI's rules; none where they cannot name it. */
  ruleOf(command: string): string[]
}

/** Rules for a refused call; those that the launch has already would change nothing. */
export const toolRulesOf =
  ({ shell, edits, editRule, ruleOf }: Tools) =>
  ({ tool, target }: Pick<Denial, 'tool' | 'target'>, permitted: Permitted): string[] | undefined => {
    if (edits.includes(tool)) {
      const rule = isPlainEdit(target, permitted) ? editRule(tool, permitted.workspace) : undefined
      return rule === undefined ? undefined : [rule]
    }
    const commands = tool === shell && target !== undefined ? commandsIn(target, permitted.own) : undefined
    if (commands === undefined || commands.some((command) => ruleOf(command).length === 0)) return undefined
    const given = new Set(permitted.given.flatMap(ruleOf))
    const rules = [...new Set(commands.flatMap(ruleOf))].filter((rule) => !given.has(rule))
    return rules.length === 0 ? undefined : rules
  }

/** The single commands of a line, without where their output goes: rules are written for each. */
export const commandParts = (line: string): string[] => [
  ...new Set(
    line
      .split(/&&|\|\||[;|\n]/)
      .map((part) => part.replace(/\d?>>?\s*\S+/g, '').trim())
      .filter((part) => part !== ''),
  ),
]

/** Rules for what a person allows after it was refused: that call and no more; none where this CLI cannot name all of it. */
export const grantRulesOf =
  ({ shell, edits, ruleOf }: Pick<Tools, 'shell' | 'edits' | 'ruleOf'>) =>
  ({ tool, target }: Pick<Denial, 'tool' | 'target'>): string[] => {
    if (tool === shell) {
      const rules = commandParts(target ?? '').map(ruleOf)
      return rules.some((rule) => rule.length === 0) ? [] : rules.flat()
    }
    // An edit that was refused is one of what decides about agents or git.
    return edits.includes(tool) || !/^\w+$/.test(tool) ? [] : [tool]
  }
