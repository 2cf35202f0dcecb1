/** What a user can do about a refusal, in the options of the CLI that refused. */
import { dirname } from 'node:path'
import type { DriverName } from '../harness/capabilities.ts'
import { commandParts } from '../harness/tool-rules.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'

/** What a refusal says and what it was about. */
export type Refused = Pick<ObservedDenial, 'kind' | 'tool' | 'text'> &
  Partial<Pick<ObservedDenial, 'target' | 'directory'>>

/** As one word for a shell. */
const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

const doubleQuoted = (text: string): string => (/["$`\\!]/.test(text) ? quoted(text) : `"${text}"`)

/** The folder to allow: the existing one, else the one that holds the path. */
const folderOf = ({ directory, target }: Refused): string =>
  directory ?? (target === undefined ? '<dir>' : dirname(target))

const orAllow = (option: string, refused: Refused): string =>
  `add ${option} to the agent's command, or run unstuck exec --allow-dir ${quoted(folderOf(refused))} -- …`

type Remedy = (refused: Refused, open: { stderr: readonly string[] }) => string

const edits = new Set(['Edit', 'MultiEdit', 'NotebookEdit', 'Write'])

const claudeTool = ({ tool, target, text }: Refused): string => {
  if (text.includes('while in plan mode')) return 'choose another mode, such as --permission-mode acceptEdits'
  if (text.includes('is not enabled in this context'))
    return `remove ${tool} from --disallowedTools, or add it to --tools`
  if (/^Permission to use \w+ (?:with .+ )?has been denied/.test(text) && !text.includes("in don't ask mode"))
    return `remove the rule that denies ${tool} (--disallowedTools, or permissions.deny in the settings)`
  // The redirection of a shell is refused as a write to its file, whatever the command was.
  if (edits.has(tool) || text.startsWith('Output redirection to ')) return 'add --permission-mode acceptEdits'
  const rules = tool === 'Bash' && target !== undefined ? commandParts(target).map((part) => `Bash(${part}:*)`) : [tool]
  return `add --allowedTools ${rules.map(doubleQuoted).join(' ')}`
}

const claude: Remedy = (refused) =>
  refused.kind === 'scope' ? orAllow(`--add-dir ${quoted(folderOf(refused))}`, refused) : claudeTool(refused)

const codex: Remedy = (refused) => {
  if (refused.kind === 'tool' && /read-only sandbox/.test(refused.text)) return 'add -s workspace-write'
  if (refused.kind === 'scope' || refused.target !== undefined)
    return `add -s workspace-write, and for a folder outside --add-dir ${quoted(folderOf(refused))} (or unstuck exec --allow-dir ${quoted(folderOf(refused))} -- …)`
  return 'choose a wider sandbox, such as -s workspace-write'
}

const gemini: Remedy = (refused) => {
  const { kind, tool, target } = refused
  if (kind === 'scope') return orAllow(`--include-directories ${quoted(folderOf(refused))}`, refused)
  if (tool !== 'run_shell_command') return 'add --approval-mode auto_edit'
  return target === undefined
    ? 'add --approval-mode yolo'
    : `add ${commandParts(target)
        .map((part) => `--allowed-tools ${doubleQuoted(`run_shell_command(${part})`)}`)
        .join(' ')}`
}

/** OpenCode names the permission on its standard error. */
const requested = /permission requested: (\w+) \((.*)\); auto-rejecting/

const opencode: Remedy = (refused, { stderr }) => {
  const [, permission, pattern] = stderr.map((line) => requested.exec(line)).findLast((found) => found !== null) ?? []
  const { kind, text, tool } = refused
  const isOutside = kind === 'scope' || permission === 'external_directory'
  const key = isOutside ? 'external_directory' : (permission ?? (tool === 'write' ? 'edit' : tool))
  const dir = kind === 'scope' ? folderOf(refused) : (pattern ?? '').replace(/\/\*+$/, '')
  const value = isOutside && dir !== '' ? `{ "${dir}/**": "allow" }` : '"allow"'
  const setting = `set "permission": { "${key}": ${value} } in opencode.json`
  // `--auto` allows what would be asked, and nothing that is denied.
  return text.startsWith('The user rejected permission') ? `${setting}, or add --auto` : setting
}

const remedies: Partial<Record<DriverName, Remedy>> = { claude, codex, gemini, opencode }

/** What to do, as the rest of "To allow it: …". */
export const remedyOf = (harness: DriverName, refused: Refused, stderr: readonly string[] = []): string => {
  const { kind, target } = refused
  if (kind === 'safety') return 'nothing allows this; change the task'
  if (kind === 'filesystem')
    return target === undefined
      ? 'correct the mode or the owner of the folder'
      : `make ${quoted(folderOf(refused))} writable for this user: chmod u+rwx ${quoted(folderOf(refused))}`
  return remedies[harness]?.(refused, { stderr }) ?? 'allow it by the options of that program'
}

/** What was refused, by its path or command. */
export const refusedThing = ({ tool, target, text }: { tool: string; target?: string | null; text: string }): string =>
  target ?? (tool === '' ? `something ("${text}")` : `the tool ${tool}`)

const logins: Partial<Record<DriverName, string>> = {
  claude: 'run "claude" and then /login, or set ANTHROPIC_API_KEY; then run the command again',
  codex: 'run "codex login", or set CODEX_API_KEY; then run the command again',
  gemini: 'set GEMINI_API_KEY, or log in by running "gemini"; then run the command again',
  opencode: 'run "opencode auth login", or set the key of its provider; then run the command again',
}

const trust: Partial<Record<DriverName, string>> = {
  codex: 'add --skip-git-repo-check to the command, or run it inside a git repository',
  gemini: 'if you trust this folder, add --skip-trust to the command or set GEMINI_CLI_TRUST_WORKSPACE=true',
}

/** What a person can do about a failure of this label; undefined where only the CLI's own words help. */
export const adviceFor = (harness: DriverName, label: string): string | undefined => {
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
