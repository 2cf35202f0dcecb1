/**
 * What a fault agent does instead of asking a model: edits that stand in a JSON file. A path is taken as it is when it is
 * absolute, else from the working folder. An edit whose old text is not there throws, so that nothing is half right.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

export interface Edit {
  path: string
  /** Text that is replaced, once; absent = the whole file is written. */
  before?: string
  after: string
}

export interface Answer {
  edits: Edit[]
  /** The last words. */
  text: string
}

export const readAnswer = (file: string): Answer => JSON.parse(readFileSync(file, 'utf8')) as Answer

/** What stands behind a flag of the command line. */
export const valueOf = (flag: string): string | undefined => {
  const at = process.argv.indexOf(flag)
  return at < 0 ? undefined : process.argv[at + 1]
}

/** The work of an agent without a protocol: the edits of `--answer FILE`, where it is given. */
export const applyAnswer = (): void => {
  const file = valueOf('--answer')
  if (file !== undefined) for (const edit of readAnswer(file).edits) applyEdit(process.cwd(), edit)
}

export const applyEdit = (folder: string, edit: Edit): string => {
  const path = resolve(folder, edit.path)
  mkdirSync(dirname(path), { recursive: true })
  if (edit.before === undefined) writeFileSync(path, edit.after)
  else {
    const text = readFileSync(path, 'utf8')
    if (!text.includes(edit.before)) throw new Error(`${edit.path} does not hold the text to replace`)
    // A function, because a replacement text would give "$&" and the like a meaning.
    writeFileSync(
      path,
      text.replace(edit.before, () => edit.after),
    )
  }
  return path
}
