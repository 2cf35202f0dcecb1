/** The owner's own playbooks: a registry that answers 503 for a while, a command before the check, a question, and the mistakes in such files. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { ConfigStateView, StatusView } from '../../src/api/contract.ts'
import { runHere } from '../cli/in-process.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { isLongForm } from '../support/form.ts'

/** Works at once, unless the test holds it; its prompts and launches are counted. */
const agent: FaultAgent = {
  driver: 'command',
  program: `
const prompt = args.join(' ') + readFileSync(0, 'utf8')
put('TOP/prompt-' + count('TOP/launches'), prompt)
while (existsSync('TOP/hold')) await new Promise((next) => setTimeout(next, 20))
put('made.txt', 'made')`,
}

const files = {
  '.gitignore': 'db.ok\n',
  'package.json': '{"name":"app","version":"1.0.0","scripts":{"db:up":"node up.js"}}',
  'up.js': "require('node:fs').writeFileSync('db.ok', '')",
  'registry.js': `if (!require('node:fs').existsSync('TOP/up')) { console.error('npm error 503 Service Unavailable - GET https://registry.invalid/tiny'); process.exit(1) }`,
  'db.js': `if (!require('node:fs').existsSync('db.ok')) { console.error('db-test: no database is up, job 4711'); process.exit(7) }`,
}

const registry = {
  title: 'The registry is restarted on Mondays',
  match: { command: '^node registry' },
  evidence: { pattern: '\\b503 Service Unavailable\\b.*registry', stream: 'stderr' },
  action: { type: 'wait', seconds: 1 },
  budget: 3,
}

const database = {
  title: 'The database of the tests is not up',
  match: { command: 'db\\.js', exitCode: 7 },
  evidence: { pattern: 'no database is up' },
  action: { type: 'run', command: 'npm run db:up' },
  postCondition: 'check_passes',
  budget: 1,
}

let scene: Scene
afterEach(() => scene.clear())

const asFiles = (own: Record<string, object>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(own).map(([name, playbook]) => [`.unstuck/playbooks/${name}.json`, JSON.stringify(playbook)]),
  )

const open = async (own: Record<string, object>, config: object = {}): Promise<void> => {
  scene = await openScene({ agent }, config, { files: { ...files, ...asFiles(own) } })
}

const begin = (check: string): Promise<string> => scene.goal([{ commands: [check], allowedPaths: ['made.txt'] }])
const launches = async (goal: string): Promise<number> =>
  (await scene.runs(goal)).reduce((sum, each) => sum + each.launches.length, 0)
const firstRecovery = (goal: string) =>
  scene.waitFor('a recovery', async () => ((await scene.recoveries(goal)).length > 0 ? true : undefined))
const here = (...args: string[]) =>
  runHere(args, { cwd: scene.root, environment: { ...process.env, UNSTUCK_HOME: join(scene.top, 'home') } })

test('a registry that answers 503: the check is repeated after a wait, the agent is not called again, and the story names the playbook', async () => {
  await open({ 'registry-503': registry })
  const goal = await begin('node registry.js')
  await firstRecovery(goal)
  writeFileSync(join(scene.top, 'up'), '')
  await scene.until(goal, 'ready', 'awaiting_human')
  const recoveries = await scene.recoveries(goal)
  expect(recoveries.at(-1)).toMatchObject({ playbook: 'own:registry-503', status: 'success' })
  expect(recoveries.every(({ playbook }) => playbook === 'own:registry-503')).toBe(true)
  expect(await launches(goal)).toBe(1)
  const story = await here('explain', (await scene.task(goal)).id)
  expect(story.stdout).toContain('own:registry-503')
  expect(story.stdout).toContain('503 Service Unavailable')
  const { stdout } = await here('report', '--json')
  expect(stdout).toContain('own:registry-503')
})

test.runIf(isLongForm)('when its budget is used up and "then" is "ask", a person is asked with the title', async () => {
  await open({ 'registry-503': { ...registry, budget: 1, then: 'ask' } })
  const goal = await begin('node registry.js')
  await scene.until(goal, 'awaiting_human')
  const [question] = await scene.questions()
  expect(question?.happened).toContain(registry.title)
  expect((await scene.recoveries(goal)).map(({ playbook }) => playbook)).toEqual(['own:registry-503'])
  expect(await launches(goal)).toBe(1)
})

