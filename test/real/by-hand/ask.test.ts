/**
 * One question to the real Gemini CLI and the real OpenCode, against the scripted model server: the model reads a file, tries to write
 * and to run a command that writes, and answers. Run by hand, because CI does not install these CLIs:
 * npx vitest run --project by-hand test/real/by-hand/ask.test.ts
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { parseScript, type ScriptInput } from '../../../sim/script.ts'
import { startSim, type Sim } from '../../../sim/server.ts'
import { pointersTo } from '../../../sim/simulate.ts'
import { ask, type AskRequest } from '../../../src/runtime/agent/ask.ts'
import type { Db } from '../../../src/store/db.ts'
import { openAskScene, type AskScene } from '../../runtime/ask-scene.ts'
import { user } from '../../workspace/scene.ts'
import { openTestDb } from '../../support/test-db.ts'

type Name = 'gemini' | 'opencode'

const pathOf = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
const clis = JSON.parse(
  execFileSync(process.execPath, [pathOf('scripts/install-clis.ts'), 'gemini', 'opencode'], { encoding: 'utf8' }),
) as Record<Name, string>
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

const settings = { security: { auth: { selectedType: 'gemini-api-key' } }, tools: { allowed: ['run_shell_command'] } }

const open = async (name: Name, conversations: ScriptInput['conversations']): Promise<void> => {
  sim = await startSim({ script: parseScript({ conversations }, 'ask') })
  const { env, flags } = pointersTo(sim.url)[name]
  const home = mkdtempSync(join(folder, 'home-'))
  mkdirSync(join(home, '.gemini'))
  writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(settings))
  // What an owner allows their agents, and what a question must not take over.
  const wide = { gemini: ['--approval-mode', 'yolo', '--allowed-tools', 'run_shell_command'], opencode: ['--auto'] }
  const environment = { ...env, HOME: home, OPENCODE_PERMISSION: '{"*":"allow"}' }
  const entry = { driver: name, command: [clis[name]], env: Object.keys(env), args: [...flags, ...wide[name]] }
  scene = await openAskScene({ db, agents: { [name]: () => entry }, environment })
}

const request: AskRequest<z.output<typeof schema>> = {
  ...{ purpose: 'policy', prompt: 'May src/made.js stay?', schema, input: {}, timeoutMs: 120_000, attempts: 2 },
}

const names: Name[] = ['gemini', 'opencode']

test.each(names)('%s answers, and is asked again after an answer that does not match', async (name) => {
  await open(name, [
    { name: 'again', match: ['Question: policy', 'was not accepted'], steps: [{ answer: { decision: 'deny' } }] },
    { name: 'first', match: 'Question: policy', steps: [{ read: 'src/made.js' }, { text: 'I would allow it.' }] },
  ])
  const result = await ask(scene.runContext, request)
  expect(result).toMatchObject({ ok: true, value: { decision: 'deny' }, harness: name, attempts: 2 })
  const played = sim.requests().filter(({ conversation }) => conversation !== undefined)
  expect(played.find(({ lastResult }) => lastResult !== undefined)?.lastResult).toContain('made')
})

const attempts: [string, ScriptInput['conversations'][number]['steps'][number]][] = [
  ['to write a file', { write: { path: 'written.txt', content: 'x' } }],
  ['to run a command', { shell: `echo x > shell.txt; echo x > '${folder}/outside.txt'` }],
]

test.each(names.flatMap((name) => attempts.map(([what, step]) => [name, what, step] as const)))(
  '%s changes nothing when its model tries %s, whatever its owner allows',
  async (name, _, step) => {
    await open(name, [
      {
        name: 'ask',
        match: 'Question: policy',
        steps: [step, { answer: { decision: 'allow' } }, { answer: { decision: 'allow' } }],
      },
    ])
    expect(await ask(scene.runContext, request)).toMatchObject({ ok: true, value: { decision: 'allow' } })
    for (const place of [scene.workspace, join(scene.workspace, '..', 'asks', '1', 'view')])
      for (const file of ['written.txt', 'shell.txt']) expect(existsSync(join(place, file))).toBe(false)
    expect(existsSync(join(folder, 'outside.txt'))).toBe(false)
    expect(user(scene.workspace, 'status', '--porcelain', '--untracked-files=all')).toBe('?? src/made.js')
  },
)
