/** Time until `unstuck run` prints its first line on a terminal, without a running engine, compared with bare `node`. Target: at most 1 s. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { alternate, printResult, runTimed } from './measure.ts'

const entry = join(import.meta.dirname, '..', 'bin', 'unstuck.js')
const root = mkdtempSync(join(tmpdir(), 'unstuck-first-line-'))
const environment = { ...process.env, TERM: 'xterm', CI: '', UNSTUCK_HOME: join(root, 'state') }
execFileSync('git', ['init', '--quiet', root])
// The task file is invalid, so that each run ends by itself before it starts an engine.
writeFileSync(join(root, 'goal.json'), '{}')

/** Waits for the first byte that `script` passes on from the terminal of the command. */
const firstLine = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const begun = performance.now()
    const child = spawn('script', ['-qec', `exec ${process.execPath} ${entry} run goal.json`, '/dev/null'], {
      ...{ cwd: root, env: environment, stdio: ['ignore', 'pipe', 'inherit'] },
    })
    let first: number | undefined
    child.stdout.on('data', () => (first ??= performance.now() - begun))
    child.once('error', reject)
    child.once('close', () => (first === undefined ? reject(new Error('nothing was shown')) : resolve(first)))
  })

try {
  const { node, first } = await alternate(9, {
    node: async () => (await runTimed([process.execPath, '-e', '0'])).ms,
    first: firstLine,
  })
  printResult('first-line', { nodeMs: node, firstMs: first, ratio: first / node, targetMs: 1000 })
} finally {
  rmSync(root, { recursive: true, force: true })
}