test('an exact command that the owner listed runs before the check, which has to pass; another one is asked about first', async () => {
  await open({ 'db-up': database }, { recovery: { auto_approve: ['npm run db:up'], cooldown_seconds: 0 } })
  const goal = await begin('node db.js')
  await scene.until(goal, 'ready', 'awaiting_human')
  expect((await scene.recoveries(goal)).map(({ playbook, status }) => [playbook, status])).toEqual([
    ['own:db-up', 'success'],
  ])
  expect((await scene.events(goal, 'recovery_executed')).map(({ payload }) => payload['command'])).toEqual([
    'npm run db:up',
  ])
  expect(await launches(goal)).toBe(1)
})

test('a command that is not listed waits for a person, and runs once the person allows it', async () => {
  await open({ 'db-up': database }, { recovery: {} })
  const goal = await begin('node db.js')
  await scene.until(goal, 'awaiting_human')
  const [question] = await scene.questions()
  expect(question).toMatchObject({ kind: 'recovery_approval_required' })
  expect(question?.happened).toContain('npm run db:up')
  expect(await scene.events(goal, 'recovery_executed')).toEqual([])
  await scene.post(`/escalations/${question?.id}/answer`, { choice: 'approve', by: 'me' })
  await scene.until(goal, 'ready')
  expect(await launches(goal)).toBe(1)
})

test.runIf(isLongForm)(
  'a command that does not help: its budget ends it, and the built-in playbooks go on',
  async () => {
    const useless = { ...database, action: { type: 'run', command: 'npm run nothing --if-present' } }
    await open(
      { 'db-up': useless },
      { recovery: { auto_approve: ['npm run nothing --if-present'], cooldown_seconds: 0 } },
    )
    const goal = await begin('node db.js')
    await scene.until(goal, 'awaiting_human')
    const tried = (await scene.recoveries(goal)).map(({ playbook, status }) => [playbook, status])
    expect(tried[0]).toEqual(['own:db-up', 'failed'])
    expect(tried.filter(([playbook]) => playbook === 'own:db-up')).toHaveLength(1)
    const [question] = await scene.questions()
    expect(question?.kind).not.toBe('recovery_failed')
  },
)

test.runIf(isLongForm)(
  'a question with the text and the choices of the owner; a choice with a hint gives it to the agent',
  async () => {
    const asks = {
      title: 'No database',
      evidence: { pattern: 'no database is up' },
      action: {
        type: 'ask',
        question: 'Is the VPN connected?',
        choices: [
          { label: 'It is up again', answer: 'retry' },
          { label: 'Work without it', answer: 'hint', hint: 'Do not use the database.' },
        ],
      },
    }
    await open({ vpn: asks })
    const goal = await begin('node db.js')
    await scene.until(goal, 'awaiting_human')
    const [question] = await scene.questions()
    expect(question?.happened).toContain('Is the VPN connected?')
    expect(question?.choices.map(({ id, label }) => [id, label])).toEqual([
      ['retry', 'It is up again'],
      ['hint', 'Work without it'],
      ['cancel', 'Cancel the task'],
    ])
    expect(await scene.recoveries(goal)).toEqual([])
    const answered = await here('answer', (await scene.task(goal)).id, 'hint')
    expect(answered.exitCode).toBe(0)
    await scene.waitFor('the hint', async () =>
      (await scene.task(goal)).hint?.includes('Do not use') ? true : undefined,
    )
  },
)

test.runIf(isLongForm)(
  'the environment is to blame: the agent gets no feedback, and the task waits for the machine',
  async () => {
    const blames = {
      title: 'The shared database is down',
      evidence: { pattern: 'no database is up' },
      action: { type: 'blame_environment' },
    }
    await open({ database: blames }, { retry: { transientBaseSeconds: 0.3, transientMaxSeconds: 1 } })
    const goal = await begin('node db.js')
    await scene.until(goal, 'awaiting_human')
    const [question] = await scene.questions()
    expect(question?.happened).toContain('held up by this machine')
    expect(question?.happened).toContain(blames.title)
    expect(new Set((await scene.recoveries(goal)).map(({ playbook }) => playbook))).toEqual(new Set(['machine-wait']))
    expect(await launches(goal)).toBe(1)
  },
)

