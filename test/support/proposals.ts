/** A scene whose agent does its work and writes a recovery proposal that the test chose, and what the tests of proposals look at. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { EventView, TaskView } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

/** Of the test that runs; set by `open`. */
export let scene: Scene

const message = 'Host version "0.21.5" does not match binary version "0.27.2"'

/** Does its work, and proposes what the test put beside the repository. */
const agent: FaultAgent = {
  driver: 'command',
  program: `
const prompt = args.join(' ') + readFileSync(0, 'utf8')
const name = /TASK-(\\w+)/.exec(prompt)?.[1]
put('TOP/prompts/' + name + '-' + count('TOP/launches-' + name), prompt)
put(name + '.txt', 'made')
const proposal = 'TOP/propose-' + name + '.json'
const trick = 'TOP/trick-' + name + '.mjs'
if (existsSync(trick)) await import(trick)
if (existsSync(proposal)) put(process.env.UNSTUCK_RUN_DIR + '/recovery.json', readFileSync(proposal, 'utf8'))
`,
}

const files = {
  '.gitignore': 'env.ok\nnode_modules\n',
  // The environment is an ignored file, which only a command in the clone of the checks can make.
  'need.js': `if (!require('node:fs').existsSync('env.ok')) { console.error('Cannot start service: ${message}'); process.exit(1) }`,
  'twice.js': `if (!require('node:fs').existsSync('twice.txt')) { console.error('Error: twice.txt is missing'); process.exit(1) }`,
  'outside.js': `if (!require('node:fs').existsSync('TOP/fixed')) { console.error('Cannot start service: ${message}'); process.exit(1) }`,
  'package.json': '{"name":"app","version":"1.0.0","dependencies":{"tiny":"file:dep"}}',
  'package-lock.json': JSON.stringify({
    ...{ name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true },
    packages: {
      '': { name: 'app', version: '1.0.0', dependencies: { tiny: 'file:dep' } },
      dep: { name: 'tiny', version: '1.0.0' },
      'node_modules/tiny': { resolved: 'dep', link: true },
    },
  }),
  'dep/package.json': '{"name":"tiny","version":"1.0.0"}',
  'dep/index.js': 'module.exports = 1',
  'suite.js': "process.exit(require('tiny') === 1 ? 0 : 1)",
}

export const tasksOf = (...names: string[]) =>
  names.map((name, index) => ({
    ...{ title: `Make ${name}`, instructions: `TASK-${name}: make ${name}.txt.`, commands: ['node need.js'] },
    ...{ allowedPaths: [`${name}.txt`], after: index === 0 ? [] : [String(index)] },
  }))

interface Proposed {
  command: string
  fallback?: string
  more?: object
}

export const proposalText = ({ command, fallback, more = {} }: Proposed): string =>
  JSON.stringify({
    ...{ version: 1, timestamp: '2026-01-23T05:36:33Z', category: 'dependency', severity: 'blocking' },
    diagnosis: {
      error_pattern: 'Cannot (start service|find module)',
      root_cause: 'two versions of one binary',
      evidence: [`test-output.txt:3: ${message}`],
    },
    recovery: { command, expected_outcome: 'the check starts', confidence: 'high', ...more },
    ...(fallback === undefined ? {} : { fallback: { command: fallback, confidence: 'medium' } }),
  })

export const propose = (name: string, proposed: Proposed | string): void =>
  writeFileSync(
    join(scene.top, `propose-${name}.json`),
    (typeof proposed === 'string' ? proposed : proposalText(proposed)).replaceAll('TOP', scene.top),
  )

/** Each command leaves a line in a file outside, so that a test can count how often it ran. */
export const mends = 'echo ran >> TOP/ran && touch env.ok'

export const ran = (): number => {
  const path = join(scene.top, 'ran')
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').length : 0
}

export const open = async (recovery: object | undefined, config: object = {}, options: object = {}): Promise<void> => {
  scene = await openScene(
    { agent },
    { ...(recovery === undefined ? {} : { recovery }), ...config },
    { files, ...options },
  )
}

export const recoveryEvents = async (goal: string): Promise<[string, Record<string, unknown>][]> => {
  const all: EventView[] = []
  for (const type of ['proposed', 'approved', 'executed', 'failed', 'escalated', 'resolved'])
    all.push(...(await scene.events(goal, `recovery_${type}`)))
  return all.toSorted((one, other) => Number(one.id) - Number(other.id)).map(({ type, payload }) => [type, payload])
}

export const question = async (goal: string, kind: string) =>
  scene.waitFor(`the question ${kind}`, async () =>
    (await scene.questions()).find((each) => each.goalId === goal && each.kind === kind),
  )

export const isDone = (goal: string, number = 1): Promise<TaskView> =>
  scene.waitFor('the task is done', async () => {
    const task = await scene.task(goal, number)
    return task.status === 'done' ? task : undefined
  })

export const cli = async (...args: string[]): Promise<{ code: number; out: string }> => {
  const bin = join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js')
  const env = { ...process.env, UNSTUCK_HOME: join(scene.top, 'home') }
  return promisify(execFile)(process.execPath, [bin, ...args], { cwd: scene.root, env }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      out: error.stdout + error.stderr,
    }),
  )
}

export const launches = (name: string): number => Number(readFileSync(join(scene.top, `launches-${name}`), 'utf8'))
