/**
 * The instructions of the roles, for tasks and for the turns of a loop: texts that are shipped with the package, or the owner's own. They are
 * read from the owner's checkout and never from a workspace, where an agent could write its own instructions.
 */
import { dirname, join } from 'node:path'
import type { LoopRole } from '../../domain/loop.ts'
import type { Role } from '../../domain/task.ts'
import { shippedPath } from '../../platform/shipped-path.ts'
import { readIfFile, type Files } from '../core/files.ts'
import type { Context } from '../core/context.ts'

export const instructionsFolder = '.unstuck/instructions'

/** The folder of the shipped texts. */
const shippedInstructions = (files: Pick<Files, 'existsSync'>): string => {
  const found = shippedPath((path) => files.existsSync(path), 'templates', 'instructions', 'worker.md')
  if (found === undefined) throw new Error('the package has no templates/instructions')
  return dirname(found)
}

type Given = Pick<Context, 'ports' | 'repository'>

/** The first of these files that the owner has and that is not empty, else the first one as shipped. */
const instructionsIn = ({ ports: { files }, repository }: Given, names: readonly [string, ...string[]]): string => {
  for (const name of names) {
    const own = readIfFile(files, join(repository.root, instructionsFolder, name))?.trim() ?? ''
    if (own !== '') return own
  }
  return files.readFileSync(join(shippedInstructions(files), names[0]), 'utf8').trim()
}

/** The text for the role of a task that is no loop. */
export const taskInstructions = (given: Given, role: Role): string => instructionsIn(given, [`${role}.md`])

/** The text for the turn of a role in a loop, with the promise filled in. An owner may have one text for both. */
export const loopInstructions = (given: Given & Pick<Context, 'config'>, role: LoopRole): string =>
  instructionsIn(given, [`loop/${role}.md`, `${role}.md`]).replaceAll(
    '{{completion_promise}}',
    () => given.config().loop.completion_promise,
  )
