/** Builds the package into an empty `dist`: compiled JavaScript and the dashboard. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')

rmSync(dist, { recursive: true, force: true })
execFileSync(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
})
execFileSync(
  process.execPath,
  [
    join(root, 'node_modules', 'vite', 'bin', 'vite.js'),
    'build',
    ...['--config', join(root, 'dashboard', 'vite.config.ts'), '--configLoader', 'native'],
    ...['--outDir', join(dist, 'dashboard'), '--logLevel', 'warn'],
  ],
  // A NODE_ENV of the caller would publish a development build.
  { cwd: root, stdio: 'inherit', env: { ...process.env, NODE_ENV: 'production' } },
)
