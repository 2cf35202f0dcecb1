/**
 * Parses one line of a CLI's JSON output. Nothing here throws, whatever the line is (garbage, cut, of another program). A field of
 * the wrong type counts as absent, so that one changed field of a newer CLI does not hide all the others.
 */

export type JsonObject = Record<string, unknown>

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The JSON object of the line; undefined when the line is anything else. */
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

/** The objects of a list; other members are left out. */
export const objectsAt = (object: JsonObject | undefined, key: string): JsonObject[] => {
  const value = object?.[key]
  return Array.isArray(value) ? value.filter(isObject) : []
}

export const textsAt = (object: JsonObject | undefined, key: string): string[] => {
  const value = object?.[key]
  return Array.isArray(value) ? value.filter((member) => typeof member === 'string') : []
}
