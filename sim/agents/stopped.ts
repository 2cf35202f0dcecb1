/** Suspends itself, as job control of a terminal would: until SIGCONT it does not run, and only SIGKILL ends it. Usage: fault.ts. */
import { play, stay } from './fault.ts'

play(() => {
  process.kill(process.pid, 'SIGSTOP')
  stay()
})
