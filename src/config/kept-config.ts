/**
 * Reads a loaded configuration that an engine kept over a restart. It is validated as a file is, since another version may have written
 * it: keys that it lacks get their defaults, and one that this version does not know makes it useless.
 */
import { configSchema, sections, type Config } from './config-schema.ts'

type Layer = Record<string, unknown>

const layerOf = (value: unknown): Layer =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Layer) : {}

/** After loading, no limit is an absent one; in a file it is -1, and an absent one is the default. */
const noLimits = Object.fromEntries(Object.keys(sections.limits.shape).map((key) => [key, -1]))

/** Undefined = this version cannot read it. */
export const readKeptConfig = (kept: unknown): Config | undefined => {
  const { harness, limits, ...rest } = layerOf(kept)
  const { named, ...chosen } = layerOf(harness)
  const written = {
    ...rest,
    harness: { ...chosen, ...layerOf(named) },
    limits: { ...noLimits, ...layerOf(limits) },
  }
  return configSchema.safeParse(written).data
}
