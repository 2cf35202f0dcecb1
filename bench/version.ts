/** Time of `unstuck --version`, compared with bare `node`. Target: at most 80 ms more. */
import { join } from 'node:path'
import { alternate, printResult, runTimed } from './measure.ts'

const entry = join(import.meta.dirname, '..', 'bin', 'unstuck.js')
const { node, version } = await alternate(15, {
  node: async () => (await runTimed([process.execPath, '-e', '0'])).ms,
  version: async () => (await runTimed([process.execPath, entry, '--version'])).ms,
})
printResult('version', {
  nodeMs: node,
  versionMs: version,
  overMs: version - node,
  ratio: version / node,
  targetOverMs: 80,
})
