/** The one place in which two texts differ, as a patch of whole lines with the lines around it. Pure. */

const around = 3

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/))

const equalAtStart = (one: readonly string[], other: readonly string[]): number => {
  const end = one.findIndex((line, index) => line !== other[index])
  return end < 0 ? one.length : end
}

/** '' = they have the same lines. */
export const changedLines = (before: string, after: string): string => {
  const [old, now] = [linesOf(before), linesOf(after)]
  const start = equalAtStart(old, now)
  if (start === old.length && start === now.length) return ''
  const tail = Math.min(equalAtStart(old.toReversed(), now.toReversed()), old.length - start, now.length - start)
  const from = Math.max(0, start - around)
  const [oldEnd, newEnd] = [old.length - tail, now.length - tail]
  const shownAfter = old.slice(oldEnd, oldEnd + around)
  const lines = [
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, oldEnd).map((line) => `-${line}`),
    ...now.slice(start, newEnd).map((line) => `+${line}`),
    ...shownAfter.map((line) => ` ${line}`),
  ]
  const size = (end: number): string => `${from + 1},${end - from + shownAfter.length}`
  return `@@ -${size(oldEnd)} +${size(newEnd)} @@\n${lines.join('\n')}\n`
}
