/** One engine for a file of API tests: raw requests with any header, and a picture of everything that a refused one could have changed. */
import { readFileSync } from 'node:fs'
import { request, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import type { Goal, Metrics, Run, StatusView } from '../../src/api/contract.ts'
import { routes, type Route } from '../../src/api/routes.ts'
import { openScene, type Scene } from '../hostile/scene.ts'

export interface RawCall {
  method?: string
  path?: string
  headers?: Record<string, string | undefined>
  body?: string
}

export interface RawResponse {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

export interface ApiScene extends Scene {
  url: URL
  token: string
  /** With the token and as JSON, unless the headers say otherwise; undefined leaves one out. */
  call(call: RawCall): Promise<RawResponse>
  /** Counts, states and versions of everything in the store. */
  facts(): Promise<unknown>
}

const withoutTimes = (agents: StatusView['agents']): unknown[] => agents.map(({ id, state }) => [id, state])

/** The row of the table that serves a request. */
export const routeOf = (method: string, path: string): Route | undefined =>
  Object.values<Route>(routes).find(
    (route) =>
      route.method === method &&
      new RegExp(`^${route.path.replace(':id', '[^/]+').replaceAll('.', '\\.')}$`).test(path.split('?')[0] ?? ''),
  )

const given = (headers: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

export const openApiScene = async (agents: string[]): Promise<ApiScene> => {
  const scene = await openScene(agents)
  const address = JSON.parse(readFileSync(join(scene.stateDir, 'engine.json'), 'utf8')) as {
    url: string
    socket?: string
  }
  const url = new URL(address.url)
  const token = readFileSync(join(scene.stateDir, 'token'), 'utf8').trim()
  const call = ({ method = 'GET', path = '/status', headers = {}, body }: RawCall): Promise<RawResponse> =>
    new Promise((resolve, reject) => {
      const all = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers }
      const { hostname, port, host } = url
      const place = address.socket === undefined ? { hostname, port } : { socketPath: address.socket }
      const sent = request({ agent: false, ...place, method, path, headers: { host, ...given(all) } }, (answer) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  const facts = async (): Promise<unknown> => {
    const { at: _at, ...counts } = await scene.api<Metrics>('/metrics')
    const { goals, escalations, agents: slots } = await scene.api<StatusView>('/status')
    const runs = await scene.api<Run[]>('/runs')
    const versions = (rows: Pick<Goal, 'id' | 'version'>[]): unknown[] => rows.map(({ id, version }) => [id, version])
    return {
      counts,
      goals: goals.map((goal) => [goal.id, goal.state, goal.version, ...versions(goal.tasks)]),
      runs: versions(runs),
      escalations: versions(escalations),
      agents: withoutTimes(slots),
    }
  }
  return { ...scene, url, token, call, facts }
}
