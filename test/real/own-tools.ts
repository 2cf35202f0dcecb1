/** The session of `own-tools.test.ts`, which the CLIs that CI does not install run by hand. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { installClis, type CliName } from '../../scripts/install-clis.ts'
import { pointersTo } from '../../sim/simulate.ts'
import type { ScriptInput } from '../../sim/script.ts'
import { capabilitiesOf } from '../../src/harness/capabilities.ts'
import type { ToolServer } from '../../src/harness/driver.ts'
import { drivers } from '../../src/harness/drivers.ts'
import { openBench } from './agents.ts'
import { openUser, until, type Printed, type User } from './user.ts'

const proposal = {
  category: 'dependency',
  severity: 'blocking',
  diagnosis: { error_pattern: 'version', root_cause: 'two versions', evidence: ['out.txt:3: version'] },
  recovery: { command: 'npm ci', expected_outcome: 'the tests start', confidence: 'high' },
}

const steps: ScriptInput['conversations'][number]['steps'] = [
  { tool: { name: 'report_progress', input: { text: 'I have read the task.' } } },
  { tool: { name: 'propose_recovery', input: { ...proposal, severity: 'bad' } } },
  { tool: { name: 'propose_recovery', input: proposal } },
  { tool: { name: 'ask_person', input: { question: 'Which number?' } } },
  { write: { path: 'src/answer.js', content: 'module.exports = 42\n' } },
  { text: 'Written.' },
]

const prepare = (user: User): void => {
  const { project, git } = user
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n')
  writeFileSync(
    join(project, 'answer.test.js'),
    "require('node:test').test('it', () => require('node:assert').equal(require('./src/answer.js'), 42))\n",
  )
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'Start')
}

/** The results of its tools that the model was told. */
const told = ({ sim }: User): string =>
  sim
    .requests()
    .map(({ lastResult }) => lastResult ?? '')
    .join('\n')

/** The agent reports, proposes, asks a person and does its work; the person answers by the command line. */
export const useOwnTools = async (cli: CliName): Promise<void> => {
  const user = await openUser(() => [{ name: 'job', default: true, steps }], {}, [cli])
  try {
    user.configure({ mcp: { waitSeconds: 90 }, recovery: { enabled: true } })
    prepare(user)
    const tasks = join(user.root, 'tasks.json')
    const task = {
      title: 'Write the answer',
      instructions: 'Write it.',
      allowedPaths: ['src/**'],
      commands: ['node --test'],
    }
    writeFileSync(tasks, JSON.stringify({ version: 1, goal: 'Write', tasks: [{ ...task, harness: cli }] }))
    const started = user.start('run', tasks, '--json')
    const question = await until('the question', async () => {
      const [view] = await user.lines('status')
      return (view?.escalations as Printed[] | undefined)?.find(({ kind }) => kind === 'agent_question')
    })
    expect(question.happened).toContain('asks: Which number?')
    const run = String(question.runId)
    const home = join(user.root, 'unstuck')
    // Beside the state folder of the project lie folders of the user: the database's, for one.
    const state = readdirSync(home).find((name) => existsSync(join(home, name, 'runs', run)))
    const stored = readFileSync(join(home, String(state), 'runs', run, 'agent', 'recovery.json'), 'utf8')
    expect(JSON.parse(stored)).toMatchObject({ version: 1, ...proposal })
    const answered = await user.unstuck('answer', String(question.taskId), 'reply', '--text', 'Forty-two.')
    expect([answered.code, answered.stderr]).toEqual([0, ''])
    const { code, stdout } = await started.ended
    // First, because it shows why any of the others failed.
    const said = told(user)
    expect(said).toContain('severity')
    expect(said).toContain('Accepted, and not run yet: npm ci')
    expect(said).toContain('A person answered: Forty-two.')
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Printed)
    expect(events.filter(({ type }) => type === 'run.progress').map(({ payload }) => payload.text)).toEqual([
      'I have read the task.',
    ])
    expect(events.filter(({ type }) => type === 'run.launched')).toHaveLength(1)
    expect(code).toBe(0)
    expect(user.git('status', '--porcelain')).toBe('')
    expect(await user.leave()).toEqual([])
  } finally {
    await user.close()
  }
}

const serverOf = (folder: string, command: string[]): ToolServer => ({
  ...{ command, tools: ['report_progress'], variables: [], callSeconds: 5, folder },
  inherited: () => undefined,
})

/** The launch of a driver with a server of tools that never responds, or is not there. */
export const workWithout = async (cli: 'claude' | 'codex', command: string[]): Promise<void> => {
  const bench = await openBench([
    { name: 'job', default: true, steps: [{ write: { path: 'made.txt', content: 'made\n' } }, { text: 'Made.' }] },
  ])
  try {
    const driver = drivers[cli]
    const {
      argv,
      env,
      files = [],
    } = driver.launch({
      can: capabilitiesOf(driver, undefined).capabilities,
      ...{ prompt: 'Make it.', promptFile: join(bench.root, 'p'), workspace: bench.repo, runDir: bench.root },
      ...{ addDirs: [], skipGitCheck: false, commands: [], toolRules: [] },
      program: [installClis(process.env)[cli]],
      extraArgs: pointersTo(bench.sim.url)[cli].flags,
      ...(bench.sandbox === 'danger-full-access' ? { unrestricted: cli === 'codex' } : {}),
      toolServer: serverOf(bench.root, command),
    })
    for (const { path, text } of files) writeFileSync(path, text)
    const home = join(bench.root, 'home')
    const own = { PATH: process.env.PATH, HOME: home, CODEX_HOME: join(home, '.codex'), TERM: 'dumb' }
    const [program = '', ...args] = argv
    const child = spawn(program, args, {
      cwd: bench.repo,
      env: { ...own, ...pointersTo(bench.sim.url)[cli].env, ...env },
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    const [code] = (await once(child, 'exit')) as [number]
    expect([code, readFileSync(join(bench.repo, 'made.txt'), 'utf8')]).toEqual([0, 'made\n'])
  } finally {
    await bench.close()
  }
}
