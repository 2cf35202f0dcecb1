/**
 * The instructions of the roles of a loop: texts that are shipped with the package, or the owner's own. They are read from the owner's
 * checkout and never from a workspace, where an agent could write its own instructions.
 */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LoopRole } from '../../domain/loop.ts'
import { readIfFile, type Files } from '../core/files.ts'
import type { Context } from '../core/context.ts'

export const instructionsFolder = '.unstuck/instructions'

/** The folder of the shipped texts; the compiled program lies deeper in the package than its source. */
export const shippedInstructions = (files: Pick<Files, 'existsSync'>): string => {
  const here = dirname(fileURLToPath(import.meta.url))
  for (let folder = here; folder !== dirname(folder); folder = dirname(folder)) {
    const found = join(folder, 'templates', 'instructions')
    if (files.existsSync(join(found, 'planner.md'))) return found
  }
  throw new Error('the package has no templates/instructions')
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
