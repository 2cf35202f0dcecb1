/** Which branches of the user's repository are in use, so that git itself would refuse to delete them. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readRegularText } from '../platform/regular-file.ts'
import type { Repository } from './repository-types.ts'
import { fieldsOf, git } from './git.ts'
import { inRepository, type Refs } from './refs.ts'

/** Files in which git notes the branch that a rebase or a bisect comes back to. The first two have the name of its ref. */
const notes = ['rebase-merge/head-name', 'rebase-apply/head-name', 'BISECT_START']

const refOf = (text: string): string => (text.startsWith('refs/') ? text : `refs/heads/${text}`)

const interruptedIn = async (gitDir: string): Promise<Refs> => {
  const found = notes.map(async (note) => {
    const text = (await readRegularText(join(gitDir, note)).catch(() => '')).trim() // no such work is in progress
    return text === '' ? [] : [[refOf(text), `${note.startsWith('BISECT') ? 'a bisect' : 'a rebase'} in ${gitDir}`]]
  })
  return Object.fromEntries((await Promise.all(found)).flat())
}

/** Ref -> where it is used, in words: the folder in which it is checked out, or what is in progress there. */
export const branchUses = async (repository: Repository): Promise<Refs> => {
  const { commonDir } = repository
  if (commonDir === null) return {}
  const format = '--format=%(refname)%00%(worktreepath)%00%(symref)%00'
  const { stdout } = await git(['for-each-ref', format, 'refs/heads/'], inRepository(repository))
  const [fields, uses]: [string[], Refs] = [fieldsOf(stdout), {}]
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [ref = '', folder = '', other = ''] = fields.slice(at, at + 3).map((field) => field.replace(/^\n/, ''))
    if (folder !== '') uses[ref] = `it is checked out in ${folder}`
    if (other !== '') uses[ref] = `it is another name of ${other}`
  }
  const linked = await readdir(join(commonDir, 'worktrees')).catch(() => []) // there are none
  const gitDirs = [commonDir, ...linked.map((name) => join(commonDir, 'worktrees', name))]
  return Object.assign(uses, ...(await Promise.all(gitDirs.map(interruptedIn)))) as Refs
}
