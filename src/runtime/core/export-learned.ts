/**
 * Writes the learned paths into a file of the owner's checkout, so that people can see them without a command. The store decides; the file
 * is never read back. A folder in which it cannot be written costs only the file.
 */
import { dirname, join } from 'node:path'
import { messageOf } from '../../errors.ts'
import { listLiveGoals } from '../../store/goal.ts'
import type { Context, Logger } from './context.ts'
import { readIfFile } from './files.ts'
import { learnedPatterns } from './granted-paths.ts'
import { excludeFromGit, exportFolder, isOwnPlace, replaceFile } from './owner-export.ts'

export const exportName = 'generated-paths.auto.txt'
/** Also covers the file that is renamed into place. */
const excluded = `/${exportFolder}/${exportName}*`

/** Begins every file of ours: another file of this name is the owner's and stays. */
const mark = '# Generated paths that Unstuck has learned.'
const header = `${mark} This file is an export: it is rewritten, and never read back.
# To see why: unstuck grants. To undo one: unstuck grants forget <path>`

const textOf = (paths: readonly string[]): string => `${[header, ...paths].join('\n')}\n`

const write = (context: Context, commonDir: string, text: string): void => {
  const { files } = context.ports
  const path = join(context.repository.root, exportFolder, exportName)
  if (!isOwnPlace(files, dirname(path))) return
  const before = readIfFile(files, path)
  if (before === text || before?.startsWith(mark) === false) return
  if (!excludeFromGit(context, commonDir, excluded)) return
  files.mkdirSync(dirname(path), { recursive: true })
  replaceFile(files, path, text, 0o644)
}

/** Logs that already say so. */
const reported = new WeakSet<Logger>()

const reportOnce = ({ log }: Context, error: unknown): void => {
  if (reported.has(log)) return
  reported.add(log)
  log.warn({ error: messageOf(error) }, `the learned paths could not be written to ${exportFolder}/${exportName}`)
}

/**
 * Rewrites the export after the learned paths changed. Nothing is written for a repository by URL, for a plain folder, and while a goal works
 * in the folder itself, where the file would look like a change of its agent.
 */
export const exportLearnedPaths = async (context: Context): Promise<void> => {
  const { commonDir, root, url } = context.repository
  if (url !== undefined || commonDir === null) return
  if ((await listLiveGoals(context.db)).some(({ repoMode }) => repoMode === 'direct')) return
  const paths = await learnedPatterns(context.db, context)
  if (paths.length === 0 && !context.ports.files.existsSync(join(root, exportFolder, exportName))) return
  try {
    write(context, commonDir, textOf(paths))
  } catch (error) {
    reportOnce(context, error) // a folder of the owner that cannot be written must not fail the work
  }
}
