/** Reports an error that no rule knows, and exits with 1. Usage: fault.ts. */
import { runWithFault } from './fault.ts'

runWithFault(() => {
  process.stderr.write('Something unexpected happened.\n')
  process.exitCode = 1
})
