/** Runs `unstuck demo` as a user does, in a temporary folder of its own, and looks at what it leaves behind. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DemoReport } from '../../src/cli/demo/demo-report.ts'
import { processesWithEnvironment } from '../../src/platform/process.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

export interface DemoRun {
  child: ChildProcess
  /** Grows while it runs. */
  output(): string
  ended: Promise<{ code: number | null; stdout: string; stderr: string }>
  /** Folders and processes of the demo that exist now. Every process of it has inherited the temporary folder's name. */
  leftovers(): { folders: string[]; processes: number[] }
  remove(): void
}

export const startDemo = (args: string[]): DemoRun => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'demo-test-')))
  const env = { ...process.env, TMPDIR: folder }
  const child = spawn(process.execPath, [entry, 'demo', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
  return {
    child,
    output: () => stdout,
    ended,
    leftovers: () => ({
      folders: readdirSync(folder).filter((name) => name.startsWith('unstuck-demo-')),
      processes: processesWithEnvironment('TMPDIR', folder),
    }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export interface DemoResult {
  code: number | null
  report: DemoReport
  leftovers: ReturnType<DemoRun['leftovers']>
}

/** One run with `--json`, to its end. */
export const demoReport = async (args: string[]): Promise<DemoResult> => {
  const run = startDemo(['--json', ...args])
  try {
    const { code, stdout, stderr } = await run.ended
    if (!stdout.startsWith('{')) throw new Error(`the demo printed no report: ${stdout}${stderr}`)
    return { code, report: JSON.parse(stdout) as DemoReport, leftovers: run.leftovers() }
  } finally {
    run.remove()
  }
}

export const nothing = { folders: [], processes: [] }

export const allPlaybooks = [
  'git-trust-relaunch',
  'directory-scope-relaunch',
  'transient-backoff',
  'missing-script-drop',
] as const
