/**
 * Which state folder belongs to a repository. Its name is made from the path of the repository at its first run, and a record in it says
 * where the repository is now, so that a repository that was moved or renamed keeps its goals.
 */
import { existsSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { readRegularTextSync } from '../platform/regular-file.ts'
import { directoryIdentity } from '../workspace/directory-identity.ts'
import type { Repository } from '../workspace/repository-types.ts'
import { mainWorktree, openRepository } from '../workspace/repository.ts'
import { alternatePath } from '../workspace/shadow.ts'
import { replaceStateFile, stateDirOf, unstuckHome } from './state-dir.ts'

type Environment = Record<string, string | undefined>

const recordName = 'repository.json'

const recordShape = z.object({
  /** The common git directory, or the folder of work without a repository. */
  directory: z.string(),
  identity: z.string(),
})
type PlaceRecord = z.infer<typeof recordShape>

const readRecord = (stateDir: string): PlaceRecord | undefined => {
  try {
    return recordShape.parse(JSON.parse(readRegularTextSync(join(stateDir, recordName))))
  } catch {
    return undefined // absent: nothing has run yet, or only an older version
  }
}

const directoryOf = ({ commonDir, root }: Repository): string => commonDir ?? root

const isAt = async (directory: string, identity: string): Promise<boolean> =>
  (await directoryIdentity({ commonDir: directory, root: directory })) === identity

/** The state folder whose record names this repository: at another path by now, or under an id that another one had first. */
const otherId = async (home: string, { directory, identity }: PlaceRecord): Promise<string | undefined> => {
  const records = existsSync(home) ? readdirSync(home).map((id) => ({ id, record: readRecord(join(home, id)) })) : []
  const moved = records.filter(({ record }) => record?.identity === identity && record.directory !== directory)
  for (const { id, record } of moved) if (record !== undefined && !(await isAt(record.directory, identity))) return id
  return records.find(({ record }) => record?.directory === directory)?.id
}

const idOf = async (environment: Environment, repository: Repository): Promise<string> => {
  const { id } = repository
  const identity = await directoryIdentity(repository)
  if (identity === undefined) return id
  const here = { directory: directoryOf(repository), identity }
  const own = readRecord(stateDirOf(environment, id))
  if (own?.directory === here.directory || own?.identity === identity) return id
  const other = await otherId(unstuckHome(environment), here)
  if (other !== undefined || own === undefined) return other ?? id
  // A repository that was moved away keeps the folder that was named after this path.
  return `${id}-${createHash('sha256').update(identity).digest('hex').slice(0, 6)}`
}

/** The repository that contains this folder; of a linked worktree the main one. */
export const openRepositoryHere = async (
  environment: Environment,
  folder: string,
): Promise<{ here: Repository; repository: Repository }> => {
  const here = await openRepository(folder)
  const main = await mainWorktree(here)
  return { here, repository: { ...main, id: await idOf(environment, main) } }
}

const foldersIn = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(path, name))

/** Of the clones of all runs. A link in the place of a file is the work of an agent, and is not followed. */
const alternatesFiles = (stateDir: string): string[] => {
  const runs = join(realpathSync(stateDir), 'runs')
  return (existsSync(runs) ? foldersIn(runs) : [])
    .flatMap(foldersIn)
    .map((clone) => join(clone, '.git', 'objects', 'info', 'alternates'))
    .filter((path) => existsSync(path) && realpathSync(path) === path && statSync(path).isFile())
}

const replaceStart = (line: string, before: string, after: string): string =>
  line.startsWith(`${before}/`) ? `${after}${line.slice(before.length)}` : line

/** Clones that a run still works in read the objects of the repository where they were when the clone was made. */
const repointClones = (stateDir: string, before: string, after: string): void => {
  for (const path of alternatesFiles(stateDir)) {
    const text = readFileSync(path, 'utf8')
    const moved = text
      .split('\n')
      .map((line) => replaceStart(line, alternatePath(before), alternatePath(after)))
      .join('\n')
    if (moved !== text) writeFileSync(path, moved)
  }
}

/** Called by the engine, before any run of it continues. */
export const recordPlace = async (stateDir: string, repository: Repository): Promise<void> => {
  const identity = await directoryIdentity(repository)
  if (identity === undefined) return
  const directory = directoryOf(repository)
  const before = readRecord(stateDir)
  if (before?.directory === directory && before.identity === identity) return
  if (before !== undefined && before.directory !== directory) repointClones(stateDir, before.directory, directory)
  // Last, so that a crash before it repeats the rest.
  replaceStateFile(stateDir, recordName, `${JSON.stringify({ directory, identity })}\n`)
}
