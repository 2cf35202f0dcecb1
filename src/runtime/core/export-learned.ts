/**
 * Writes the learned paths into a file of the owner's checkout, so that people can see them without a command. The store decides; the file
 * is never read back. A folder in which it cannot be written costs only the file.
 */
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../errors.ts'
import { listLiveGoals } from '../../store/goal.ts'
import type { Context, Logger } from './context.ts'
import { readIfFile } from './files.ts'
import { learnedPatterns } from './granted-paths.ts'

const folder = '.unstuck'
export const exportName = 'generated-paths.auto.txt'
/** Also covers the file that is renamed into place. */
const excluded = `/${folder}/${exportName}*`

/** Begins every file of ours: another file of this name is the owner's and stays. */
const mark = '# Generated paths that Unstuck has learned.'
const header = `${mark} This file is an export: it is rewritten, and never read back.
# To see why: unstuck grants. To undo one: unstuck grants forget <path>`

const textOf = (paths: readonly string[]): string => `${[header, ...paths].join('\n')}\n`

/** Whether the path is no link to another place, where we must not write. */
const isOwn = ({ ports: { files } }: Context, path: string): boolean =>
  !files.existsSync(path) || files.realpathSync(path) === join(files.realpathSync(dirname(path)), basename(path))

/** Excludes the file by the repository's own list, which is never committed. Only appends: the list is the owner's. */
const excludeFile = (context: Context, commonDir: string): boolean => {
  const { files } = context.ports
  const list = join(commonDir, 'info', 'exclude')
  if (!isOwn(context, list)) return false
  const text = readIfFile(files, list) ?? ''
  if (text.split('\n').includes(excluded)) return true
  files.mkdirSync(dirname(list), { recursive: true })
  files.appendFileSync(list, `${text === '' || text.endsWith('\n') ? '' : '\n'}${excluded}\n`)
  return true
}

const write = (context: Context, commonDir: string, text: string): void => {
  const { files } = context.ports
  const path = join(context.repository.root, folder, exportName)
  if (!isOwn(context, dirname(path))) return
  const before = readIfFile(files, path)
  if (before === text || before?.startsWith(mark) === false) return
  if (!excludeFile(context, commonDir)) return
  files.mkdirSync(dirname(path), { recursive: true })
  files.writeFileSync(`${path}.new`, text, { mode: 0o644 })
  files.renameSync(`${path}.new`, path)
}

/** Logs that already say so. */
const reported = new WeakSet<Logger>()

const reportOnce = ({ log }: Context, error: unknown): void => {
  if (reported.has(log)) return
  reported.add(log)
  log.warn({ error: messageOf(error) }, `the learned paths could not be written to ${folder}/${exportName}`)
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
  if (paths.length === 0 && !context.ports.files.existsSync(join(root, folder, exportName))) return
  try {
    write(context, commonDir, textOf(paths))
  } catch (error) {
    reportOnce(context, error) // a folder of the owner that cannot be written must not fail the work
  }
}
