/**
 * The work of `unstuck sim <script>`: reads the script, starts the server, and tells how to point each agent CLI at it.
 * Starts no process and prints nothing itself; it serves until the caller closes it.
 */
import { readScript } from './script.ts'
import type { Sim, SimRequest } from './server.ts'
import { startSim } from './server.ts'

export interface Pointers {
  url: string
  claude: { env: Record<string, string>; flags: string[] }
  codex: { env: Record<string, string>; flags: string[] }
  gemini: { env: Record<string, string>; flags: string[] }
  opencode: { env: Record<string, string>; flags: string[] }
}

/** Uses a provider that is built into OpenCode, so that nothing is downloaded, and the same model for titles. */
const opencodeConfig = (url: string): string =>
  JSON.stringify({
    autoupdate: false,
    share: 'disabled',
    model: 'sim/m1',
    small_model: 'sim/m1',
    provider: {
      sim: {
        npm: '@ai-sdk/openai-compatible',
        name: 'sim',
        options: { baseURL: `${url}/v1`, apiKey: 'sk-sim' },
        models: { m1: { name: 'm1', tool_call: true, limit: { context: 200_000, output: 8_000 } } },
      },
    },
  })

/** Environment and flags that make the real CLIs talk to the server at `url`. */
export const pointersTo = (url: string): Pointers => ({
  url,
  claude: {
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'sk-ant-sim', DISABLE_AUTOUPDATER: '1' },
    flags: [],
  },
  codex: {
    env: { OPENAI_API_KEY: 'sk-sim' },
    flags: [
      '-m',
      'gpt-5.5',
      '-c',
      'model_provider=sim',
      '-c',
      `model_providers.sim={name="sim",base_url="${url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`,
    ],
  },
  // A different base URL makes the CLI choose another kind of login, unless its settings contain `security.auth.selectedType`.
  gemini: { env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'sim' }, flags: ['-m', 'gemini-2.5-pro'] },
  opencode: { env: { OPENCODE_CONFIG_CONTENT: opencodeConfig(url) }, flags: [] },
})

export interface SimulateOptions {
  scriptPath: string
  port?: number
  /** Called when the server listens; the CLI prints the pointers as one JSON line. */
  onReady: (pointers: Pointers) => void
  onRequest?: (request: SimRequest) => void
}

/** Serves a script file until `close` is called. */
export const simulate = async ({ scriptPath, port = 0, onReady, onRequest }: SimulateOptions): Promise<Sim> => {
  const script = readScript(scriptPath)
  const sim = await startSim({ script, port, ...(onRequest === undefined ? {} : { log: onRequest }) })
  onReady(pointersTo(sim.url))
  return sim
}
