/** A `&&` chain without the elements that cannot be run. The rest is still a requested check. Pure. */
import { parse } from 'unbash'
import { planCommand, type CommandStep } from './command-plan.ts'
import { commandText } from './replacement.ts'

/** `cd` is only understood before another command. */
const isUnderstood = (piece: string): boolean => planCommand(`${piece} && true`).ok

/**
 * For a line that the planner refuses: the elements that can be planned separately. Undefined = the line is not a chain, no
 * element would be left, or the working folder of the remaining elements would be unknown.
 */
export const plannablePart = (text: string): string | undefined => {
  const [statement, ...more] = parse(text).commands
  if (statement?.command.type !== 'AndOr' || statement.background || more.length > 0) return undefined
  const { commands, operators } = statement.command
  if (operators.some((operator) => operator !== '&&')) return undefined
  const pieces = commands.map(({ pos, end }) => text.slice(pos, end).trim())
  const refused = pieces.filter((piece) => !isUnderstood(piece))
  if (refused.length === 0 || refused.some((piece) => /^cd\b/.test(piece))) return undefined
  const rest = pieces.filter((piece) => !refused.includes(piece)).join(' && ')
  return planCommand(rest).ok ? rest : undefined
}

/** The chain without one of its steps; undefined = nothing is left. */
export const withoutStep = (text: string, step: CommandStep): string | undefined => {
  const plan = planCommand(text)
  const left = plan.ok ? plan.steps.filter((each) => JSON.stringify(each) !== JSON.stringify(step)) : []
  return left.length === 0 ? undefined : commandText(left)
}
