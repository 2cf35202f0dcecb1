/** The order of checks, where one needs what another makes. Nothing is left out by it: the same checks run. Pure. */
import { builds, cleans } from '../diagnosis/argv.ts'

/**
 * The plan with the check at `index` where what it needs is there: behind the build that comes later, or before the clean
 * that came earlier. Undefined = no order of these commands would help.
 */
export const reordered = (plan: readonly string[], index: number): string[] | undefined => {
  const command = plan[index]
  if (command === undefined) return undefined
  const rest = plan.filter((_other, at) => at !== index)
  const build = rest.findIndex((other, at) => at >= index && builds(other))
  if (build !== -1) return [...rest.slice(0, build + 1), command, ...rest.slice(build + 1)]
  const clean = rest.slice(0, index).findLastIndex(cleans)
  return clean === -1 ? undefined : [...rest.slice(0, clean), command, ...rest.slice(clean)]
}

/** `commands` in the order of `plan`; what the plan does not know keeps its place behind. */
export const inOrder = (commands: readonly string[], plan: readonly string[]): string[] => [
  ...plan.filter((command) => commands.includes(command)),
  ...commands.filter((command) => !plan.includes(command)),
]
