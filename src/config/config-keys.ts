/** Lists the keys of the configuration: for docs/config.md, and to suggest the nearest key for an unknown one. */
import type { z } from 'zod'
import { logLevels, logRooms } from './log-levels.ts'
import { configSchema, sections, harnessSchema, harnessShape } from './config-schema.ts'

export interface ConfigRow {
  key: string
  /** The default as JSON; empty where there is none. */
  default: string
  environment: string
  meaning: string
}

const defaults: Record<string, unknown> = configSchema.parse({})

const rowOf = (key: string, schema: z.ZodType, fallback: unknown): ConfigRow => {
  const { meaning = '', environment = '' } = (schema.meta() ?? {}) as { meaning?: string; environment?: string }
  return { key, default: fallback === undefined ? '' : JSON.stringify(fallback), environment, meaning }
}

const rowsOf = (folder: string, shape: Record<string, z.ZodType>): ConfigRow[] =>
  Object.entries(shape).map(([key, schema]) =>
    rowOf(
      `${folder}.${key}`,
      schema,
      // An optional section has no defaults of its own, but its keys have.
      folder in defaults ? (defaults[folder] as Record<string, unknown>)[key] : schema.safeParse(undefined).data,
    ),
  )

const shapeOf = (key: string): Record<string, z.ZodType> | undefined => {
  if (key === 'harness')
    return { default: harnessSchema.def.in.shape.default, failover: harnessSchema.def.in.shape.failover }
  return Object.hasOwn(sections, key) ? sections[key as keyof typeof sections].shape : undefined
}

const harnessRows = (): ConfigRow[] =>
  Object.entries(harnessShape).map(([key, schema]) =>
    rowOf(`harness.<name>.${key}`, schema, schema.safeParse(undefined).data),
  )

/** All keys in the order of the schema, then the settings that have a variable and no key. */
export const describeConfig = (): ConfigRow[] => [
  ...Object.entries(configSchema.shape).flatMap(([key, schema]) => {
    const shape = shapeOf(key)
    const rows = shape === undefined ? [rowOf(key, schema, defaults[key])] : rowsOf(key, shape)
    return key === 'harness' ? [...rows, ...harnessRows()] : rows
  }),
  {
    key: '',
    default: '${XDG_STATE_HOME:-~/.local/state}/unstuck',
    environment: 'UNSTUCK_HOME',
    meaning:
      'Folder of all stores, logs, workspaces and snapshots. Not a key, because it is needed before the file is found.',
  },
  {
    key: '',
    default: '',
    environment: 'UNSTUCK_DATABASE_URL',
    meaning:
      'Keeps the store in PostgreSQL, like `--database-url`: postgresql://user:password@host:5432/database. Default: embedded. Not a key, because it contains a password.',
  },
  {
    key: '',
    default: 'info',
    environment: 'UNSTUCK_LOG',
    meaning: `Level of engine.log: ${logLevels.join(', ')}. A room (${logRooms.join(', ')}) can have its own, as in \`info,git=debug\`; \`store=trace\` logs every SQL statement. Read when the engine starts. Not a key, because the log is opened before the file is read.`,
  },
]

/** The keys that are allowed below a path; empty where there are none. */
export const configKeysAt = (path: readonly PropertyKey[]): string[] => {
  const [first, second] = path
  if (first === undefined) return Object.keys(configSchema.shape)
  if (first === 'harness' && second !== undefined) return Object.keys(harnessShape)
  return Object.keys(shapeOf(String(first)) ?? {})
}
