/** Claims success after the edits of `--first FILE`, which its checks refuse. Usage: fault.ts --first FILE; as Claude when resumed. */
import { applyEdit, readWork, valueOf } from './scripted-work.ts'
import { claudeOutput, runWithFault } from './fault.ts'

runWithFault(() => {
  for (const edit of readWork(valueOf('--first') ?? '').edits) applyEdit(process.cwd(), edit)
  claudeOutput.say('All done.')
  claudeOutput.done('All done.')
})
