// An example of forge.command: every file issues/<id>.md of the repository is an open issue. Its first line is the title, the rest the text.
// What became of it is written to issues/<id>.status. Use it with
//   { "forge": { "command": "node issues-from-files.mjs", "comments": "goal" } }
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const folder = 'issues'
const [action, given] = process.argv.slice(2)

if (action === 'issues') {
  for (const file of readdirSync(folder).toSorted()) {
    if (!file.endsWith('.md')) continue
    const [title, ...body] = readFileSync(`${folder}/${file}`, 'utf8').split('\n')
    const id = file.slice(0, -'.md'.length)
    process.stdout.write(`${JSON.stringify({ id, title: title.replace(/^#+ */, ''), body: body.join('\n').trim() })}\n`)
  }
} else if (action === 'status') {
  const { id, goal, state, text, pullRequest } = JSON.parse(given)
  writeFileSync(`${folder}/${id}.status`, `${state} ${goal} ${pullRequest ?? ''}\n${text}\n`)
} else {
  throw new Error(`unknown action ${action}`)
}
