/** What lets an agent CLI do what it was refused: the exact option of that CLI, for the last line of `unstuck exec`. */
import { dirname } from 'node:path'
import type { Driver } from '../harness/driver.ts'
import type { DenialView } from './contract.ts'

type Harness = Driver['name']

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A folder that a person would name: the one that holds the refused file. */
const folderOf = (target: string | null): string => (target === null ? '<directory>' : dirname(target))

const toDirectory: Partial<Record<Harness, (dir: string) => string>> = {
  claude: (dir) => `--add-dir ${dir}`,
  codex: (dir) => `-s workspace-write --add-dir ${dir}`,
  gemini: (dir) => `--include-directories ${dir}`,
  opencode: (dir) => `"permission": {"external_directory": {"${dir}/**": "allow"}} in opencode.json`,
}

/** A mode of a CLI that lets files be written in the folder, and nothing else. */
const toEdit: Partial<Record<Harness, string>> = {
  claude: '--permission-mode acceptEdits',
  codex: '-s workspace-write',
  gemini: '--approval-mode auto_edit',
  opencode: '"permission": {"edit": "allow"} in opencode.json',
}

/** The single commands of a line, without where their output goes: rules are written for each. */
const partsOf = (line: string): string[] => [
  ...new Set(
    line
      .split(/&&|\|\||[;|\n]/)
      .map((part) => part.replace(/\d?>>?\s*\S+/g, '').trim())
      .filter((part) => part !== ''),
  ),
]

const toRun: Partial<Record<Harness, (command: string | null) => string>> = {
  claude: (command) =>
    `--allowedTools ${partsOf(command ?? '<command>')
      .map((part) => quoted(`Bash(${part}:*)`))
      .join(' ')}`,
  codex: () => '-s workspace-write',
  gemini: (command) =>
    `--allowed-tools ${quoted(`run_shell_command(${(command ?? '<command>').split(' ')[0] ?? ''})`)}`,
  opencode: (command) => {
    const patterns = partsOf(command ?? '').map((part) => `${JSON.stringify(`${part}*`)}: "allow"`)
    return `"permission": {"bash": {${patterns.join(', ') || '"*": "allow"'}}} in opencode.json`
  },
}

/** The redirection of a shell is refused as a write to its file, whatever the command was. */
const isRedirection = ({ text }: DenialView): boolean => text.startsWith('Output redirection to ')

const shells = new Set(['Bash', 'bash', 'run_shell_command', 'shell', 'command_execution'])

const isCommand = (denial: DenialView): boolean => shells.has(denial.tool) && !isRedirection(denial)

/** How a person lets it through, as the end of "To allow it: …"; undefined where no option does. */
export const remedyFor = (harness: Harness, denial: DenialView): string | undefined => {
  const { kind, target } = denial
  if (kind === 'safety') return undefined
  if (kind === 'filesystem') return target === null ? undefined : `make ${target} writable for this user`
  if (kind === 'scope') {
    const dir = folderOf(target)
    const own = toDirectory[harness]?.(dir)
    return `unstuck exec --allow-dir ${dir} -- …${own === undefined ? '' : `, or ${own}`}`
  }
  return isCommand(denial) ? toRun[harness]?.(target) : toEdit[harness]
}

/** What it was about, for people: a path or a command, else the tool. */
export const subjectOf = (denial: DenialView): string => {
  const { tool, target } = denial
  if (target === null) return tool === '' ? 'a tool call' : `the tool ${tool}`
  return isCommand(denial) ? `the command "${target}"` : `access to ${target}`
}

const logins: Partial<Record<Harness, string>> = {
  claude: 'run "claude" and then /login, or set ANTHROPIC_API_KEY; then run the command again',
  codex: 'run "codex login", or set CODEX_API_KEY; then run the command again',
  gemini: 'set GEMINI_API_KEY, or log in by running "gemini"; then run the command again',
  opencode: 'run "opencode auth login", or set the key of its provider; then run the command again',
}

const trust: Partial<Record<Harness, string>> = {
  codex: 'add --skip-git-repo-check to the command, or run it inside a git repository',
  gemini: 'if you trust this folder, add --skip-trust to the command or set GEMINI_CLI_TRUST_WORKSPACE=true',
}

/** What a person can do about a failure of this label; undefined where only the CLI's own words help. */
export const adviceFor = (harness: Harness, label: string): string | undefined => {
  switch (label) {
    case 'auth_failure':
      return logins[harness]
    case 'GIT_TRUST_ERROR':
    case 'GIT_CHECK_ERROR':
      return trust[harness]
    case 'model_missing':
      return 'give a model that the account may use (-m, --model)'
    case 'context_overflow':
      return 'split the task, or attach less to it'
    case 'doom_loop':
      return 'say in the task what to do instead, and run the command again'
    default:
      return undefined
  }
}
