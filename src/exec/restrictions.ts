/**
 * What the user's own command line forbids. A recovery that would lift it is switched off: the user reads the remedy and
 * decides. Flags as today's CLIs have them; each is a list of words that a person writes to narrow what the agent may do.
 */
import type { Driver } from '../harness/driver.ts'

/** Playbooks that would loosen a command line. */
export type Loosening = 'git-trust-relaunch' | 'tool-rule-relaunch' | 'directory-scope-relaunch'

/** The values of an option, in either spelling. */
const valuesOf = (args: readonly string[], ...flags: string[]): string[] =>
  args.flatMap((arg, at) => {
    const flag = flags.find((name) => arg === name || arg.startsWith(`${name}=`))
    if (flag === undefined) return []
    return [arg === flag ? (args[at + 1] ?? '') : arg.slice(flag.length + 1)]
  })

const claude = (args: readonly string[]): Loosening[] => {
  const modes = valuesOf(args, '--permission-mode')
  const lists = [
    '--allowedTools',
    '--allowed-tools',
    '--disallowedTools',
    '--disallowed-tools',
    '--tools',
    '--settings',
  ]
  // These two modes let edits through: what they still refuse is not the user's wish.
  const open = modes.every((mode) => mode === 'acceptEdits' || mode === 'bypassPermissions')
  return open && valuesOf(args, ...lists).length === 0 ? [] : ['tool-rule-relaunch']
}

const readOnly = /^(sandbox_mode|permissions)\s*=|^default_permissions\s*=/

const codex = (args: readonly string[]): Loosening[] =>
  valuesOf(args, '-s', '--sandbox').includes('read-only') ||
  valuesOf(args, '-c', '--config').some((value) => readOnly.test(value) && value.includes('read-only'))
    ? ['directory-scope-relaunch']
    : []

/** Whether a folder is trusted is for its user to say, and in plan mode nothing is to be written. */
const gemini = (args: readonly string[]): Loosening[] => {
  const modes = valuesOf(args, '--approval-mode')
  const lists = valuesOf(args, '--allowed-tools', '--policy', '--admin-policy', '--allowed-mcp-server-names')
  const open = modes.every((mode) => mode === 'auto_edit' || mode === 'yolo') && lists.length === 0
  return ['git-trust-relaunch', ...(open ? [] : (['tool-rule-relaunch'] as const))]
}

/** The recoveries that exec leaves out for this command line. */
export const looseningOf = (harness: Driver['name'], args: readonly string[]): Loosening[] => {
  if (harness === 'claude') return claude(args)
  if (harness === 'codex') return codex(args)
  return harness === 'gemini' ? gemini(args) : []
}

/** Directories that the command line gives already, as it spells them. */
export const givenDirectories = (harness: Driver['name'], args: readonly string[]): string[] => {
  if (harness === 'gemini') return valuesOf(args, '--include-directories').flatMap((value) => value.split(','))
  if (harness === 'codex') return valuesOf(args, '--add-dir')
  if (harness !== 'claude') return []
  // It takes several values behind one option.
  const lists = args.flatMap((arg, at) => {
    if (arg !== '--add-dir') return []
    const rest = args.slice(at + 1)
    const end = rest.findIndex((value) => value.startsWith('-'))
    return end < 0 ? rest : rest.slice(0, end)
  })
  return [...lists, ...valuesOf(args, '--add-dir').filter((value) => !lists.includes(value))]
}
