/**
 * Prints Codex's `exec --json`. Refuses to start in a folder that it was not told to trust, with the message of the real CLI.
 * Usage: untrusting.ts <answer.json> exec --json ... [--skip-git-repo-check] <prompt>
 */
import { applyEdit, readWork } from './scripted-work.ts'
import { codexTurn } from './lines.ts'

const given = process.argv.slice(2)
process.stderr.write('Reading additional input from stdin...\n')
if (given.includes('--skip-git-repo-check')) {
  const answer = readWork(given[0] ?? '')
  const changed = answer.edits.map((edit) => ({ path: applyEdit(process.cwd(), edit), kind: 'update' as const }))
  codexTurn(changed, answer.text)
} else {
  process.stderr.write('Not inside a trusted directory and --skip-git-repo-check was not specified.\n')
  process.exitCode = 1
}
