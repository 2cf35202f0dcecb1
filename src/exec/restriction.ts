/**
 * What the user's own command line forbids the agent. `unstuck exec` corrects only what the user left open: a mode, a rule or
 * a sandbox on the command line, or named by the CLI in its refusal, is the user's decision.
 */
import type { Restriction } from '../harness/user-command.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'

/** The denial without the corrections that the user's own restriction rules out. `decided`: sentences of the CLI that name one. */
export const restrictedDenial = (
  denial: ObservedDenial,
  may: Restriction,
  decided: readonly RegExp[],
): ObservedDenial => {
  const { allowedBy, toolRules, unusable, ...rest } = denial
  const open = !decided.some((sentence) => sentence.test(denial.text))
  return {
    ...rest,
    ...(allowedBy !== undefined && open && may.dirs ? { allowedBy } : {}),
    ...(toolRules !== undefined && open && may.tools ? { toolRules } : {}),
    ...(unusable !== undefined && open && may.writes ? { unusable } : {}),
  }
}
