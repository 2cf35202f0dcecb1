/**
 * Reads one line of a CLI's JSON output. Whatever the line is (garbage, cut, another program's), nothing here throws: a
 * field of the wrong type counts as absent, because a newer CLI must not blind us for all its other fields.
 */

export type JsonObject = Record<string, unknown>

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object on the line, or undefined when the line is no JSON object. */
export const parseLine = (line: string): JsonObject | undefined => {
  if (!line.trimStart().startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined // cut or foreign: the caller counts it
  }
}

export const textAt = (object: JsonObject | undefined, key: string): string | undefined => {
  const value = object?.[key]
  return typeof value === 'string' ? value : undefined
}

export const numberAt = (object: JsonObject | undefined, key: string): number | undefined => {
  const value = object?.[key]
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export const objectAt = (object: JsonObject | undefined, key: string): JsonObject | undefined => {
  const value = object?.[key]
  return isObject(value) ? value : undefined
}

/** The objects of a list; members of another kind are left out. */
export const objectsAt = (object: JsonObject | undefined, key: string): JsonObject[] => {
  const value = object?.[key]
  return Array.isArray(value) ? value.filter(isObject) : []
}

export const textsAt = (object: JsonObject | undefined, key: string): string[] => {
  const value = object?.[key]
  return Array.isArray(value) ? value.filter((member) => typeof member === 'string') : []
}
