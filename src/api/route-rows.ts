/** What the rows of the table of routes have in common (routes.ts). */
import { z } from 'zod'
import type { ErrorCode } from '../errors.ts'
import * as contract from './contract.ts'

export const read = <Path extends string, Query extends z.ZodObject, Answer extends z.ZodType>(
  path: Path,
  summary: string,
  query: Query,
  answer: Answer,
) => ({
  method: 'GET' as const,
  path,
  summary,
  query,
  body: null,
  status: 200 as const,
  answer,
  errors: path.includes(':id') ? (['NOT_FOUND'] as const) : ([] as const),
  access: 'owner' as const,
  caller: 'anyone' as const,
  paged: false,
})

/** NOT_FOUND, because a filter by an unknown id is refused. */
export const list = <Path extends string, Query extends z.ZodObject, Answer extends z.ZodType>(
  path: Path,
  summary: string,
  query: Query,
  answer: Answer,
) => ({ ...read(path, summary, query, z.array(answer)), errors: ['NOT_FOUND'] as const, paged: true })

export const change = <Path extends string, Body extends z.ZodType | null, Answer extends z.ZodType>(
  path: Path,
  summary: string,
  body: Body,
  answer: Answer,
) => ({
  method: 'POST' as const,
  path,
  summary,
  query: contract.noQuery,
  body,
  status: 200 as const,
  answer,
  errors: path.includes(':id') ? (['NOT_FOUND', 'ILLEGAL', 'STALE'] as const) : ([] as readonly ErrorCode[]),
  access: 'owner' as const,
  caller: 'person' as const,
  paged: false,
})

/** Served without a token or session. */
export const open = <Row extends object>(row: Row): Omit<Row, 'access'> & { access: 'open' } => ({
  ...row,
  access: 'open',
})

/** Served to the agent of that run only. */
export const ofRun = <Row extends object>(
  row: Row,
): Omit<Row, 'access' | 'caller' | 'errors'> & {
  access: 'run'
  caller: 'anyone'
  whyAnyone: string
  errors: ErrorCode[]
} => ({
  ...row,
  access: 'run',
  caller: 'anyone',
  whyAnyone: 'it needs the token of the run, and decides nothing for a person',
  errors: ['NOT_FOUND', 'ILLEGAL', 'TOO_MANY'],
})
