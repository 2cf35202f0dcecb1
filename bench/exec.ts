/** The cost of `unstuck exec` around a command that does nothing, compared with bare `node` and that command. Target: at most 100 ms more. */
import { join } from 'node:path'
import { inTurns, print, time } from './measure.ts'

const entry = join(import.meta.dirname, '..', 'bin', 'unstuck.js')
const { node, bare, exec } = await inTurns(15, {
  node: async () => (await time([process.execPath, '-e', '0'])).ms,
  bare: async () => (await time(['true'])).ms,
  exec: async () => (await time([process.execPath, entry, 'exec', '--', 'true'])).ms,
})
const over = exec - node - bare
print('exec', {
  nodeMs: node,
  commandMs: bare,
  execMs: exec,
  overMs: over,
  ratio: exec / (node + bare),
  targetOverMs: 100,
})
