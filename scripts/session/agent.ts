/**
 * The agent of the recorded session. It prints Claude's stream-json and fails at its first two launches: the model server is
 * overloaded, then the work fails a test. Its third launch does the work. Usage: agent.ts <folder for its memory> -p <prompt> …
 */
import { randomUUID } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { claudeSession } from '../../sim/agents/lines.ts'
import { applyEdit } from '../../sim/agents/scripted-work.ts'

const memory = process.argv[2] ?? ''
const resumed = process.argv.indexOf('--resume')
const launch = readdirSync(memory).length + 1
writeFileSync(join(memory, String(launch)), '')

/** The second launch forgets the zone. */
const source = (result: string): string =>
  `export const parseDate = (text, zone = 'Z') => new Date(\`\${text}T00:00:00${result}\`)\n`

const claude = claudeSession(resumed < 0 ? randomUUID() : (process.argv[resumed + 1] ?? ''), process.cwd())
claude.init()
if (launch === 1) {
  for (const attempt of [1, 2]) claude.retrying(attempt, 503)
  claude.refusedByServer('API Error: 503 Service Unavailable. Try again in a moment.', 503)
  process.exitCode = 1
} else {
  const edit = { path: 'src/date.js', after: source(launch === 2 ? 'Z' : '${zone}') }
  claude.answered(
    claude.write(edit.path, edit.after),
    `File created successfully at: ${applyEdit(process.cwd(), edit)}`,
  )
  claude.say('parseDate takes a zone.')
  claude.done('parseDate takes a zone.')
}
