/** Infers checks from a folder or a commit, for goals that name none and for a first configuration. */
import { join } from 'node:path'
import type { TopOfCommit } from '../../workspace/tree.ts'
import { readIfFile, type Files } from '../core/files.ts'
import type { HasProgram } from '../core/find-program.ts'
import { inferCommands } from './infer-commands.ts'
import { defined } from '../../domain/defined.ts'

/** Files of the top folder whose content is read; of all others only the name is used. */
export const manifestNames = ['package.json', 'Makefile', 'pyproject.toml']

const parsed = (text: string | undefined): unknown => {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined // a broken manifest declares no check
  }
}

export const topOfFolder = (files: Files, root: string): TopOfCommit => {
  const texts = manifestNames.flatMap((name) => {
    const text = readIfFile(files, join(root, name))
    return text === undefined ? [] : [[name, text]]
  })
  const names = files.readdirSync(root)
  // One level of the test folders as well: some stacks have checks only if there are tests.
  const inTests = names
    .filter((name) => /^(tests?|spec)$/.test(name) && files.statSync(join(root, name)).isDirectory())
    .flatMap((name) => files.readdirSync(join(root, name)).map((entry) => `${name}/${entry}`))
  return { names: [...names, ...inTests], texts: Object.fromEntries(texts) }
}

export const inferredChecks = ({ names, texts }: TopOfCommit, hasProgram: HasProgram): string[] => {
  const packageJson = parsed(texts['package.json'])
  const makefile = texts.Makefile
  const pyproject = texts['pyproject.toml']
  return inferCommands({
    files: names,
    hasProgram,
    ...defined({ packageJson, makefile, pyproject }),
  })
}
