/**
 * Which of the task's commands an agent's command line consists of. A permission rule for anything else would let the agent
 * run commands that the task does not contain, so a line with any other part gets no rule.
 */
import { planCommand, type CommandStep } from './command-plan.ts'

/** Words without special meaning in any shell or rule. */
const isPlain = (word: string): boolean => /^[\w@%+=:./-]+$/.test(word)

const stepsOf = (line: string): CommandStep[] | undefined => {
  // Claude names one part of a pipe together with its redirect.
  const plan = planCommand(line.trim().replace(/\s*2>&1$/, ''))
  return plan.ok ? plan.steps.filter(({ argv }) => argv.length > 0) : undefined
}

interface Own {
  argv: string[]
  /** The form for a permission rule. */
  text: string
}

const ownOf = (line: string): Own[] => {
  const steps = stepsOf(line) ?? []
  return steps.flatMap(({ argv }) => {
    if (argv.every(isPlain)) return { argv, text: argv.join(' ') }
    return steps.length === 1 ? { argv, text: line.trim() } : []
  })
}

const begins = (argv: readonly string[], with_: readonly string[]): boolean =>
  with_.length > 0 && with_.every((word, at) => argv[at] === word)

/** The commands of `own` that the line consists of, each in the form for a rule; undefined = the line contains something else. */
export const taskCommandsIn = (line: string, own: readonly string[]): string[] | undefined => {
  const steps = stepsOf(line)
  if (steps === undefined || steps.length === 0) return undefined
  const known = own.flatMap(ownOf)
  const found = steps.map(({ argv }) => known.find((candidate) => begins(argv, candidate.argv))?.text)
  return found.every((text) => text !== undefined) ? [...new Set(found)] : undefined
}
