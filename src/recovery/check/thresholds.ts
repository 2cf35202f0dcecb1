/** Coverage thresholds in a configuration, whatever its format: which fell, and which are gone. An agent wrote the text, so the pattern is bounded. */

const threshold =
  /["']?\b(branches|functions|lines|statements|fail[-_]under|cov-fail-under|minimumCoverage|threshold)["']?\s{0,3}[:= ]\s{0,3}["']?(-?\d+(?:\.\d+)?)/gi

const read = (text: string | undefined): Map<string, number[]> => {
  const found = new Map<string, number[]>()
  for (const [, name = '', value = ''] of (text ?? '').matchAll(threshold)) {
    const values = [...(found.get(name) ?? []), Number(value)]
    found.set(
      name,
      values.toSorted((a, b) => a - b),
    )
  }
  return found
}

/** In words; empty where none was lowered or removed. */
export const thresholdsLowered = (before: string | undefined, after: string | undefined): string => {
  const now = read(after)
  return [...read(before)]
    .map(([name, old]) => ({ name, old, left: now.get(name) ?? [] }))
    .filter(({ old, left }) => left.length < old.length || old.some((value, at) => (left[at] ?? 0) < value))
    .map(({ name, old, left }) => `${name} ${old.join('/')} -> ${left.length === 0 ? 'removed' : left.join('/')}`)
    .join('; ')
}
