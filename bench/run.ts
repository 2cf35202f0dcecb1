/** The cost of a run in a running engine, compared with the bare agent and its bare check. Target: at most 300 ms more per run. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { alternate, printResult, runTimed } from './measure.ts'

const entry = join(import.meta.dirname, '..', 'bin', 'unstuck.js')
const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-run-'))
const repo = join(folder, 'repo')
const env = { ...process.env, UNSTUCK_HOME: join(folder, 'home'), XDG_CACHE_HOME: join(folder, 'cache') }
const agent = join(folder, 'agent.mjs')
const git = (...args: string[]): void =>
  void execFileSync('git', ['-c', 'user.name=Bench', '-c', 'user.email=bench@localhost', ...args], { cwd: repo })

mkdirSync(join(repo, '.unstuck'), { recursive: true })
writeFileSync(
  agent,
  "import { writeFileSync } from 'node:fs'\nwriteFileSync('note.txt', String(process.hrtime.bigint()))\n",
)
writeFileSync(
  join(repo, 'check.mjs'),
  "import { existsSync } from 'node:fs'\nprocess.exit(existsSync('note.txt') ? 0 : 1)\n",
)
const config = {
  harness: { default: 'bench', bench: { command: [process.execPath, agent] } },
  verify: { commands: ['node check.mjs'] },
}
writeFileSync(join(repo, '.unstuck', 'config.json'), JSON.stringify(config))
execFileSync('git', ['init', '-q', '-b', 'main', repo])
git('add', '-A')
git('commit', '-q', '-m', 'base')

const bare = async (): Promise<number> => {
  const work = await runTimed([process.execPath, agent, 'the prompt'], { cwd: folder })
  const check = await runTimed([process.execPath, join(repo, 'check.mjs')], { cwd: folder })
  return work.ms + check.ms
}

interface StoredEvent {
  type: string
  at: string
}

/** From the claim to the end of the run by the store's clock, so that the polling of the client is not counted. */
const engine = async (): Promise<number> => {
  const { stdout } = await runTimed([process.execPath, entry, 'run', 'write a note', '--json'], { cwd: repo, env })
  const events = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StoredEvent)
  const at = (type: string): number => Date.parse(events.find((event) => event.type === type)?.at ?? '')
  return at('run.succeeded') - at('task.claimed')
}

await engine() // starts the engine
const { bareMs, runMs } = await alternate(9, { bareMs: bare, runMs: engine })
printResult('run', { bareMs, runMs, overMs: runMs - bareMs, ratio: runMs / bareMs, targetOverMs: 300 })
await runTimed([process.execPath, entry, 'stop'], { cwd: repo, env })
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
