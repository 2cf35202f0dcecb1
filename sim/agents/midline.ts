/** Is killed in the middle of a line, as by the out-of-memory killer. Usage: fault.ts. */
import { writeSync } from 'node:fs'
import { runWithFault } from './fault.ts'

runWithFault(() => {
  writeSync(1, '{"type":"assistant","message":{"id":"msg_1","content":[{"type":"text","text":"I am in the mid')
  process.kill(process.pid, 'SIGKILL')
})
