/**
 * Shared by the drivers for a question: a launch in the CLI's read-only mode, in a fresh session, that changes no file and runs no
 * command that could. The owner's further arguments configure providers and models, so they are kept, but none of them may widen
 * what the question may do.
 */
interface Widening {
  /** Options without a value. */
  flags?: readonly string[]
  /** Options with one value. */
  valued?: readonly string[]
  /** Options that take every value up to the next option. */
  many?: readonly string[]
}

/** How many arguments the option at this position takes, itself included; 0 = it is kept. */
const lengthAt = (args: readonly string[], at: number, { flags = [], valued = [], many = [] }: Widening): number => {
  const arg = args[at] ?? ''
  const isJoined = (flag: string): boolean =>
    arg.startsWith(`${flag}=`) || (/^-\w$/.test(flag) && isAttached(arg, flag))
  if (flags.includes(arg) || [...valued, ...many].some(isJoined)) return 1
  if (valued.includes(arg)) return 2
  if (!many.includes(arg)) return 0
  const next = args.findIndex((word, index) => index > at && word.startsWith('-'))
  return (next < 0 ? args.length : next) - at
}

/** `-sread-only`: a short option with its value in the same argument. */
const isAttached = (arg: string, flag: string): boolean => arg.length > flag.length && arg.startsWith(flag)

/** The arguments without the options that would allow more than reading, or would resume a session. */
export const narrowedArgs = (args: readonly string[], widening: Widening): string[] => {
  const kept: string[] = []
  for (let at = 0; at < args.length;) {
    const taken = lengthAt(args, at, widening)
    if (taken === 0) kept.push(args[at] ?? '')
    at += Math.max(1, taken)
  }
  return kept
}

/** An override of the model replaces the owner's option: some CLIs refuse an option that is given twice. */
export const withoutModel = (args: readonly string[], model: string | undefined): string[] =>
  model === undefined ? [...args] : narrowedArgs(args, { valued: ['-m', '--model'] })
