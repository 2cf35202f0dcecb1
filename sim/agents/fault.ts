/**
 * Shared by the fault agents hang, deaf, stopped, midline, idle and lingering. They print Claude's stream-json.
 * Usage: <agent>.ts [--answer FILE] [--once FILE] … <prompt>
 * The fault happens at every launch. With `--once` it happens only at the first launch, and later launches apply the answer;
 * FILE records that the fault happened, and contains the pid of that launch.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { applyEdit, readWork, valueOf } from './scripted-work.ts'
import { claudeSession } from './lines.ts'

export const claudeOutput = claudeSession(valueOf('--resume') ?? randomUUID(), process.cwd())

/** The work of an agent without a fault. */
export const doWork = (): void => {
  const answer = readWork(valueOf('--answer') ?? '')
  for (const edit of answer.edits)
    claudeOutput.answered(
      claudeOutput.write(edit.path, edit.after),
      `File created successfully at: ${applyEdit(process.cwd(), edit)}`,
    )
  claudeOutput.say(answer.text)
  claudeOutput.done(answer.text)
}

/** Keeps the process running until it is killed. */
export const neverExit = (): void => void setInterval(() => {}, 1000)

/** Opens the session, then runs the fault if it is due, or else the work. */
export const runWithFault = (fault: () => void): void => {
  claudeOutput.init()
  const memory = valueOf('--once')
  if (memory !== undefined && existsSync(memory)) return doWork()
  if (memory !== undefined) writeFileSync(memory, String(process.pid))
  fault()
}
