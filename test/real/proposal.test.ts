/**
 * The example that recovery proposals were made for, with the real esbuild and the real CLIs: the binary in node_modules is of another
 * version than its host, the tests cannot start, and the agent proposes the command that helps. It costs one round, not six. In
 * direct mode, because there the checks use the user's own node_modules; a clean clone would not have the problem.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { ScriptInput } from '../../sim/script.ts'
import { openUser, type Printed, type User } from './user.ts'
import { shortened } from '../support/form.ts'

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

const clis = ['claude', 'codex'] as const
const [host, binary] = ['0.21.5', '0.27.2']
const command = 'rm -rf node_modules && npm install'

const proposal = {
  ...{ version: 1, timestamp: '2026-01-23T05:36:33Z', category: 'dependency', severity: 'blocking' },
  diagnosis: {
    error_pattern: 'Cannot start service: Host version .* does not match binary version',
    root_cause: 'esbuild version mismatch between vite and vitest dependencies',
    evidence: [`test-output.txt:3: Host version "${host}" does not match binary version "${binary}"`],
  },
  recovery: {
    ...{ command, working_dir: '.', timeout_seconds: 300 },
    ...{ expected_outcome: 'Consistent esbuild versions, vitest can start', confidence: 'high' },
  },
}

/** The CLI has no permission for the folder of its notes other than through its shell. */
const writesProposal = `printf %s '${JSON.stringify(proposal)}' > "$UNSTUCK_RUN_DIR/recovery.json"`

const conversations = (): ScriptInput['conversations'] => [
  {
    name: 'tester',
    match: 'Write the module now',
    steps: [
      { write: { path: 'src.js', content: 'module.exports = 42\n' } },
      { shell: writesProposal },
      { text: 'The tests cannot start: esbuild has two versions.' },
    ],
  },
]

const install = (folder: string, version: string): void => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: { esbuild: version } }))
  execFileSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'pipe' })
}

/** As after two tools that each brought an esbuild of their own. */
const breakEsbuild = ({ project, root, git }: User): void => {
  install(project, host)
  const other = join(root, 'other')
  install(other, binary)
  const bin = join('node_modules', '@esbuild', `${process.platform}-${process.arch}`)
  cpSync(join(other, bin), join(project, bin), { recursive: true, force: true })
  writeFileSync(join(project, '.gitignore'), 'node_modules\n')
  writeFileSync(
    join(project, 'starts.test.js'),
    `const { transformSync } = require('esbuild')
require('node:test').test('starts', () => {
  require('node:assert').match(transformSync('let x: number = 1', { loader: 'ts' }).code, /let x = 1/)
  require('node:assert').equal(require('./src.js'), 42)
})
`,
  )
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'Start')
}

test.each(shortened(clis, 1))(
  'esbuild of two versions: %s proposes the install, and the tests are green in the next round',
  async (cli) => {
    user = await openUser(conversations, {}, [cli])
    user.configure({ recovery: { enabled: true, auto_approve: [command], require_human: ['rm -rf *', 'git push'] } })
    breakEsbuild(user)
    const file = join(user.root, 'tasks.json')
    const task = { title: 'Write the module now', instructions: 'Write the module now.', harness: cli }
    const checked = { ...task, allowedPaths: ['src.js'], commands: ['node --test starts.test.js'] }
    writeFileSync(file, JSON.stringify({ version: 1, goal: 'Write the module', tasks: [checked] }))
    const ended = await user.unstuck('run', file, '--direct', '--json')
    const { goal } = JSON.parse(ended.stdout.trim().split('\n').at(-1) ?? '') as { goal: Printed }
    expect(goal.state).toBe('done')
    const events = await user.events(goal.id as string)
    const of = (type: string): Printed[] => events.filter((event) => event.type === type)
    expect(of('recovery_proposed').map(({ payload }) => payload)).toEqual([
      { category: 'dependency', command, confidence: 'high' },
    ])
    expect(of('recovery_executed').map(({ payload }) => payload)).toEqual([
      { command, exit_code: 0, duration_ms: expect.any(Number) },
    ])
    // The test that could not start runs again and passes: the post-condition of the recovery.
    expect(of('recovery').map(({ payload }) => [payload.playbook, payload.status])).toEqual([
      ['proposed-command', 'success'],
    ])
    // One launch of the agent: the tests that it could not run cost nothing else.
    const [runs] = (await user.lines('runs')) as unknown as [Printed[]]
    expect(runs.map(({ launches }) => (launches as unknown[]).length)).toEqual([1])
    expect(await user.leave()).toEqual([])
  },
)
