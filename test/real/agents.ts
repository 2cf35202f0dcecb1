/**
 * A bench for tests with the real agent CLIs: a git repository, a home of its own, the scripted model server.
 * It lies in the cache folder and not in the temporary folder, because Codex's sandbox lets tools write to /tmp.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { CliPaths } from '../../scripts/install-clis.ts'
import { installClis } from '../../scripts/install-clis.ts'
import type { Pointers } from '../../sim/simulate.ts'
import { pointersTo } from '../../sim/simulate.ts'
import type { ScriptInput } from '../../sim/script.ts'
import { parseScript } from '../../sim/script.ts'
import type { Sim } from '../../sim/server.ts'
import { startSim } from '../../sim/server.ts'

export interface EndedAgent {
  code: number | null
  signal: NodeJS.Signals | null
  events: Record<string, any>[]
  stderr: string
  ms: number
}

export interface Running {
  ended: Promise<EndedAgent>
  kill: (signal: NodeJS.Signals) => void
}

export interface AgentBench {
  root: string
  repo: string
  sim: Sim
  /** Codex's sandbox mode here; `danger-full-access` where the machine allows it no namespaces. */
  sandbox: 'workspace-write' | 'danger-full-access'
  claude: (flags: string[]) => Running
  codex: (flags: string[], resume?: string[]) => Running
  close: () => Promise<void>
}

const eventsOf = (stdout: string): Record<string, any>[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, any>)

const launch = (argv: string[], cwd: string, env: NodeJS.ProcessEnv): Running => {
  const [program = '', ...rest] = argv
  const started = performance.now()
  const child = spawn(program, rest, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const text = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text.stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text.stderr += chunk))
  const ended = new Promise<EndedAgent>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) =>
      resolve({
        code,
        signal,
        events: eventsOf(text.stdout),
        stderr: text.stderr,
        ms: Math.round(performance.now() - started),
      }),
    )
  })
  return { ended, kill: (signal) => child.kill(signal) }
}

/** Whether Codex's sandbox (bubblewrap, user namespaces) works here; where it does not, every tool call of Codex fails. */
export const codexSandboxWorks = (codex: string, home: string): boolean =>
  spawnSync(codex, ['sandbox', '--', 'true'], {
    env: { PATH: process.env.PATH, HOME: home, CODEX_HOME: home },
    stdio: 'ignore',
  }).status === 0

const prepare = (root: string): { repo: string; home: string } => {
  const [repo, home] = [join(root, 'repo'), join(root, 'home')]
  for (const path of [repo, home, join(home, '.codex')]) mkdirSync(path)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: repo })
  writeFileSync(join(repo, 'README.md'), '# Sample\n\nold words here\n')
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'Start')
  return { repo, home }
}

const launchers = (
  clis: CliPaths,
  pointers: Pointers,
  { repo, home }: { repo: string; home: string },
): Pick<AgentBench, 'sandbox' | 'claude' | 'codex'> => {
  const base = { PATH: process.env.PATH, HOME: home, CODEX_HOME: join(home, '.codex'), TERM: 'dumb' }
  const sandbox = codexSandboxWorks(clis.codex, join(home, '.codex')) ? 'workspace-write' : 'danger-full-access'
  const output = ['--output-format', 'stream-json', '--verbose', '--permission-mode', 'acceptEdits']
  return {
    sandbox,
    claude: (flags) =>
      launch([clis.claude, '-p', ...flags.slice(0, 1), ...output, ...pointers.claude.flags, ...flags.slice(1)], repo, {
        ...base,
        ...pointers.claude.env,
      }),
    codex: (flags, resume = []) =>
      launch([clis.codex, 'exec', '--json', '-s', sandbox, ...pointers.codex.flags, ...resume, ...flags], repo, {
        ...base,
        ...pointers.codex.env,
      }),
  }
}

/** The prompt comes first in `flags`. */
export const openBench = async (conversations: ScriptInput['conversations']): Promise<AgentBench> => {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'unstuck-ci')
  const clis = installClis(process.env)
  const root = mkdtempSync(join(cache, 'bench-'))
  const places = prepare(root)
  const sim = await startSim({ script: parseScript({ conversations }, 'bench') })
  return {
    root,
    repo: places.repo,
    sim,
    ...launchers(clis, pointersTo(sim.url), places),
    close: async () => {
      await sim.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** Waits for a file; the deadline is generous because a CLI may start slowly on a loaded machine. */
export const untilExists = async (path: string): Promise<void> => {
  const deadline = performance.now() + 30_000
  while (!existsSync(path)) {
    if (performance.now() > deadline) throw new Error(`${path} did not appear within 30 s`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