test('mistakes are named by file and key, the other playbooks go on, and a corrected file applies without a restart', async () => {
  await open({ 'registry-503': registry, later: database })
  const put = (name: string, text: string): string => {
    const path = join(scene.root, '.unstuck', 'playbooks', `${name}.json`)
    writeFileSync(path, text)
    return path
  }
  const bad = {
    misspelt: put('misspelt', JSON.stringify({ ...registry, buget: 2 })),
    pattern: put('pattern', JSON.stringify({ ...registry, evidence: { pattern: '(503' } })),
    action: put('action', JSON.stringify({ ...registry, action: { type: 'reboot' } })),
    text: put('text', '{ no json'),
  }
  // What was good stays in use while its file is broken.
  const broken = put('later', '{')
  const noticed = await scene.waitFor('the notices', async () => {
    const { notices } = await scene.get<StatusView>('/status')
    return notices.length >= 5 ? notices.join('\n') : undefined
  })
  for (const [path, key] of [
    [bad.misspelt, 'unknown key buget. Did you mean "budget"?'],
    [bad.pattern, 'evidence.pattern is "(503"'],
    [bad.action, 'action.type is "reboot"'],
    [bad.text, 'it is not JSON'],
    [broken, 'it is not JSON'],
  ] as const)
    expect(noticed).toContain(`${path}: ${key}`)
  const check = await here('config', 'check')
  expect(check.exitCode).toBe(78)
  for (const path of Object.values(bad)) expect(check.stdout).toContain(path)
  const list = await here('playbook', 'list', '--json')
  const { own } = JSON.parse(list.stdout) as { own: { name: string; state: string }[] }
  expect(own.map(({ name, state }) => [name, state])).toEqual([
    ['action', 'invalid'],
    ['later', 'invalid'],
    ['misspelt', 'invalid'],
    ['pattern', 'invalid'],
    ['registry-503', 'valid'],
    ['text', 'invalid'],
  ])
  const goal = await begin('node registry.js')
  await firstRecovery(goal)
  writeFileSync(join(scene.top, 'up'), '')
  await scene.until(goal, 'ready', 'awaiting_human')
  expect((await scene.recoveries(goal)).at(-1)).toMatchObject({ playbook: 'own:registry-503', status: 'success' })
  for (const path of Object.values(bad)) rmSync(path)
  put('later', JSON.stringify({ ...database, title: 'Again' }))
  await scene.waitFor('the correction', async () =>
    (await scene.get<StatusView>('/status')).notices.some((text) => text.includes('not JSON')) ? undefined : true,
  )
})

test.runIf(isLongForm)(
  'a playbook that appears while an agent runs waits for the person, and one that is gone applies no more',
  async () => {
    await open({}, { recovery: {} })
    writeFileSync(join(scene.top, 'hold'), '')
    const goal = await begin('node registry.js')
    await scene.waitFor('the agent', async () => ((await launches(goal)) > 0 ? true : undefined))
    mkdirSync(join(scene.root, '.unstuck', 'playbooks'), { recursive: true })
    writeFileSync(join(scene.root, '.unstuck', 'playbooks', 'registry-503.json'), JSON.stringify(registry))
    const { waiting } = await scene.waitFor('what waits', async () => {
      const state = await scene.get<ConfigStateView>('/config')
      return state.waiting === null ? undefined : state
    })
    expect(waiting?.changes.map(({ key }) => key)).toEqual(['playbook.registry-503'])
    const listed = await here('playbook', 'list', '--json')
    expect(JSON.parse(listed.stdout)).toMatchObject({ own: [{ name: 'registry-503', state: 'waiting' }] })
    const confirmed = await here('config', 'confirm', '--digest', waiting?.digest ?? '')
    expect(confirmed.exitCode).toBe(0)
    rmSync(join(scene.top, 'hold'))
    await firstRecovery(goal)
    writeFileSync(join(scene.top, 'up'), '')
    await scene.until(goal, 'ready', 'awaiting_human')
    expect((await scene.recoveries(goal)).at(-1)).toMatchObject({ playbook: 'own:registry-503', status: 'success' })
  },
)

test.runIf(isLongForm)(
  'from a failure to a playbook: the question names the command, and the draft that it prints fits that failure',
  async () => {
    await open({}, { playbooks: { disabled: ['check-feedback', 'fresh-feedback'] } })
    const goal = await begin('node db.js')
    await scene.until(goal, 'awaiting_human')
    const [question] = await scene.questions()
    const [run] = await scene.runs(goal)
    expect(question?.details).toContain(`unstuck playbook draft ${run?.id}`)
    const draft = await here('playbook', 'draft', run?.id ?? '')
    expect(draft.exitCode).toBe(0)
    mkdirSync(join(scene.root, '.unstuck', 'playbooks'), { recursive: true })
    writeFileSync(join(scene.root, '.unstuck', 'playbooks', 'drafted.json'), draft.stdout)
    // Another number than in the run that failed.
    writeFileSync(join(scene.top, 'failed.log'), 'db-test: no database is up, job 9999\n')
    const tried = await here(
      ...['playbook', 'test', join(scene.top, 'failed.log'), '--exit', '7', '--command', 'node db.js', '--json'],
    )
    expect(tried.exitCode).toBe(0)
    expect(JSON.parse(tried.stdout)).toMatchObject({
      matches: [{ name: 'drafted', line: 'db-test: no database is up, job 9999' }],
    })
  },
)
