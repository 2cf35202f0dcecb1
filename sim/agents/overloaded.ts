/**
 * Prints Claude's stream-json. At its first launch the model server responds with 503 until the CLI gives up; later launches work.
 * Usage: overloaded.ts <answer.json> <memory file> -p <prompt> ...
 */
import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { applyEdit, readWork } from './scripted-work.ts'
import { claudeSession } from './lines.ts'

const [answerFile = '', memory = ''] = process.argv.slice(2)
const answer = readWork(answerFile)
const claude = claudeSession(randomUUID(), process.cwd())
claude.init()
if (existsSync(memory)) {
  for (const edit of answer.edits)
    claude.answered(
      claude.write(edit.path, edit.after),
      `File created successfully at: ${applyEdit(process.cwd(), edit)}`,
    )
  claude.say(answer.text)
  claude.done(answer.text)
} else {
  writeFileSync(memory, '')
  for (const attempt of [1, 2]) claude.retrying(attempt, 503)
  claude.refusedByServer('API Error: 503 Service Unavailable. Try again in a moment.', 503)
  process.exitCode = 1
}
