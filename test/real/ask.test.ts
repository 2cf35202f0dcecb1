/**
 * One question to the real Claude Code and the real Codex, against the scripted model server: the model reads a file, tries to write
 * and to run a command that writes, and answers.
 */
import { mkdirSync, mkdtempSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { installClis } from '../../scripts/install-clis.ts'
import { parseScript, type ScriptInput } from '../../sim/script.ts'
import { pointersTo } from '../../sim/simulate.ts'
import { startSim, type Sim } from '../../sim/server.ts'
import { ask, type AskRequest } from '../../src/runtime/agent/ask.ts'
import type { Db } from '../../src/store/db.ts'
import { openAskScene, type AskScene } from '../runtime/ask-scene.ts'
import { user } from '../workspace/scene.ts'
import { openTestDb } from '../support/test-db.ts'
import { shortened } from '../support/form.ts'

const clis = installClis(process.env)
const schema = z.strictObject({ decision: z.enum(['allow', 'deny']) })

const folder = mkdtempSync(join(tmpdir(), 'unstuck-real-ask-'))
let db: Db
let sim: Sim
let scene: AskScene
beforeAll(async () => {
  db = await openTestDb()
})
afterEach(async () => {
  await sim.close()
  await scene.clear()
})
afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

type Name = 'claude' | 'codex'

const open = async (name: Name, conversations: ScriptInput['conversations']): Promise<void> => {
  sim = await startSim({ script: parseScript({ conversations }, 'ask') })
  const { env, flags } = pointersTo(sim.url)[name]
  const home = mkdtempSync(join(folder, 'home-'))
  mkdirSync(join(home, '.codex'))
  // What an owner allows their agents, and what a question must not take over.
  const wide = {
    claude: ['--allowedTools', 'Bash', 'Write', '--dangerously-skip-permissions'],
    codex: ['-s', 'workspace-write'],
  }
  const entry = { driver: name, command: [clis[name]], env: Object.keys(env), args: [...flags, ...wide[name]] }
  const environment = { ...env, HOME: home, CODEX_HOME: join(home, '.codex') }
  scene = await openAskScene({ db, agents: { [name]: () => entry }, environment })
  const settings = join(home, '.claude')
  mkdirSync(settings)
  // Servers of tools start outside of any sandbox.
  const server = { command: '/bin/sh', args: ['-c', `echo started >> '${folder}/server.txt'`] }
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ mcpServers: { tickets: server } }))
  const [shell, args] = [JSON.stringify(server.command), JSON.stringify(server.args)]
  const tables = ['tickets', '"our notes.v2"'].map(
    (key) => `[mcp_servers.${key}]\ncommand = ${shell}\nargs = ${args}\n`,
  )
  writeFileSync(join(home, '.codex', 'config.toml'), tables.join(''))
  writeFileSync(join(settings, 'settings.json'), JSON.stringify({ permissions: { allow: ['Bash', 'Write'] } }))
}

const request: AskRequest<z.output<typeof schema>> = {
  ...{ purpose: 'policy', prompt: 'May src/made.js stay?', schema, input: {}, timeoutMs: 120_000, attempts: 2 },
}

const names: Name[] = ['claude', 'codex']

test.each(shortened(names, 1))('%s answers, and is asked again after an answer that does not match', async (name) => {
  await open(name, [
    { name: 'again', match: ['Question: policy', 'was not accepted'], steps: [{ answer: { decision: 'deny' } }] },
    { name: 'first', match: 'Question: policy', steps: [{ read: 'src/made.js' }, { text: 'I would allow it.' }] },
  ])
  const result = await ask(scene.runContext, request)
  expect(result).toMatchObject({ ok: true, value: { decision: 'deny' }, harness: name, attempts: 2 })
  expect(result.spend.tokens).toBeGreaterThan(2_000)
  const played = sim.requests().filter(({ conversation }) => conversation !== undefined)
  expect(played.map(({ conversation, kind }) => `${conversation} ${kind}`)).toEqual([
    ...['first read', 'first text', 'again answer'],
  ])
  expect(played[1]?.lastResult).toContain('made')
})

test.each(shortened(names.toReversed(), 1))(
  '%s changes nothing, whatever its model tries and its owner allows',
  async (name) => {
    await open(name, [
      {
        ...{ name: 'ask', match: 'Question: policy' },
        steps: [
          { write: { path: 'written.txt', content: 'x' } },
          { shell: `echo x > shell.txt; echo x > '${folder}/outside.txt'` },
          { answer: { decision: 'allow' } },
        ],
      },
    ])
    expect(await ask(scene.runContext, request)).toMatchObject({ ok: true, value: { decision: 'allow' }, attempts: 1 })
    expect(sim.requests().filter(({ conversation }) => conversation !== undefined)).toHaveLength(3)
    for (const place of [scene.workspace, join(scene.workspace, '..', 'asks', '1', 'view')])
      for (const file of ['written.txt', 'shell.txt']) expect(existsSync(join(place, file))).toBe(false)
    for (const file of ['outside.txt', 'server.txt']) expect(existsSync(join(folder, file))).toBe(false)
    expect(user(scene.workspace, 'status', '--porcelain', '--untracked-files=all')).toBe('?? src/made.js')
  },
)
