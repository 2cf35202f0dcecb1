/**
 * The scripted work of a fault agent, which uses no model: edits from a JSON file. Relative paths start at the working folder.
 * An edit whose old text is not found throws, so that a test never passes with half of the work.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

export interface Edit {
  path: string
  /** Text whose first occurrence is replaced; absent = the whole file is written. */
  before?: string
  after: string
}

export interface ScriptedWork {
  edits: Edit[]
  /** The final text of the agent. */
  text: string
}

export const readWork = (file: string): ScriptedWork => JSON.parse(readFileSync(file, 'utf8')) as ScriptedWork

/** The value after a flag of the command line. */
export const valueOf = (flag: string): string | undefined => {
  const at = process.argv.indexOf(flag)
  return at < 0 ? undefined : process.argv[at + 1]
}

/** The work of an agent without a protocol: applies the edits of `--answer FILE`, if given. */
export const applyWork = (): void => {
  const file = valueOf('--answer')
  if (file !== undefined) for (const edit of readWork(file).edits) applyEdit(process.cwd(), edit)
}

export const applyEdit = (folder: string, edit: Edit): string => {
  const path = resolve(folder, edit.path)
  mkdirSync(dirname(path), { recursive: true })
  if (edit.before === undefined) writeFileSync(path, edit.after)
  else {
    const text = readFileSync(path, 'utf8')
    if (!text.includes(edit.before)) throw new Error(`${edit.path} does not contain the text to replace`)
    // A function, because "$&" and similar patterns have a meaning in a replacement string.
    writeFileSync(
      path,
      text.replace(edit.before, () => edit.after),
    )
  }
  return path
}
