/** Exits with 0 without doing anything: with a final text that claims success, or with `--silent` without any text. Usage: fault.ts. */
import { claudeOutput, runWithFault } from './fault.ts'

runWithFault(() => {
  if (process.argv.includes('--silent')) return
  claudeOutput.say('All done.')
  claudeOutput.done('All done.')
})
