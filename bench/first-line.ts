/** `unstuck run` on a terminal: the time to its first line, over bare `node`, with no engine yet. Target: at most 1 s. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inTurns, print, time } from './measure.ts'

const entry = join(import.meta.dirname, '..', 'bin', 'unstuck.js')
const root = mkdtempSync(join(tmpdir(), 'unstuck-first-line-'))
const environment = { ...process.env, TERM: 'xterm', CI: '', UNSTUCK_HOME: join(root, 'state') }
execFileSync('git', ['init', '--quiet', root])
// A task file that is refused, so each run ends by itself before it would start an engine.
writeFileSync(join(root, 'goal.json'), '{}')

/** Until the first byte that `script` brings from the terminal of the command. */
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
  const { node, first } = await inTurns(9, {
    node: async () => (await time([process.execPath, '-e', '0'])).ms,
    first: firstLine,
  })
  print('first-line', { nodeMs: node, firstMs: first, ratio: first / node, targetMs: 1000 })
} finally {
  rmSync(root, { recursive: true, force: true })
}
