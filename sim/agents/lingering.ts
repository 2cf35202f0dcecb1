/** Does its work, prints its final event, and does not exit. Usage: fault.ts; the launch with the fault does the work too. */
import { play, stay, work } from './fault.ts'

play(() => {
  work()
  stay()
})
