/**
 * Prints Claude's stream-json. Refuses a write outside the working folder as the real CLI does, unless `--add-dir` allows that
 * folder; the turn then ends normally without any change. `--resume` names the session to resume.
 * Usage: fenced.ts <answer.json> -p <prompt> ... [--resume ID] [--add-dir DIR]...
 */
import { randomUUID } from 'node:crypto'
import { relative, resolve } from 'node:path'
import { applyEdit, readWork, type Edit } from './scripted-work.ts'
import { claudeSession, type Denied } from './lines.ts'

const given = process.argv.slice(2)
const valuesOf = (flag: string): string[] => given.flatMap((text, at) => (text === flag ? [given[at + 1] ?? ''] : []))
const inside = (path: string, folder: string): boolean => !relative(folder, path).startsWith('..')

const cwd = process.cwd()
const answer = readWork(given[0] ?? '')
const open = [cwd, ...valuesOf('--add-dir')]
const claude = claudeSession(valuesOf('--resume')[0] ?? randomUUID(), cwd)

const denied = (edit: Edit): Denied => {
  const id = claude.write(edit.path, edit.after)
  claude.answered(id, `Claude requested permissions to write to ${edit.path}, but you haven't granted it yet.`, true)
  return { tool_name: 'Write', tool_use_id: id, tool_input: { file_path: edit.path, content: edit.after } }
}

claude.init()
const refused = answer.edits.filter((edit) => !open.some((folder) => inside(resolve(cwd, edit.path), folder)))
if (refused.length === 0) {
  for (const edit of answer.edits)
    claude.answered(claude.write(edit.path, edit.after), `File created successfully at: ${applyEdit(cwd, edit)}`)
  claude.say(answer.text)
  claude.done(answer.text)
} else {
  const denials = refused.map(denied)
  claude.say('I could not write the file.')
  claude.done('I could not write the file.', denials)
}
