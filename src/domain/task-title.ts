/**
 * Titles that Unstuck gives to follow-up tasks, for people. The stored titles are those of the public vocabulary and name a pull request
 * that often does not exist; what a person wants to know is what the task is for. Pure.
 */
const forms: readonly [RegExp, string][] = [
  [/^\[AutoFix-Conflict\] PR #\d+: /, 'Solve the conflict of: '],
  [/^\[AutoFix\] PR #\d+: /, 'Correct: '],
]

export const readableTitle = (title: string): string => {
  for (const [form, words] of forms) if (form.test(title)) return `${words}${readableTitle(title.replace(form, ''))}`
  return title
}

/** Longer texts are cut, so that a line stays one. `most`: characters. */
export const abridged = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text

/** A task at the start of a sentence for people: its number, and its title as `readableTitle` shows it. */
export const taskName = ({ number, title }: { number: number; title: string }): string =>
  `Task ${number} "${readableTitle(title)}"`

/** The same inside a sentence. */
export const taskNameInside = ({ number, title }: { number: number; title: string }): string =>
  `task ${number} "${readableTitle(title)}"`
