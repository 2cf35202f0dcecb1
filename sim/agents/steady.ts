/**
 * An agent without a protocol that does its work. `--began` names a file that it creates at its start, with its pid;
 * `--until` names a file that it waits for before its work. Usage: steady.ts <answer.json> [--began FILE] [--until FILE] <prompt>
 */
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { applyEdit, readWork } from './scripted-work.ts'

const maxWaitMs = 180_000

const { values, positionals } = parseArgs({
  options: { began: { type: 'string' }, until: { type: 'string' } },
  allowPositionals: true,
})
const answer = readWork(positionals[0] ?? '')
process.stdout.write('I am at work.\n')
if (values.began !== undefined) writeFileSync(values.began, String(process.pid))
const until = values.until
const deadline = performance.now() + maxWaitMs
while (until !== undefined && !existsSync(until) && performance.now() < deadline) await delay(20)
if (until !== undefined && !existsSync(until)) {
  process.stderr.write(`${until} did not appear within ${maxWaitMs / 1000} s\n`)
  process.exitCode = 1
} else {
  for (const edit of answer.edits) applyEdit(process.cwd(), edit)
  process.stdout.write(`${answer.text}\n`)
}
