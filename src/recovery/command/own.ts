/**
 * Which commands of a task a command line of the agent's is made of. A rule for more than these would let the agent run what
 * nobody has asked for, so a line with any other part in it has none.
 */
import { planCommand, type Step } from './plan.ts'

/** Words that mean themselves to every shell and every rule. */
const isPlain = (word: string): boolean => /^[\w@%+=:./-]+$/.test(word)

const stepsOf = (line: string): Step[] | undefined => {
  // What Claude names as a part of a pipe keeps its redirect.
  const plan = planCommand(line.trim().replace(/\s*2>&1$/, ''))
  return plan.ok ? plan.steps.filter(({ argv }) => argv.length > 0) : undefined
}

interface Own {
  argv: string[]
  /** As a rule can name it. */
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

/** The commands of `own` that the line consists of, each as a rule can name it; undefined = there is something else in it. */
export const ownCommandsIn = (line: string, own: readonly string[]): string[] | undefined => {
  const steps = stepsOf(line)
  if (steps === undefined || steps.length === 0) return undefined
  const known = own.flatMap(ownOf)
  const found = steps.map(({ argv }) => known.find((candidate) => begins(argv, candidate.argv))?.text)
  return found.every((text) => text !== undefined) ? [...new Set(found)] : undefined
}
