/** Does its work, prints its final event, and stays. Usage: fault.ts; the work is the fault's as well. */
import { play, stay, work } from './fault.ts'

play(() => {
  work()
  stay()
})
