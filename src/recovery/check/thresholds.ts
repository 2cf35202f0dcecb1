/** Finds lowered or removed coverage thresholds, in any format. The pattern is bounded, because an agent wrote the text. */

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

/** As prose; empty if none was lowered or removed. */
export const thresholdsLowered = (before: string | undefined, after: string | undefined): string => {
  const now = read(after)
  return [...read(before)]
    .map(([name, old]) => ({ name, old, left: now.get(name) ?? [] }))
    .filter(({ old, left }) => left.length < old.length || old.some((value, at) => (left[at] ?? 0) < value))
    .map(({ name, old, left }) => `${name} ${old.join('/')} -> ${left.length === 0 ? 'removed' : left.join('/')}`)
    .join('; ')
}
