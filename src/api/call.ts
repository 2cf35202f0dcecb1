/** What a handler receives and returns, both checked against its row of the table of routes. */
import type { z } from 'zod'
import type { RouteName, routes } from './routes.ts'

type Routes = typeof routes

type Body<Name extends RouteName> = Routes[Name]['body'] extends z.ZodType ? z.output<Routes[Name]['body']> : undefined

export interface HandlerCall<Name extends RouteName> {
  /** Of a path with `:id`, else empty. */
  id: string
  query: z.output<Routes[Name]['query']>
  body: Body<Name>
  /** The secret that the request brought. */
  bearer: string
}

/** Pages, the OpenAPI document and what needs the connection itself are made in app.ts. */
type Handled = Exclude<RouteName, 'home' | 'asset' | 'openapi' | 'reportRefusal' | 'showAnswer' | 'answerByLink'>
export type Handlers = { [Name in Handled]: (call: HandlerCall<Name>) => Promise<unknown> }

/** What JSON makes of a value: a date becomes an ISO string. */
export type AsJson<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? AsJson<Item>[]
    : T extends object
      ? { [Key in keyof T]: AsJson<T[Key]> }
      : T

type Schema<Name extends Handled> = z.output<Routes[Name]['answer']>

/**
 * `never` for each handler whose value, as JSON, is not what the schema of its route says: a field is missing, has another
 * type, or is not in the schema. A recovery is compared in one direction, because its action is as open as its playbook makes it.
 */
export type Conforming<All extends Handlers> = {
  [Name in Handled]: AsJson<Awaited<ReturnType<All[Name]>>> extends Schema<Name>
    ? Name extends 'listRecoveries'
      ? All[Name]
      : Schema<Name> extends AsJson<Awaited<ReturnType<All[Name]>>>
        ? All[Name]
        : never
    : never
}
