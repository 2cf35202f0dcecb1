/** The cost of `unstuck exec` around a command that does nothing, compared with bare `node` and that command. Target: at most 100 ms more. */
import { join } from 'node:path'
import { alternate, printResult, runTimed } from './measure.ts'

const entry = join(import.meta.dirname, '..', 'bin', 'unstuck.js')
const { node, bare, exec } = await alternate(15, {
  node: async () => (await runTimed([process.execPath, '-e', '0'])).ms,
  bare: async () => (await runTimed(['true'])).ms,
  exec: async () => (await runTimed([process.execPath, entry, 'exec', '--', 'true'])).ms,
})
const over = exec - node - bare
printResult('exec', {
  nodeMs: node,
  commandMs: bare,
  execMs: exec,
  overMs: over,
  ratio: exec / (node + bare),
  targetOverMs: 100,
})
