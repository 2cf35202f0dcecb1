/** The keys of the configuration as a list: for docs/config.md, and to suggest the one that a wrong key was meant to be. */
import type { z } from 'zod'
import { configSchema, folders, harness, harnessShape } from './config-schema.ts'

export interface ConfigRow {
  key: string
  /** JSON of the default; empty where there is none. */
  default: string
  environment: string
  meaning: string
}

const standards: Record<string, unknown> = configSchema.parse({})

const rowOf = (key: string, schema: z.ZodType, standard: unknown): ConfigRow => {
  const { meaning = '', environment = '' } = (schema.meta() ?? {}) as { meaning?: string; environment?: string }
  return { key, default: standard === undefined ? '' : JSON.stringify(standard), environment, meaning }
}

const rowsOf = (folder: string, shape: Record<string, z.ZodType>): ConfigRow[] =>
  Object.entries(shape).map(([key, schema]) =>
    rowOf(`${folder}.${key}`, schema, (standards[folder] as Record<string, unknown> | undefined)?.[key]),
  )

const shapeOf = (key: string): Record<string, z.ZodType> | undefined => {
  if (key === 'harness') return { default: harness.def.in.shape.default, failover: harness.def.in.shape.failover }
  return Object.hasOwn(folders, key) ? folders[key as keyof typeof folders].shape : undefined
}

const harnessRows = (): ConfigRow[] =>
  Object.entries(harnessShape).map(([key, schema]) =>
    rowOf(`harness.<name>.${key}`, schema, schema.safeParse(undefined).data),
  )

/** All keys in the order of the schema, for docs/config.md. */
export const describeConfig = (): ConfigRow[] => [
  ...Object.entries(configSchema.shape).flatMap(([key, schema]) => {
    const shape = shapeOf(key)
    const rows = shape === undefined ? [rowOf(key, schema, standards[key])] : rowsOf(key, shape)
    return key === 'harness' ? [...rows, ...harnessRows()] : rows
  }),
  {
    key: '',
    default: '${XDG_STATE_HOME:-~/.local/state}/unstuck',
    environment: 'UNSTUCK_HOME',
    meaning: 'Folder of all stores, logs, workspaces and snapshots. Has no key: it is needed before the file is found.',
  },
  {
    key: '',
    default: '',
    environment: 'UNSTUCK_DATABASE_URL',
    meaning:
      'PostgreSQL for the store, as `--database-url`: postgresql://user:password@host:5432/database. Absent: embedded. Has no key: it holds a password.',
  },
]

/** Known keys below a path, for suggestions. */
export const configKeysAt = (path: readonly PropertyKey[]): string[] => {
  const [first, second] = path
  if (first === undefined) return Object.keys(configSchema.shape)
  if (first === 'harness' && second !== undefined) return Object.keys(harnessShape)
  return Object.keys(shapeOf(String(first)) ?? {})
}
