/**
 * What the fault agents share: hang, deaf, stopped, midline, idle, lingering. They speak Claude's stream-json.
 * Usage: <agent>.ts [--answer FILE] [--once FILE] … <prompt>
 * The fault happens at every launch; with `--once` at the first alone, and later ones do what the answer says. FILE keeps
 * that in mind, and holds the pid of the launch with the fault.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { applyEdit, readAnswer, valueOf } from './answer.ts'
import { claudeSession } from './lines.ts'

export const claude = claudeSession(valueOf('--resume') ?? randomUUID(), process.cwd())

/** All that an agent without a fault does. */
export const work = (): void => {
  const answer = readAnswer(valueOf('--answer') ?? '')
  for (const edit of answer.edits)
    claude.answered(
      claude.write(edit.path, edit.after),
      `File created successfully at: ${applyEdit(process.cwd(), edit)}`,
    )
  claude.say(answer.text)
  claude.done(answer.text)
}

/** Longer than anybody waits. */
export const stay = (): void => void setInterval(() => {}, 1000)

/** Opens the session; then the fault where it is due, else the work. */
export const play = (fault: () => void): void => {
  claude.init()
  const memory = valueOf('--once')
  if (memory !== undefined && existsSync(memory)) return work()
  if (memory !== undefined) writeFileSync(memory, String(process.pid))
  fault()
}
