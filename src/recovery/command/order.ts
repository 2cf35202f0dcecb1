/** Reorders checks, where one needs the output of another. All of them still run. Pure. */
import { isBuild, isCleanUp } from '../diagnosis/argv.ts'

/**
 * Moves the check at `index` to where its input exists: after a later build, or before an earlier clean-up. Undefined = no
 * order of these commands helps.
 */
export const reordered = (plan: readonly string[], index: number): string[] | undefined => {
  const command = plan[index]
  if (command === undefined) return undefined
  const rest = plan.filter((_other, at) => at !== index)
  const build = rest.findIndex((other, at) => at >= index && isBuild(other))
  if (build !== -1) return [...rest.slice(0, build + 1), command, ...rest.slice(build + 1)]
  const clean = rest.slice(0, index).findLastIndex(isCleanUp)
  return clean === -1 ? undefined : [...rest.slice(0, clean), command, ...rest.slice(clean)]
}

/** The plan with `build` right before `command`. */
export const builtFirst = (plan: readonly string[], command: string, build: string): string[] =>
  plan.flatMap((each) => (each === command ? [build, each] : [each]))

/** The checks of a task as a correction orders them, with its build. */
export const reorderedBy = (
  commands: readonly string[],
  { order, build }: { order: readonly string[]; build?: string },
): string[] => inOrder(build === undefined || commands.includes(build) ? commands : [build, ...commands], order)

/** `commands` in the order of `plan`; commands that are not in the plan follow in their own order. */
export const inOrder = (commands: readonly string[], plan: readonly string[]): string[] => [
  ...plan.filter((command) => commands.includes(command)),
  ...commands.filter((command) => !plan.includes(command)),
]
