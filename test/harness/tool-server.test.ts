/** How each CLI is handed the tools of its run: for this launch alone, without the token in an argument or a file, and opening nothing else. */
import { describe, expect, test } from 'vitest'
import { capabilitiesOf } from '../../src/harness/capabilities.ts'
import type { Driver, LaunchLine, LaunchRequest, ToolServer } from '../../src/harness/driver.ts'
import { drivers } from '../../src/harness/drivers.ts'

const server = (inherited: Record<string, string> = {}): ToolServer => ({
  command: ['/bin/node', '/opt/un stuck/bin/unstuck.js', 'mcp'],
  tools: ['report_progress', 'ask_person'],
  variables: ['UNSTUCK_RUN_TOKEN', 'UNSTUCK_ENGINE_FILE'],
  callSeconds: 75,
  folder: '/state/runs/r-1',
  inherited: (name) => inherited[name],
})

const lineOf = (driver: Driver, toolServer?: ToolServer): LaunchLine => {
  const request: LaunchRequest = {
    can: capabilitiesOf(driver, undefined).capabilities,
    ...{ prompt: 'Work.', promptFile: '/p', workspace: '/repo', runDir: '/repo/.run', addDirs: [] },
    ...{ skipGitCheck: false, toolRules: [], commands: ['npm test'], extraArgs: [] },
    ...(toolServer === undefined ? {} : { toolServer }),
  }
  return driver.launch(request)
}

/** What the tools add to a launch line. */
const added = (driver: Driver, toolServer: ToolServer) => {
  const [plain, line] = [lineOf(driver), lineOf(driver, toolServer)]
  const argv = line.argv.filter((argument) => !plain.argv.includes(argument))
  const env = Object.fromEntries(Object.entries(line.env).filter(([name, value]) => plain.env[name] !== value))
  return { argv, env, files: line.files ?? [] }
}

const jsonIn = ({ files }: Pick<LaunchLine, 'files'>): unknown => JSON.parse(files?.[0]?.text ?? 'null')

const entry = {
  command: '/bin/node',
  args: ['/opt/un stuck/bin/unstuck.js', 'mcp'],
  env: { UNSTUCK_RUN_TOKEN: '${UNSTUCK_RUN_TOKEN}', UNSTUCK_ENGINE_FILE: '${UNSTUCK_ENGINE_FILE}' },
}

test('claude gets a file of settings, and may use these tools only', () => {
  const found = added(drivers.claude, server())
  expect(found).toMatchObject({
    argv: ['--mcp-config', '/state/runs/r-1/tools.json', 'mcp__unstuck__report_progress', 'mcp__unstuck__ask_person'],
    env: { MCP_CONNECT_TIMEOUT_MS: '20000' },
  })
  // Else a call before the server is connected fails.
  expect(jsonIn(found)).toEqual({ mcpServers: { unstuck: { ...entry, alwaysLoad: true } } })
  // The user's own servers keep working.
  expect(lineOf(drivers.claude, server()).argv).not.toContain('--strict-mcp-config')
})

test('codex gets settings for this launch, before the prompt', () => {
  expect(added(drivers.codex, server())).toEqual({
    argv: [
      'mcp_servers.unstuck.command="/bin/node"',
      'mcp_servers.unstuck.args=["/opt/un stuck/bin/unstuck.js","mcp"]',
      'mcp_servers.unstuck.env_vars=["UNSTUCK_RUN_TOKEN","UNSTUCK_ENGINE_FILE"]',
      'mcp_servers.unstuck.startup_timeout_sec=20',
      'mcp_servers.unstuck.tool_timeout_sec=75',
    ].flatMap((setting) => ['-c', setting]),
    env: {},
    files: [],
  })
  expect(lineOf(drivers.codex, server()).argv.at(-1)?.trim()).toBe('Work.')
})

test('gemini gets the settings of the lowest rank, in a file of the run', () => {
  const found = added(drivers.gemini, server())
  expect(found).toMatchObject({ argv: [], env: { GEMINI_CLI_SYSTEM_DEFAULTS_PATH: '/state/runs/r-1/tools.json' } })
  expect(jsonIn(found)).toEqual({ mcpServers: { unstuck: { ...entry, timeout: 75_000, trust: true } } })
  expect(drivers.gemini.toolServerHides).toContain('/etc/gemini-cli/system-defaults.json')
})

describe('opencode', () => {
  const own = {
    type: 'local',
    command: ['/bin/node', '/opt/un stuck/bin/unstuck.js', 'mcp'],
    environment: { UNSTUCK_RUN_TOKEN: '{env:UNSTUCK_RUN_TOKEN}', UNSTUCK_ENGINE_FILE: '{env:UNSTUCK_ENGINE_FILE}' },
    enabled: true,
    timeout: 75_000,
  }
  const contentOf = (line: { env: Record<string, string> }): unknown =>
    JSON.parse(line.env.OPENCODE_CONFIG_CONTENT ?? 'null')

  test('gets the server beside what the user configures in the environment', () => {
    const line = lineOf(drivers.opencode, server({ OPENCODE_CONFIG_CONTENT: '{"model":"a/b","mcp":{"mine":{"x":1}}}' }))
    expect(contentOf(line)).toEqual({ model: 'a/b', mcp: { mine: { x: 1 }, unstuck: own } })
    expect(contentOf(lineOf(drivers.opencode, server()))).toEqual({ mcp: { unstuck: own } })
  })

  test('may use these tools, and all other permissions are as they were', () => {
    const permissions = (line: LaunchLine): object => JSON.parse(line.env.OPENCODE_PERMISSION ?? '{}') as object
    expect(permissions(lineOf(drivers.opencode, server()))).toEqual({
      ...permissions(lineOf(drivers.opencode)),
      unstuck_report_progress: 'allow',
      unstuck_ask_person: 'allow',
    })
  })

  test.each(['{ /* mine */ }', '[]', 'null', '{'])('keeps %s of the user and gets no tools', (content) => {
    const toolServer = server({ OPENCODE_CONFIG_CONTENT: content })
    expect(lineOf(drivers.opencode, toolServer)).toEqual(lineOf(drivers.opencode))
  })
})

test('a question never gets them, and a version that was not measured with them neither', () => {
  for (const driver of [drivers.claude, drivers.codex, drivers.gemini, drivers.opencode]) {
    const { capabilities: can } = capabilitiesOf(driver, undefined)
    const request = { can, prompt: 'x', promptFile: '/p', workspace: '/repo', runDir: '/r', extraArgs: [] }
    expect(JSON.stringify(driver.question(request))).not.toContain('unstuck')
    expect(can.toolServer).toBe(true)
  }
  expect(capabilitiesOf(drivers.codex, '0.80.0').capabilities.toolServer).toBeUndefined()
})
