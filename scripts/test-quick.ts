/**
 * `npm run test:quick`: unit and fast tests of what changed since this branch left the remote's default branch, uncommitted changes
 * included. Where no remote is known, only of uncommitted changes. Further arguments go to vitest.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { mergeBase } from './history.ts'
import { repositoryRoot } from './root.ts'

const vitest = join(repositoryRoot, 'node_modules', 'vitest', 'vitest.mjs')
const projects = ['--project', 'unit', '--project', 'fast']
const changed = `--changed=${mergeBase(repositoryRoot) ?? 'HEAD'}`
const args = [vitest, 'run', ...projects, changed, '--passWithNoTests', ...process.argv.slice(2)]
process.exitCode = spawnSync(process.execPath, args, { cwd: repositoryRoot, stdio: 'inherit' }).status ?? 1
