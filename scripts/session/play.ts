/** Plays the session that README shows: a real engine, a real repository, and an agent that fails twice before it is done. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const checkout = fileURLToPath(new URL('../../', import.meta.url))
export const width = 104

export interface PlayedCommand {
  command: string
  /** With colours. */
  output: string
  status: number
}

const files = (folder: string): Record<string, string> => ({
  'package.json': JSON.stringify({ private: true, type: 'module', scripts: { test: 'node --test' } }),
  'src/date.js': 'export const parseDate = (text) => new Date(`${text}T00:00:00Z`)\n',
  'test/date.test.js': `import assert from 'node:assert/strict'
import test from 'node:test'
import { parseDate } from '../src/date.js'

test('a date is midnight in UTC', () => assert.equal(parseDate('2026-03-02').getUTCHours(), 0))
test('a date with a zone', () => assert.equal(parseDate('2026-03-02', '+02:00').getUTCHours(), 22))
`,
  '.gitignore': '.unstuck/\n',
  '.unstuck/config.json': JSON.stringify({
    harness: {
      default: 'claude',
      claude: { command: [process.execPath, join(checkout, 'scripts/session/agent.ts'), join(folder, 'memory')] },
    },
    retry: { transientBaseSeconds: 2 },
  }),
})

const makeRepository = async (folder: string): Promise<string> => {
  const root = join(folder, 'dates')
  for (const [path, content] of Object.entries(files(folder))) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  mkdirSync(join(folder, 'memory'))
  const git = execa({ cwd: root, env: { HOME: folder, GIT_CONFIG_NOSYSTEM: '1' } })
  await git`git init --quiet --template= --initial-branch=main`
  await git`git add --all`
  await git`git -c user.name=Demo -c user.email=demo@example.invalid commit --quiet --message=Begin`
  return root
}

/** `folder` is empty; `home` is the state folder of the engine, which has stopped when this returns. */
export const playSession = async (folder: string, home: string): Promise<PlayedCommand[]> => {
  const root = await makeRepository(folder)
  const env = {
    ...{ PATH: process.env.PATH ?? '', HOME: folder, UNSTUCK_HOME: home, TZ: 'UTC' },
    ...{ FORCE_COLOR: '1', COLUMNS: String(width), XDG_CACHE_HOME: join(checkout, 'node_modules', '.cache') },
  }
  const unstuck = async (...args: string[]): Promise<PlayedCommand> => {
    const ended = await execa(process.execPath, [join(checkout, 'bin/unstuck.js'), ...args], {
      ...{ cwd: root, env, extendEnv: false, reject: false, stdin: 'ignore', all: true },
    })
    const shown = args.map((arg) => (/\s/.test(arg) ? `"${arg}"` : arg)).join(' ')
    return { command: `unstuck ${shown}`, output: ended.all, status: ended.exitCode ?? -1 }
  }
  try {
    const run = await unstuck('run', 'Make the failing test of parseDate pass', '--merge')
    return [run, await unstuck('report', '--since', '1h')]
  } finally {
    await unstuck('stop')
  }
}
