/** Stops itself, as a terminal's job control would: it runs no further and sees no signal but SIGKILL and SIGCONT. Usage: fault.ts. */
import { play, stay } from './fault.ts'

play(() => {
  process.kill(process.pid, 'SIGSTOP')
  stay()
})
