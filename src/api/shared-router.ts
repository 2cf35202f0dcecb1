/** Sends each request of the shared engine to the app of one repository, by the name in its Host header. */
import type { Fetch } from './listen.ts'

/** Browsers keep what they store apart by this name, and resolve every name below `localhost` to this machine. */
export const hostNameOf = (repositoryId: string): string =>
  `r-${/[0-9a-f]{12}(-[0-9a-f]{6})?$/.exec(repositoryId)?.[0] ?? repositoryId}.localhost`

const json = (status: number, code: string, message: string): Response =>
  Response.json(
    { error: { code, message } },
    { status, headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', connection: 'close' } },
  )

export interface Router {
  fetch: Fetch
  set(host: string, fetch: Fetch): void
  delete(host: string): void
}

/** `own`: what answers under every other name; it checks that name itself. */
export const createRouter = (own: Fetch): Router => {
  const apps = new Map<string, Fetch>()
  return {
    set: (host, fetch) => void apps.set(host, fetch),
    delete: (host) => void apps.delete(host),
    fetch: (request, ...rest) => {
      const name = (request.headers.get('host') ?? '').toLowerCase().replace(/:\d+$/, '')
      const app = apps.get(name)
      if (app !== undefined) return app(request, ...rest)
      if (/^r-[\w-]+\.localhost$/.test(name))
        return json(503, 'ENGINE_UNAVAILABLE', 'this repository is not served here now; "unstuck repos" shows why')
      return own(request, ...rest)
    },
  }
}
