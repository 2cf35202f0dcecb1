/**
 * The instructions of the roles of a loop: texts that are shipped with the package, or the owner's own. They are read from the owner's
 * checkout and never from a workspace, where an agent could write its own instructions.
 */
import { dirname, join } from 'node:path'
import type { LoopRole } from '../../domain/loop.ts'
import { shippedPath } from '../../platform/shipped-path.ts'
import { readIfFile, type Files } from '../core/files.ts'
import type { Context } from '../core/context.ts'

export const instructionsFolder = '.unstuck/instructions'

/** The folder of the shipped texts. */
export const shippedInstructions = (files: Pick<Files, 'existsSync'>): string => {
  const found = shippedPath((path) => files.existsSync(path), 'templates', 'instructions', 'planner.md')
  if (found === undefined) throw new Error('the package has no templates/instructions')
  return dirname(found)
}

/** The text for a role, with the promise filled in. */
export const roleInstructions = (
  { ports, repository, config }: Pick<Context, 'ports' | 'repository' | 'config'>,
  role: LoopRole,
): string => {
  const { files } = ports
  const own = readIfFile(files, join(repository.root, instructionsFolder, `${role}.md`))?.trim() ?? ''
  const text = own === '' ? files.readFileSync(join(shippedInstructions(files), `${role}.md`), 'utf8') : own
  return text.replaceAll('{{completion_promise}}', () => config().loop.completion_promise)
}
