/**
 * What the user's own command line forbids the agent. `unstuck exec` corrects what its user left open and nothing else: a
 * mode, a rule or a sandbox that stands on the command line (or that the CLI names in its refusal) is the user's decision.
 */
import { resolve, sep } from 'node:path'
import type { DriverName } from '../harness/capabilities.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'

export interface Restriction {
  /** A rule for a refused tool may be added. */
  tools: boolean
  /** A directory of `--allow-dir` may be added. */
  dirs: boolean
  /** The missing bits of a folder may be added: no restriction on writing is set. */
  writes: boolean
  /** The CLI's own check of the folder may be skipped. */
  trust: boolean
}

/** The values of an option, as `--flag value` and `--flag=value`. `many`: up to the next option. */
export const valuesOf = (args: readonly string[], flags: readonly string[], many = false): string[] =>
  args.flatMap((arg, at) => {
    const joined = flags.find((flag) => arg.startsWith(`${flag}=`))
    if (joined !== undefined) return [arg.slice(joined.length + 1)]
    if (!flags.includes(arg)) return []
    const rest = args.slice(at + 1)
    const end = rest.findIndex((word) => word.startsWith('-'))
    return (end < 0 ? rest : rest.slice(0, end)).slice(0, many ? undefined : 1)
  })

const names = (args: readonly string[], flags: readonly string[]): boolean =>
  args.some((arg) => flags.some((flag) => arg === flag || arg.startsWith(`${flag}=`)))

/** Modes of Claude that restrict no edit; to name the default one says no more than to name none. */
const openClaudeModes = new Set(['acceptEdits', 'auto', 'bypassPermissions', 'default'])
const claudeRules = [
  ...['--allowedTools', '--allowed-tools', '--disallowedTools', '--disallowed-tools', '--tools'],
  ...['--settings', '--setting-sources', '--permission-prompt-tool', '--agent', '--agents'],
]
const geminiRules = [
  ...['--allowed-tools', '--allowedTools', '--policy', '--admin-policy', '--adminPolicy'],
  ...['--allowed-mcp-server-names', '--sandbox', '-s'],
]

const codexSandbox = (args: readonly string[]): string | undefined => {
  const short = args.find((arg) => /^-s\S/.test(arg))?.replace(/^-s=?/, '')
  const configured = valuesOf(args, ['-c', '--config']).flatMap(
    (value) => /^\s*sandbox_mode\s*=\s*["']?([\w-]+)/.exec(value)?.[1] ?? [],
  )
  return valuesOf(args, ['-s', '--sandbox'])[0] ?? short ?? configured.at(-1)
}

const restrictions: Record<
  Exclude<DriverName, 'acp'>,
  (args: readonly string[], environment: Record<string, string | undefined>) => Restriction
> = {
  claude: (args) => {
    const [mode] = valuesOf(args, ['--permission-mode'])
    const isOpen = mode === undefined || openClaudeModes.has(mode)
    // A directory lets files be read and asked about: the mode still decides what may be written there.
    return {
      tools: isOpen && !names(args, claudeRules),
      dirs: true,
      writes: isOpen,
      trust: false,
    }
  },
  codex: (args) => {
    const writes = codexSandbox(args) !== 'read-only'
    return { tools: false, dirs: writes, writes, trust: true }
  },
  gemini: (args) => {
    const [mode] = valuesOf(args, ['--approval-mode', '--approvalMode'])
    const tools = (mode === undefined || mode === 'auto_edit' || mode === 'yolo') && !names(args, geminiRules)
    // A folder that is not trusted is the user's decision as well: Gemini asks a person for it.
    return { tools, dirs: true, writes: mode !== 'plan', trust: false }
  },
  opencode: (_args, environment) => ({
    tools: false,
    // The same variable would carry the correction, and what the user put there stays.
    dirs: environment['OPENCODE_PERMISSION'] === undefined,
    writes: true,
    trust: false,
  }),
  command: () => ({ tools: false, dirs: false, writes: true, trust: false }),
}

export const restrictionOf = (
  harness: DriverName,
  args: readonly string[],
  environment: Record<string, string | undefined>,
): Restriction => restrictions[harness === 'acp' ? 'command' : harness](args, environment)

/** Refusals in which the CLI names a decision of its user: a mode, a rule, a sandbox, wherever it was set. */
const decided = [
  / while in plan mode\./,
  / because Claude Code is running in don't ask mode/,
  /^Permission to use \w+ (?:with .+ )?has been denied/,
  / exists but is not enabled in this context/,
  /^Access denied: plan path /,
  /denied by policy/i,
  /read-only sandbox/,
  /^The user has specified a rule which prevents you/,
  /^Model tried to call unavailable tool /,
]

export const isDecided = ({ text }: Pick<ObservedDenial, 'text'>): boolean => decided.some((words) => words.test(text))

/** The denial without the corrections that the user's own restriction rules out. */
export const restrained = (denial: ObservedDenial, may: Restriction): ObservedDenial => {
  const { allowedBy, toolRules, unusable, ...rest } = denial
  const open = !isDecided(denial)
  return {
    ...rest,
    ...(allowedBy !== undefined && open && may.dirs ? { allowedBy } : {}),
    ...(toolRules !== undefined && open && may.tools ? { toolRules } : {}),
    ...(unusable !== undefined && open && may.writes ? { unusable } : {}),
  }
}

const directoryFlags: Partial<Record<DriverName, { flags: string[]; many: boolean }>> = {
  claude: { flags: ['--add-dir'], many: true },
  codex: { flags: ['--add-dir'], many: false },
  gemini: { flags: ['--include-directories', '--includeDirectories'], many: true },
}

/** Directories that the command line gives the agent already. */
export const givenDirectories = (harness: DriverName, args: readonly string[], cwd: string): string[] => {
  const known = directoryFlags[harness]
  if (known === undefined) return []
  const values = valuesOf(args, known.flags, known.many)
  return (harness === 'gemini' ? values.flatMap((value) => value.split(',')) : values).map((dir) => resolve(cwd, dir))
}

/** Directories that no given one covers. */
export const notGiven = (dirs: readonly string[], given: readonly string[]): string[] =>
  dirs.filter((dir) => !given.some((root) => dir === root || dir.startsWith(root.endsWith(sep) ? root : root + sep)))
