/** A request as a handler sees it: checked against its row of the table of routes. */
import type { z } from 'zod'
import type { RouteName, routes } from './routes.ts'

type Body<Name extends RouteName> = (typeof routes)[Name]['body'] extends z.ZodType
  ? z.output<(typeof routes)[Name]['body']>
  : undefined

export interface Call<Name extends RouteName> {
  /** Of a path with `:id`, else empty. */
  id: string
  query: z.output<(typeof routes)[Name]['query']>
  body: Body<Name>
  /** The secret that the request brought. */
  bearer: string
}
