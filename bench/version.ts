/** Time of `unstuck --version`, compared with bare `node`. Target: at most 80 ms more. */
import { join } from 'node:path'
import { inTurns, print, time } from './measure.ts'

const entry = join(import.meta.dirname, '..', 'bin', 'unstuck.js')
const { node, version } = await inTurns(15, {
  node: async () => (await time([process.execPath, '-e', '0'])).ms,
  version: async () => (await time([process.execPath, entry, '--version'])).ms,
})
print('version', { nodeMs: node, versionMs: version, overMs: version - node, ratio: version / node, targetOverMs: 80 })
