/** Suspends itself, as job control of a terminal would: until SIGCONT it does not run, and only SIGKILL ends it. Usage: fault.ts. */
import { runWithFault, neverExit } from './fault.ts'

runWithFault(() => {
  process.kill(process.pid, 'SIGSTOP')
  neverExit()
})
