/**
 * The command line of an agent CLI as a person typed it behind `unstuck exec --`. Each driver describes it with the type
 * `UserCommand`; the functions find and replace single arguments in it. Everything else of the line stays as it is.
 */
import type { LaunchCorrections } from '../domain/run.ts'

/** What a relaunch changes in the line; the first launch has no corrections and no hint. */
export interface LineChange {
  corrections: LaunchCorrections
  /**
   * `text` replaces the task where `session` is resumed, and is appended to the task otherwise.
   * `fresh`: resume no session at all, not even one that the user named.
   */
  hint?: { text: string; session?: string; fresh?: true }
}

export interface ChangedArguments {
  args: string[]
  /** Added to the user's environment, which wins where both set a variable. */
  env: Record<string, string>
  /** False = the whole task is given again, to a session of its own. */
  resumed: boolean
}

/** Which corrections the user's own line leaves open. */
export interface Restriction {
  /** A rule for a refused tool may be added. */
  tools: boolean
  /** A directory of `--allow-dir` may be added. */
  dirs: boolean
  /** The missing mode bits of a folder may be added: the line does not restrict writing. */
  writes: boolean
  /** The CLI's own check of the folder may be skipped. */
  trust: boolean
}

export interface UserCommand {
  /** The headless form, shown to a user who gave an interactive one. */
  form: string
  isHeadless(args: string[]): boolean
  /** The same line with events requested and the change applied. */
  line(args: string[], change: LineChange): ChangedArguments
  restriction(args: readonly string[], environment: Record<string, string | undefined>): Restriction
  /** Directories that the line opens already, as written. Absent = the CLI has no option for it. */
  directories?(args: readonly string[]): string[]
  /** Refusals in which the CLI names a decision of its user (a mode, a rule, a sandbox): they are never corrected. */
  decided: readonly RegExp[]
  /** Refused writes, by the tool or by the CLI's sentence: while one of them is missing, the work is not done. */
  writes: { tools: readonly string[]; text?: RegExp }
  /** How a person gets past the CLI's check of the folder, as the rest of "To trust <folder>: …". */
  trustAdvice?: string
}

export const hasFlag = (args: string[], ...flags: string[]): boolean => args.some((arg) => flags.includes(arg))

/** The line without options that take a value, in either spelling. */
export const withoutValued = (args: string[], ...flags: string[]): string[] =>
  args.filter(
    (arg, at) =>
      !flags.includes(arg) && !flags.includes(args[at - 1] ?? '') && !flags.some((flag) => arg.startsWith(`${flag}=`)),
  )

/** Inserts options before a lone `--`, because nothing behind it is read as an option. */
export const withOptions = (args: string[], more: string[]): string[] => {
  const at = args.indexOf('--')
  return at < 0 ? [...args, ...more] : [...args.slice(0, at), ...more, ...args.slice(at)]
}

const isWord = (arg: string | undefined): boolean => arg !== undefined && !arg.startsWith('-')

/** Puts the hint at the position of the prompt; -1 = the prompt was not found, and the line stays as it is. */
export const withHint = (args: string[], at: number, hint: LineChange['hint']): string[] => {
  if (hint === undefined || at < 0) return args
  return args.with(at, hint.session === undefined ? `${args[at] ?? ''}\n\n${hint.text}` : hint.text)
}

/** Position of the prompt in `-p <prompt>`; -1 = it is elsewhere and could be the value of an option. */
export const promptAfter = (args: string[], ...flags: string[]): number => {
  const at = args.findIndex((arg) => flags.includes(arg))
  return at >= 0 && isWord(args[at + 1]) ? at + 1 : -1
}

/** Position of the prompt as the last argument; -1 = that argument could be the value of an option. `switches` take no value. */
export const lastWord = (args: string[], after: number, switches: string[]): number => {
  const last = args.length - 1
  const before = args[last - 1] ?? ''
  const free = last - 1 === after || isWord(before) || switches.includes(before)
  return last > after && isWord(args[last]) && free ? last : -1
}

/** The values of an option, as `--flag value` and `--flag=value`. `many`: all values up to the next option. */
export const optionValues = (args: readonly string[], flags: readonly string[], many = false): string[] =>
  args.flatMap((arg, at) => {
    const joined = flags.find((flag) => arg.startsWith(`${flag}=`))
    if (joined !== undefined) return [arg.slice(joined.length + 1)]
    if (!flags.includes(arg)) return []
    const rest = args.slice(at + 1)
    const end = rest.findIndex((word) => word.startsWith('-'))
    return (end < 0 ? rest : rest.slice(0, end)).slice(0, many ? undefined : 1)
  })

/** Whether the line has one of these options, in either spelling. */
export const hasOption = (args: readonly string[], flags: readonly string[]): boolean =>
  args.some((arg) => flags.some((flag) => arg === flag || arg.startsWith(`${flag}=`)))
