/**
 * Whether the `error_pattern` of a proposal fits the failure that it is about. Agents write the pattern, so it is matched with RE2,
 * which takes linear time and needs bounded memory. Pure.
 */
import { RE2JS } from 're2js'

/** Why the pattern does not fit. A proposal with a flag runs only if the owner approved its command beforehand, or a person does. */
export interface PatternFlag {
  /** `caution`: a repair that a diagnosis proposes, with a consequence that a person has to accept. */
  flag: 'not_compiled' | 'no_match' | 'caution'
  detail: string
}

const longestPattern = 4000
/** In characters, from the end, where a tool says why it failed. */
const longestOutput = 1024 * 1024

/** Undefined = it matches the output of the check that failed. */
export const flagPattern = (pattern: string, output: string): PatternFlag | undefined => {
  if (pattern.length > longestPattern)
    return { flag: 'not_compiled', detail: `error_pattern is longer than ${longestPattern} characters` }
  try {
    const found = RE2JS.compile(pattern, RE2JS.MULTILINE).matcher(output.slice(-longestOutput)).find()
    return found
      ? undefined
      : { flag: 'no_match', detail: 'error_pattern does not match the output of the failed check' }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { flag: 'not_compiled', detail: `error_pattern is no regular expression of RE2: ${why.slice(0, 200)}` }
  }
}
