/** What a proposed command may look like. Shared by the proposal that an agent writes and the lists that the owner writes. */

/** In characters. A longer command is a script, which no list of commands can judge. */
export const longestCommand = 4096

export const longestTimeoutSeconds = 3600
export const defaultTimeoutSeconds = 120

/** Why a text cannot be a command; undefined = it can. Nothing is trimmed or normalised: the text that is judged is the text that runs. */
export const whyNoCommand = (text: string): string | undefined => {
  if (text.trim() === '') return 'it is empty'
  if (/\p{Cc}/u.test(text)) return 'it contains a control character'
  // Half of a surrogate pair has no bytes of its own: what would run differs from what was judged.
  if (!text.isWellFormed()) return 'it contains half of a character'
  return text.length > longestCommand ? `it is longer than ${longestCommand} characters` : undefined
}
