/** An agent that reads the owner's token and tries every route and command that only a person may use. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ExplainView, Run, StatusView } from '../../src/api/contract.ts'
import { routes, type Route } from '../../src/api/routes.ts'
import { openScene, until, type Scene } from '../hostile/scene.ts'

/** Sends every request of a list and writes the responses; run plainly, detached, and by the agent itself. */
const caller = `
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
const [, , url, token, actions, out] = process.argv
const results = []
for (const { method, path } of JSON.parse(readFileSync(actions, 'utf8'))) {
  const response = await fetch(url + path, {
    method, headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json', connection: 'close' },
    ...(method === 'GET' ? {} : { body: '{}' }),
  })
  results.push({ action: method + ' ' + path, status: response.status, text: await response.text() })
}
writeFileSync(out + '.new', JSON.stringify(results))
renameSync(out + '.new', out)
`

/** Waits for each result: an agent that ended first would take its helpers with it. */
const agent = `
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
const [, , dir, stateDir, cli, root] = process.argv
const { url } = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8'))
const token = readFileSync(join(stateDir, 'token'), 'utf8').trim()
const line = (out) => [join(dir, 'caller.mjs'), url, token, join(dir, 'actions.json'), join(dir, out)]
spawnSync(process.execPath, line('plain.json'))
spawnSync(process.execPath, line('cleared.json'), { env: {} })
// A new session below a parent that has ended: a child of init, with nothing in its environment.
const twice = 'const [program, ...args] = JSON.parse(process.argv[1]); const { spawn } = require("node:child_process"); spawn(program, args, { detached: true, stdio: "ignore", env: {} }).unref()'
spawnSync(process.execPath, ['-e', twice, JSON.stringify([process.execPath, ...line('forked.json')])], { env: {} })
for (const name of ['plain', 'cleared', 'forked']) while (!existsSync(join(dir, name + '.json'))) await delay(20)
const status = await fetch(url + '/status', { headers: { authorization: 'Bearer ' + token } }).then((answer) => answer.json())
const ids = { G: status.goals[0].id, T: status.goals[0].tasks[0].id }
// Hangs up before anybody can look who asked.
const head = 'POST /goals/' + ids.G + '/pause HTTP/1.1\\r\\nHost: ' + new URL(url).host + '\\r\\nAuthorization: Bearer ' + token
for (let time = 0; time < 20; time += 1)
  await new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('close', resolve).on('error', resolve)
    socket.write(head + '\\r\\nContent-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}', () => socket.destroy())
  })
const commands = JSON.parse(readFileSync(join(dir, 'commands.json'), 'utf8'))
const environment = JSON.parse(readFileSync(join(dir, 'environment.json'), 'utf8'))
const told = []
for (const args of commands.map((words) => words.map((word) => ids[word] ?? word)))
  for (const env of [{ ...process.env, ...environment }, environment]) {
    const { status, stderr } = spawnSync(process.execPath, [cli, ...args], { cwd: root, env, encoding: 'utf8' })
    told.push({ args, status, stderr })
  }
writeFileSync(join(dir, 'commands.out'), JSON.stringify(told))
writeFileSync('src/work.txt', 'done\\n')
`

interface Result {
  action: string
  status: number
  text: string
}

const dir = mkdtempSync(join(tmpdir(), 'unstuck-person-only-'))
const cli = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))
const actions = Object.values<Route>(routes).filter(({ caller: who }) => who === 'person')
/** G and T stand for the agent's own goal and task. */
const commands = [
  ['land', 'G'],
  ['pause', 'G'],
  ['cancel', 'G'],
  ['retry', 'T'],
  ['approve', 'T'],
  ['grants', 'add', 'src', '--task', 'T', '--why', 'mine'],
  ['run', 'more work'],
  ['schedule', 'add', '0 2 * * *', 'more work'],
  ['init'],
  ['up'],
  ['stop'],
  ['restore', 'r-1', '--into', 'elsewhere'],
  ['config', 'confirm', '--digest', '0'.repeat(64)],
]

let scene: Scene
beforeAll(async () => {
  writeFileSync(join(dir, 'caller.mjs'), caller)
  writeFileSync(join(dir, 'agent.mjs'), agent)
  writeFileSync(join(dir, 'commands.json'), JSON.stringify(commands))
  writeFileSync(
    join(dir, 'actions.json'),
    JSON.stringify(actions.map(({ method, path }) => ({ method, path: path.replace(':id', 'g-aaaaaaaa') }))),
  )
  scene = await openScene(['scripted'], {
    commands: { scripted: ['/bin/sh', '-c', `. "${dir}/start.sh"`] },
  })
  writeFileSync(join(dir, 'environment.json'), JSON.stringify(scene.environment))
  writeFileSync(
    join(dir, 'start.sh'),
    `exec "${process.execPath}" "${dir}/agent.mjs" "${dir}" "${scene.stateDir}" "${cli}" "${scene.root}"\n`,
  )
})
afterAll(async () => {
  await scene.clear()
  rmSync(dir, { recursive: true })
})

const resultsOf = (name: string): Result[] => JSON.parse(readFileSync(join(dir, `${name}.json`), 'utf8')) as Result[]

test('every route of a person is closed to a run, also with a cleared environment, a new session and a second fork', async () => {
  const config = readFileSync(join(scene.root, '.unstuck', 'config.json'), 'utf8')
  const goal = await scene.work()
  await until(async () => (existsSync(join(dir, 'commands.out')) ? true : undefined), 'the agent')
  for (const name of ['plain', 'cleared', 'forked']) {
    const results = resultsOf(name)
    expect(results).toHaveLength(actions.length)
    for (const { action, status, text } of results) {
      expect(`${name}: ${action} ${status}`).toBe(`${name}: ${action} 403`)
      expect(text).toContain('FROM_A_RUN')
    }
  }
  const told = JSON.parse(readFileSync(join(dir, 'commands.out'), 'utf8')) as {
    args: string[]
    status: number
    stderr: string
  }[]
  expect(told).toHaveLength(commands.length * 2)
  for (const { args, status, stderr } of told)
    expect(`${args.join(' ')}: ${status} ${stderr}`).toMatch(/: 1 .*only a person may do this/s)
  expect(readFileSync(join(scene.root, '.unstuck', 'config.json'), 'utf8')).toBe(config)
  expect(await scene.events('goal.paused')).toEqual([])
  const refused = await scene.events('person_only.refused')
  expect(new Set(refused.map(({ payload }) => payload.action))).toEqual(
    new Set([
      ...actions.map(({ method, path }) => `${method} ${path}`),
      'unstuck init',
      'unstuck up',
      'unstuck restore',
    ]),
  )
  const [run] = await scene.api<Run[]>(`/runs?goal=${goal.id}`)
  const seen = refused.filter(({ payload }) => payload.hungUp !== true)
  expect(new Set(seen.map(({ runId }) => runId))).toEqual(new Set([run?.id]))
  const story = await scene.api<ExplainView>(`/explain/${goal.id}`)
  expect(
    story.lines.some(({ text }) => text.includes('asked for POST /goals/:id/land, which only a person may do')),
  ).toBe(true)
  const { notices } = await scene.api<StatusView>('/status')
  expect(notices.some((line) => line.includes('was refused') || line.includes('were refused'))).toBe(true)
  // The person at the same address is served.
  expect(await scene.api(`/goals/${goal.id}/land`, {})).toMatchObject({ id: goal.id })
})
