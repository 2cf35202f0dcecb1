/** Exits with 0 without doing anything: with a final text that claims success, or with `--silent` without any text. Usage: fault.ts. */
import { claude, play } from './fault.ts'

play(() => {
  if (process.argv.includes('--silent')) return
  claude.say('All done.')
  claude.done('All done.')
})
