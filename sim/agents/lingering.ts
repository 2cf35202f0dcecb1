/** Does its work, prints its final event, and does not exit. Usage: fault.ts; the launch with the fault does the work too. */
import { runWithFault, neverExit, doWork } from './fault.ts'

runWithFault(() => {
  doWork()
  neverExit()
})
