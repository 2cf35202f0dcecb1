/**
 * The dashboard from its sources: vite serves the page and reloads it after a change, and passes everything else to the engine. The page
 * gets the content policy of the engine, so that what the policy forbids fails here as well.
 */
import { join } from 'node:path'
import { createLogger, createServer, type Logger, type Plugin, type ProxyOptions, type ViteDevServer } from 'vite'
import { contentPolicy } from '../../src/api/html-pages.ts'
import { routes } from '../../src/api/routes.ts'
import { repositoryRoot } from '../root.ts'

const wantedPort = 5173
/** Lets vite insert styles, which the policy allows only as files. */
const nonce = 'development'

/** The page itself comes from vite. */
const ofThePage = new Set(['/', '/assets/:id'])

const patternOf = (path: string): string => `^${path.replaceAll(':id', '[^/?]+')}(?:\\?|$)`

/** The engine answers only requests that name it as Host and Origin. A foreign page keeps its Origin, and is refused as ever. */
const proxyTo = (engine: URL, own: () => string | undefined): ProxyOptions => ({
  target: engine.origin,
  changeOrigin: true,
  configure: (proxy) => {
    proxy.on('proxyReq', (request) => {
      if (request.getHeader('origin') === own()) request.setHeader('origin', engine.origin)
    })
  },
})

/** A page proves its login for the port of the engine, which is not that of vite: else it would be logged out by each restart. */
const provesToEngine = ({ port }: URL): Plugin => ({
  name: 'unstuck-login',
  transform: {
    filter: { id: /\/dashboard\/data\/session\.ts$/ },
    handler: (code) => code.replace('location.port', JSON.stringify(port)),
  },
})

/** An open page polls the engine while it restarts, and each refused connection would be three lines. */
const withoutRefusals = (): Logger => {
  const logger = createLogger('warn')
  const { error } = logger
  logger.error = (message, options) => {
    if ((options?.error as NodeJS.ErrnoException | undefined)?.code !== 'ECONNREFUSED') error(message, options)
  }
  return logger
}

/** `engine`: its address, which it keeps when it is restarted. */
export const serveDashboard = async (engine: URL): Promise<{ server: ViteDevServer; url: URL }> => {
  let address: URL | undefined
  const proxy = proxyTo(engine, () => address?.origin)
  const paths = new Set(Object.values(routes).map(({ path }) => path))
  const proxied = [...paths].filter((path) => !ofThePage.has(path)).map((path) => [patternOf(path), proxy])
  const before = process.listeners('SIGTERM')
  const server = await createServer({
    ...{ configFile: join(repositoryRoot, 'dashboard', 'vite.config.ts'), configLoader: 'native' },
    ...{
      customLogger: withoutRefusals(),
      clearScreen: false,
      html: { cspNonce: nonce },
      plugins: [provesToEngine(engine)],
    },
    server: {
      ...{ host: '127.0.0.1', port: wantedPort, cors: false, proxy: Object.fromEntries(proxied) },
      // What it shows is also in the terminal, and the policy forbids how it shows it.
      hmr: { overlay: false },
      headers: {
        'content-security-policy': contentPolicy('app').replace("style-src 'self'", `$& 'nonce-${nonce}'`),
      },
    },
  })
  // Vite would exit at once, before the engine and its agents have ended and their folder is removed.
  for (const listener of process.listeners('SIGTERM')) if (!before.includes(listener)) process.off('SIGTERM', listener)
  await server.listen()
  address = new URL(server.resolvedUrls?.local[0] ?? '')
  return { server, url: address }
}
