/** Ends with status 0 and did nothing: with good last words, or with `--silent` without any. Usage: fault.ts. */
import { claude, play } from './fault.ts'

play(() => {
  if (process.argv.includes('--silent')) return
  claude.say('All done.')
  claude.done('All done.')
})
